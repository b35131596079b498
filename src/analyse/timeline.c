#include "analyse/timeline.h"

#include "event/points.h"
#include "format/stuck.h"

#include <stdlib.h>
#include <string.h>

enum { SOFTIRQ_TIMER = 1, SOFTIRQ_NET_TX = 2, SOFTIRQ_NET_RX = 3 };

// ---- threads ----

static uint32_t add_thread(struct timeline *timeline, uint32_t tid) {
	array_push(&timeline->threads, (struct timeline_thread){.tid = tid});
	uint32_t thread = (uint32_t)timeline->threads.count - 1;
	*map_put(&timeline->by_tid, tid) = thread;
	return thread;
}

static uint32_t thread_of(struct timeline *timeline, uint32_t tid) {
	const uint64_t *known = map_get(&timeline->by_tid, tid);
	return known ? (uint32_t)*known : add_thread(timeline, tid);
}

static bool is_pseudo(uint32_t tid) {
	return !tid || tid >= TID_OUTSIDE;
}

const char *timeline_name(const struct timeline *timeline, uint32_t thread) {
	const struct timeline_thread *own = timeline_thread(timeline, thread);
	if (!own->tid)
		return thread ? "idle" : "";
	return strings_get(timeline->tables->strings, own->name);
}

const char *timeline_process_name(const struct timeline *timeline, uint32_t thread) {
	const struct timeline_thread *own = timeline_thread(timeline, thread);
	const uint64_t *first = own->pid ? map_get(&timeline->by_tid, own->pid) : NULL;
	return timeline_name(timeline, first ? (uint32_t)*first : thread);
}

bool timeline_is_idle(const struct timeline *timeline, uint32_t thread) {
	return timeline_thread(timeline, thread)->tid == 0;
}

bool timeline_is_kernel(const struct timeline *timeline, uint32_t thread) {
	static const char *const prefixes[] = {"kworker/", "ksoftirqd/", "rcu_",      "rcuop/",   "rcuog/",
					       "rcuos/",   "migration/", "kthreadd",  "kswapd",   "jbd2/",
					       "irq/",     "cpuhp/",     "kcompactd", "watchdog/"};
	const struct timeline_thread *own = timeline_thread(timeline, thread);
	const char *name = timeline_name(timeline, thread);
	if (own->parent_pid == 2 && own->tid == own->pid)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (*name == *prefixes[i] && strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

// ---- moments ----

static uint32_t new_moment(struct timeline *timeline, const struct moment *moment) {
	uint32_t number = timeline->moment_count++;
	if (!(number & (TIMELINE_CHUNK - 1)))
		array_push(&timeline->chunks,
			   memory_resize_items(NULL, TIMELINE_CHUNK, sizeof(struct moment)));
	*timeline_moment(timeline, number) = *moment;
	return number;
}

static uint32_t add_moment(struct timeline *timeline, struct moment moment) {
	struct timeline_thread *thread = timeline_thread(timeline, moment.thread);
	moment.before = thread->last;
	thread->last = new_moment(timeline, &moment);
	if (!thread->first)
		thread->first = thread->last;
	return thread->last;
}

// The same for one that may be older than the last one of its thread.
static uint32_t insert_moment(struct timeline *timeline, struct moment moment) {
	struct timeline_thread *thread = timeline_thread(timeline, moment.thread);
	uint32_t later = 0;
	moment.before = thread->last;
	while (moment.before && timeline_moment(timeline, moment.before)->time > moment.time) {
		later = moment.before;
		moment.before = timeline_moment(timeline, later)->before;
	}
	uint32_t number = new_moment(timeline, &moment);
	if (!moment.before)
		thread->first = number;
	if (later)
		timeline_moment(timeline, later)->before = number;
	else
		thread->last = number;
	return number;
}

static const struct moment *last_moment(const struct timeline *timeline, uint32_t thread) {
	uint32_t last = timeline_thread(timeline, thread)->last;
	return last ? timeline_moment(timeline, last) : NULL;
}

static struct timeline_cpu *cpu_of(struct timeline *timeline, uint32_t cpu) {
	size_t number = cpu == CPU_NONE ? 0 : cpu + 1; // the first is for events without a CPU
	while (timeline->cpus.count <= number)
		array_push(&timeline->cpus, (struct timeline_cpu){0});
	return &timeline->cpus.items[number];
}

// ---- gaps ----

// The walk looks at several gaps for each piece, so their number has a limit: the last one grows.
static void add_gap(struct timeline *timeline, uint64_t from, uint64_t to, uint32_t cpu) {
	enum { MOST = 1024 };
	if (from >= to)
		return;
	if (timeline->gaps.count < MOST) {
		array_push(&timeline->gaps, (struct timeline_gap){.from = from, .to = to, .cpu = cpu});
		return;
	}
	struct timeline_gap *last = &timeline->gaps.items[MOST - 1];
	*last = (struct timeline_gap){
		.from = MIN(last->from, from), .to = MAX(last->to, to), .cpu = CPU_NONE};
}

// Losses are reported when the stream goes on: what is missing happened since the CPU's last event.
static void take_lost(struct timeline *timeline, const struct event *event) {
	timeline->lost += event->lost.count;
	joins_miss(&cpu_of(timeline, event->cpu)->joins, event);
	bool matters = event->lost.source == SOURCE_SCHED || event->lost.source == SOURCE_BUFFER ||
		       event->lost.source == SOURCE_TRACE || event->lost.source == SOURCE_PROCESS;
	uint64_t since = event->cpu == CPU_NONE ? timeline->last : cpu_of(timeline, event->cpu)->time;
	if (matters && event->time)
		add_gap(timeline, since ? since : timeline->first, event->time, CPU_NONE);
}

// ---- switches ----

static bool stays_ready(uint16_t state) {
	return state == STATE_RUNNING || state & STATE_PREEMPTED;
}

static void leave(struct timeline *timeline, const struct event *event, uint32_t thread, uint32_t next) {
	if (is_pseudo(event->tid) || event->switched.outside)
		return;
	uint16_t state = event->switched.state;
	enum moment_kind kind = state & (STATE_DEAD | STATE_ZOMBIE) ? MOMENT_ENDED
				: stays_ready(state)                ? MOMENT_READY
								    : MOMENT_WAITS;
	const struct moment *last = last_moment(timeline, thread);
	if (last && last->kind == MOMENT_ENDED)
		return;
	timeline_thread(timeline, thread)->spare_time = 0;
	add_moment(timeline, (struct moment){.time = event->time,
					     .thread = thread,
					     .other = next,
					     .cpu = (uint16_t)event->cpu,
					     .kind = (uint8_t)kind,
					     .detail = (uint8_t)event->switched.wait_reason,
					     .state = state});
}

// A task that was woken after it had decided to sleep and before it left the CPU does not wait: it is ready
// as soon as it has left.
static void settle_early(struct timeline *timeline, uint32_t thread) {
	enum { MOST = 1000 * 1000 };
	struct timeline_thread *own = timeline_thread(timeline, thread);
	const struct moment *last = last_moment(timeline, thread);
	if (last && last->kind == MOMENT_WAITS && own->early_time && own->early_time <= last->time &&
	    last->time - own->early_time < MOST)
		add_moment(timeline, (struct moment){.time = last->time,
						     .thread = thread,
						     .other = own->early_waker,
						     .cpu = last->cpu,
						     .kind = MOMENT_WOKEN,
						     .detail = own->early_detail});
	own->early_time = 0;
}

static void enter(struct timeline *timeline, const struct event *event, uint32_t thread, uint32_t before) {
	struct timeline_cpu *cpu = cpu_of(timeline, event->cpu);
	settle_early(timeline, thread);
	cpu->last = add_moment(timeline, (struct moment){.time = event->time,
							 .thread = thread,
							 .other = before,
							 .cpu_before = cpu->last,
							 .cpu = (uint16_t)event->cpu,
							 .kind = MOMENT_RUNS});
}

// A switch of this CPU is missing: what the CPU did since the last one is not known, only that the task which
// leaves it now has got it. A trace has this as a task of its own, "(events lost)" (write/perfetto/ftrace.c).
static void bridge(struct timeline *timeline, const struct event *event) {
	struct timeline_cpu *cpu = cpu_of(timeline, event->cpu);
	uint64_t from = cpu->switched, to = event->time - !event->switched.outside;
	uint32_t lost = thread_of(timeline, TID_LOST + event->cpu);
	const struct moment *entered = timeline_moment(timeline, cpu->last);
	struct moment left = {.time = from,
			      .thread = entered->thread,
			      .other = lost,
			      .cpu = (uint16_t)event->cpu,
			      .kind = MOMENT_READY};
	const struct timeline_thread *before = timeline_thread(timeline, entered->thread);
	if (to <= from)
		return;
	if (cpu->last && entered->time == from && !is_pseudo(before->tid) && !before->outside)
		insert_moment(timeline, left);
	add_gap(timeline, from, to, event->cpu);
	if (!event->switched.outside)
		cpu->last = insert_moment(timeline, (struct moment){.time = to,
								    .thread = thread_of(timeline, event->tid),
								    .other = lost,
								    .cpu_before = cpu->last,
								    .cpu = (uint16_t)event->cpu,
								    .kind = MOMENT_RUNS});
}

static void take_switch(struct timeline *timeline, const struct event *event) {
	timeline->switches++;
	// In recordings of others, such as of one process, most switches may be missing.
	if (joins_miss(&cpu_of(timeline, event->cpu)->joins, event) && timeline->scope)
		bridge(timeline, event);
	cpu_of(timeline, event->cpu)->switched = event->time;
	uint32_t before = thread_of(timeline, event->tid);
	// Between tasks outside the test not every switch is recorded, unless a task of the test is queued.
	bool outside = event->switched.outside && event->switched.next_outside && !event->switched.followed;
	uint32_t next = thread_of(timeline, outside ? TID_OUTSIDE : event->switched.next_tid);
	struct timeline_cpu *cpu = cpu_of(timeline, event->cpu);
	bool to_lost = event->switched.next_tid >= TID_LOST;
	if (cpu->lost && !to_lost)
		add_gap(timeline, cpu->lost, event->time, event->cpu);
	cpu->lost = to_lost ? (cpu->lost ? cpu->lost : event->time) : 0;
	cpu->time = event->time;
	if (event->pid && !timeline_thread(timeline, before)->pid)
		timeline_thread(timeline, before)->pid = event->pid;
	if (event->switched.next_name && !outside)
		timeline_thread(timeline, next)->name = event->switched.next_name;
	timeline_thread(timeline, before)->outside |= event->switched.outside;
	timeline_thread(timeline, next)->outside |= event->switched.next_outside;
	leave(timeline, event, before, next);
	enter(timeline, event, next, before);
}

// ---- wakeups ----

static uint8_t context_of(struct timeline *timeline, const struct event *event) {
	enum { JUST_AFTER = 20 * 1000 };
	const struct timeline_cpu *cpu = cpu_of(timeline, event->cpu);
	static const uint8_t written[] = {[WRITTEN_PIPE] = WOKEN_BY_PIPE, [WRITTEN_SOCKET] = WOKEN_BY_SOCKET};
	uint8_t detail = event->waking.waker_outside ? WOKEN_OUTSIDE : 0;
	if (!event->waking.context && event->waking.written < ARRAY_SIZE(written))
		detail |= written[event->waking.written];
	if (event->waking.context & CONTEXT_HARDIRQ)
		return detail | WOKEN_HARDIRQ;
	if (!(event->waking.context & CONTEXT_SOFTIRQ))
		return detail;
	detail |= WOKEN_SOFTIRQ;
	if (cpu->softirq == SOFTIRQ_TIMER + 1 || event->waking.context & CONTEXT_TIMER)
		return detail | WOKEN_TIMER;
	// A packet from a device is handled right after the device's interrupt; one to the machine itself in
	// the system call that sends it.
	bool network = cpu->softirq == SOFTIRQ_NET_RX + 1 || cpu->softirq == SOFTIRQ_NET_TX + 1;
	bool device = cpu->irq_exit && event->time - cpu->irq_exit < JUST_AFTER;
	return network && !device ? detail | WOKEN_BY_TASK : detail;
}

static void take_waking(struct timeline *timeline, const struct event *event) {
	uint32_t wakee = thread_of(timeline, event->waking.wakee_tid),
		 waker = thread_of(timeline, event->tid);
	uint8_t detail = context_of(timeline, event);
	if (event->waking.waker_name)
		timeline_thread(timeline, waker)->name = event->waking.waker_name;
	timeline_thread(timeline, waker)->outside |= event->waking.waker_outside;
	cpu_of(timeline, event->cpu)->time = event->time;
	const struct moment *last = last_moment(timeline, wakee);
	struct timeline_thread *own = timeline_thread(timeline, wakee);
	if (!last || last->kind == MOMENT_WAITS) {
		add_moment(timeline, (struct moment){.time = event->time,
						     .thread = wakee,
						     .other = waker,
						     .cpu = (uint16_t)event->waking.target_cpu,
						     .kind = MOMENT_WOKEN,
						     .detail = detail});
		own->early_time = 0;
	} else if (last->kind == MOMENT_RUNS) {
		own->early_time = event->time;
		own->early_waker = waker;
		own->early_detail = detail;
	} else if (last->kind != MOMENT_ENDED) {
		own->spare_time = event->time;
		own->spare_waker = waker;
		own->spare_detail = detail;
	}
}

static void take_softirq(struct timeline *timeline, const struct event *event) {
	cpu_of(timeline, event->cpu)->softirq = event->kind == EVENT_SOFTIRQ_ENTRY ? event->irq.number + 1
										   : 0;
}

static void take_irq_exit(struct timeline *timeline, const struct event *event) {
	cpu_of(timeline, event->cpu)->irq_exit = event->time;
}

// ---- the life of tasks ----

// On Windows the first thread of a process stands for it: both are the same thread here.
static bool stands_for_process(struct timeline *timeline, uint32_t tid, uint32_t pid, uint32_t name) {
	const uint64_t *process = timeline->windows && tid != pid ? map_get(&timeline->by_tid, pid) : NULL;
	struct timeline_thread *own = process ? timeline_thread(timeline, (uint32_t)*process) : NULL;
	if (!own || own->pid != pid || own->has_thread)
		return false;
	own->has_thread = true;
	own->tid = tid;
	own->name = name ? name : own->name;
	uint64_t thread = *process;
	*map_put(&timeline->by_tid, tid) = thread;
	return true;
}

static void take_task(struct timeline *timeline, const struct event *event) {
	if (stands_for_process(timeline, event->tid, event->pid, event->task.name))
		return;
	struct timeline_thread *own = timeline_thread(timeline, thread_of(timeline, event->tid));
	own->pid = event->pid;
	if (event->task.parent_pid)
		own->parent_pid = event->task.parent_pid;
	if (event->task.name)
		own->name = event->task.name;
}

static void take_fork(struct timeline *timeline, const struct event *event) {
	if (stands_for_process(timeline, event->fork.child_tid, event->fork.child_pid, event->fork.name))
		return;
	uint32_t parent = thread_of(timeline, event->tid);
	uint32_t child = add_thread(timeline, event->fork.child_tid);
	struct timeline_thread *own = timeline_thread(timeline, child);
	own->pid = event->fork.child_pid ? event->fork.child_pid : event->pid;
	own->parent_pid = event->fork.parent_pid ? event->fork.parent_pid : event->pid;
	own->name = event->fork.name ? event->fork.name : timeline_thread(timeline, parent)->name;
	add_moment(timeline, (struct moment){.time = event->time,
					     .thread = child,
					     .other = parent,
					     .cpu = (uint16_t)event->cpu,
					     .kind = MOMENT_BORN});
}

static bool is_command(const struct timeline *timeline, const struct event *event) {
	const struct strings *strings = timeline->tables->strings;
	const char *command = strings_get(strings, timeline->command);
	const char *words = strings_get(strings, event->exec.arguments);
	size_t size = strings_length(strings, event->exec.arguments);
	if (!timeline->command || size < 2 || strlen(command) + 1 != size)
		return false;
	for (size_t i = 0; i + 1 < size; i++)
		if ((words[i] ? words[i] : ' ') != command[i])
			return false;
	return true;
}

// The thread that calls exec goes on under the number of its process.
static void take_exec(struct timeline *timeline, const struct event *event) {
	uint32_t old = event->exec.old_tid;
	joins_miss(&cpu_of(timeline, event->cpu)->joins, event);
	uint32_t thread = thread_of(timeline, old && old != event->tid ? old : event->tid);
	struct timeline_thread *own = timeline_thread(timeline, thread);
	if (own->tid != event->tid) {
		map_delete(&timeline->by_tid, own->tid);
		own->tid = event->tid;
		*map_put(&timeline->by_tid, event->tid) = thread;
	}
	own->pid = event->pid ? event->pid : own->pid;
	// A recording of perf: this is the name of its child until that executes the command.
	if (strcmp(strings_get(timeline->tables->strings, own->name), "perf-exec") == 0)
		timeline->command_exec = timeline->command_exec ? timeline->command_exec : thread;
	own->name = event->exec.name ? event->exec.name : own->name;
	if (!own->execed)
		own->execed = event->time;
	if (!timeline->first_exec)
		timeline->first_exec = thread;
	if (!timeline->command_exec && is_command(timeline, event))
		timeline->command_exec = thread;
}

static void take_rename(struct timeline *timeline, const struct event *event) {
	timeline_thread(timeline, thread_of(timeline, event->tid))->name = event->rename.name;
}

static void take_exit(struct timeline *timeline, const struct event *event) {
	struct timeline_thread *own = timeline_thread(timeline, thread_of(timeline, event->tid));
	if (own->exited && own->unknown_code <= event->exit.unknown)
		return;
	own->exited = true;
	own->exit_time = event->time;
	own->unknown_code = event->exit.unknown;
	own->code = event->exit.code;
}

// ---- samples ----

static void add_stack(struct timeline *timeline, struct moment *moment, uint32_t stack) {
	timeline->has_stacks = true;
	if (!moment->stack)
		moment->stack = stack;
}

// The kernel did not report that the thread got the CPU and left it to wait: the sample of that wait says how
// long it was, and the wakeup when it ended. `runs` is the moment after it, or 0 if that is still to come.
static bool add_hidden_wait(struct timeline *timeline, uint32_t thread, uint32_t runs,
			    const struct event *event) {
	struct timeline_thread *own = timeline_thread(timeline, thread);
	uint32_t ready = runs ? timeline_moment(timeline, runs)->before : own->last;
	uint64_t woken = own->spare_time, waited = event->sample.weight;
	own->spare_time = 0;
	if (!woken || !ready || waited > woken || timeline_moment(timeline, ready)->time > woken - waited)
		return false;
	struct moment wait = {.time = woken - waited,
			      .thread = thread,
			      .before = ready,
			      .stack = event->sample.stack,
			      .cpu = timeline_moment(timeline, ready)->cpu,
			      .kind = MOMENT_WAITS,
			      .state = STATE_SLEEPING};
	struct moment wakeup = {.time = woken,
				.thread = thread,
				.before = new_moment(timeline, &wait),
				.other = own->spare_waker,
				.cpu = wait.cpu,
				.kind = MOMENT_WOKEN,
				.detail = own->spare_detail};
	uint32_t last = new_moment(timeline, &wakeup);
	if (runs)
		timeline_moment(timeline, runs)->before = last;
	else
		own->last = last;
	timeline->has_stacks = true;
	return true;
}

// A sample of a wait comes when the thread has the CPU again, before or after the switch that gave it. There
// may be a second one, for the time in which the thread was ready.
static void add_blocked_stack(struct timeline *timeline, uint32_t thread, const struct event *event) {
	uint32_t at = timeline_thread(timeline, thread)->last, runs = 0;
	struct moment *moment = at ? timeline_moment(timeline, at) : NULL;
	if (moment && moment->kind == MOMENT_RUNS && moment->time >= event->time) {
		runs = at;
		moment = moment->before ? timeline_moment(timeline, moment->before) : NULL;
	}
	bool is_ready = moment && (moment->kind == MOMENT_READY || moment->kind == MOMENT_WOKEN ||
				   moment->kind == MOMENT_BORN);
	if (is_ready && add_hidden_wait(timeline, thread, runs, event))
		return;
	if (moment && moment->kind == MOMENT_WOKEN)
		moment = moment->before ? timeline_moment(timeline, moment->before) : NULL;
	if (moment && moment->kind == MOMENT_WAITS)
		add_stack(timeline, moment, event->sample.stack);
}

// A sample of perf at the switch itself.
static void add_switch_stack(struct timeline *timeline, uint32_t thread, const struct event *event) {
	uint32_t at = timeline_thread(timeline, thread)->last;
	struct moment *moment = at ? timeline_moment(timeline, at) : NULL;
	if (moment && moment->kind == MOMENT_WAITS && moment->time == event->time)
		add_stack(timeline, moment, event->sample.stack);
}

// Tracepoints of perf are called "sched:sched_switch", its counters "cycles:u".
static bool is_tracepoint(const char *name) {
	const char *colon = strchr(name, ':');
	return colon && strchr(colon, '_');
}

static void take_sample(struct timeline *timeline, const struct event *event) {
	enum { NOT_OF_TIME = SAMPLE_METRIC | SAMPLE_AT_EVENT | SAMPLE_BASELINE | SAMPLE_NO_TASK };
	const char *name = strings_get(timeline->tables->strings, event->sample.name);
	if (!event->sample.stack || event->sample.flags & NOT_OF_TIME || is_pseudo(event->tid))
		return;
	uint32_t thread = thread_of(timeline, event->tid);
	if (event->sample.name == timeline->off_cpu) {
		add_blocked_stack(timeline, thread, event);
		return;
	}
	if (is_tracepoint(name)) {
		if (strstr(name, "sched_switch"))
			add_switch_stack(timeline, thread, event);
		return;
	}
	timeline->has_samples = true;
	struct moment moment = {.time = event->time,
				.thread = thread,
				.before = timeline_thread(timeline, thread)->last_sample,
				.stack = event->sample.stack,
				.kind = MOMENT_SAMPLE};
	timeline_thread(timeline, thread)->last_sample = new_moment(timeline, &moment);
}

// ---- cases and facts ----

static void take_mark(struct timeline *timeline, const struct event *event) {
	if (event->mark.type == MARK_TEST_BEGIN) {
		array_push(&timeline->cases,
			   (struct timeline_case){.name = event->mark.name, .from = event->time});
		return;
	}
	if (event->mark.type != MARK_TEST_END)
		return;
	for (size_t i = timeline->cases.count; i-- > 0;) {
		struct timeline_case *open = &timeline->cases.items[i];
		if (open->to || (event->mark.name && open->name != event->mark.name))
			continue;
		open->to = event->time;
		open->thread = thread_of(timeline, event->tid);
		open->value = event->mark.value;
		return;
	}
}

static void take_limit(struct timeline *timeline, const struct event *event) {
	struct timeline_limits *limits = &timeline->limits;
	struct {
		const char *key;
		uint64_t *value;
	} facts[] = {{FACT_CPU_LIMIT, &limits->cpu},
		     {FACT_THROTTLED, &limits->throttled},
		     {FACT_THROTTLED_PERIODS, &limits->throttled_periods},
		     {FACT_PERIODS, &limits->periods},
		     {FACT_MEMORY_LIMIT, &limits->memory},
		     {FACT_MEMORY_PEAK, &limits->memory_peak},
		     {FACT_OOM_KILLS, &limits->oom_kills},
		     {FACT_IO_STALLED, &limits->io_stalled},
		     {FACT_MEMORY_STALLED, &limits->memory_stalled},
		     {FACT_LISTEN_OVERFLOWS, &limits->listen_overflows}};
	const char *key = strings_get(timeline->tables->strings, event->meta.key);
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		if (strcmp(key, facts[i].key) == 0)
			*facts[i].value = strtoull(strings_get(timeline->tables->strings, event->meta.value),
						   NULL, 10);
}

static void take_fact(struct timeline *timeline, const struct event *event) {
	struct {
		const char *key;
		uint32_t *value;
	} facts[] = {{"test", &timeline->test},
		     {"result", &timeline->result},
		     {"command", &timeline->command},
		     {"scope", &timeline->scope},
		     {"wall-seconds", &timeline->wall_seconds},
		     {FACT_STUCK, &timeline->stuck}};
	const char *key = strings_get(timeline->tables->strings, event->meta.key);
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		if (strcmp(key, facts[i].key) == 0)
			*facts[i].value = event->meta.value;
	if (strcmp(key, "system") == 0)
		timeline->windows = strcmp(strings_get(timeline->tables->strings, event->meta.value),
					   "Windows") == 0;
	take_limit(timeline, event);
}

// ---- signals ----

static const struct point_field *field_called(const struct event *event, const char *name) {
	const struct point_field *fields = points[event->point.number].fields;
	for (size_t i = 0; i < POINT_MOST_FIELDS && fields[i].name; i++)
		if (strcmp(fields[i].name, name) == 0)
			return &fields[i];
	return NULL;
}

static uint64_t value_of(const struct event *event, const char *name) {
	const struct point_field *field = field_called(event, name);
	return field ? point_value(event, field) : 0;
}

// The sender may be no task of the test: then only the signal has its name.
static uint32_t sender_of(struct timeline *timeline, const struct event *event) {
	uint32_t sender = thread_of(timeline, event->tid);
	const struct point_field *field = field_called(event, "sender");
	size_t size = 0;
	const char *name = field ? point_text(event, field, &size) : "";
	if (!timeline_thread(timeline, sender)->name && size)
		timeline_thread(timeline, sender)->name = strings_add_bytes(timeline->tables->strings, name,
									    size);
	return sender;
}

// A program that lives on signals gets millions of them: the last ones are those that may have killed it.
static void take_signal(struct timeline *timeline, const struct event *event) {
	enum { MOST = 1024, CODE_KERNEL = 0x80 };
	struct timeline_signal signal = {.target = (uint32_t)value_of(event, "pid"),
					 .sender = sender_of(timeline, event),
					 .number = (uint32_t)value_of(event, "sig"),
					 .by_kernel = value_of(event, "code") == CODE_KERNEL};
	if (timeline->signals.count < MOST)
		array_push(&timeline->signals, signal);
	else
		timeline->signals.items[timeline->signal_count % MOST] = signal;
	timeline->signal_count++;
}

static void take_victim(struct timeline *timeline, const struct event *event) {
	enum { MOST = 64 };
	struct timeline_victim victim = {.time = event->time,
					 .pid = (uint32_t)value_of(event, "pid"),
					 .limit = value_of(event, "limit"),
					 .usage = value_of(event, "usage")};
	if (timeline->victims.count < MOST)
		array_push(&timeline->victims, victim);
	else
		timeline->victims.items[MOST - 1] = victim;
}

static void take_point(struct timeline *timeline, const struct event *event) {
	if (event->point.number == POINT_SIGNAL)
		take_signal(timeline, event);
	else if (event->point.number == POINT_OOM_VICTIM)
		take_victim(timeline, event);
}

static void take_crash(struct timeline *timeline, const struct event *event) {
	enum { MOST = 64 };
	struct timeline_crash crash = {.time = event->time,
				       .address = event->crash.address,
				       .thread = thread_of(timeline, event->tid),
				       .signal = event->crash.signal,
				       .code = event->crash.code};
	if (timeline->crashes.count < MOST)
		array_push(&timeline->crashes, crash);
	else
		timeline->crashes.items[MOST - 1] = crash;
}

static void take_crash_stack(struct timeline *timeline, const struct event *event) {
	for (size_t i = 0; i < timeline->crashes.count; i++) {
		struct timeline_crash *crash = &timeline->crashes.items[i];
		if (crash->time == event->crash_stack.crash_time &&
		    timeline_thread(timeline, crash->thread)->tid == event->tid)
			crash->stack = event->crash_stack.text;
	}
}

static void take_start(struct timeline *timeline, const struct event *event) {
	timeline->start = event->time;
}

// ---- the sink ----

typedef void taker(struct timeline *timeline, const struct event *event);

static taker *const takers[EVENT_KIND_COUNT] = {
	[EVENT_START] = take_start,
	[EVENT_META] = take_fact,
	[EVENT_TASK] = take_task,
	[EVENT_SWITCH] = take_switch,
	[EVENT_WAKING] = take_waking,
	[EVENT_FORK] = take_fork,
	[EVENT_EXEC] = take_exec,
	[EVENT_RENAME] = take_rename,
	[EVENT_EXIT] = take_exit,
	[EVENT_IRQ_EXIT] = take_irq_exit,
	[EVENT_SOFTIRQ_ENTRY] = take_softirq,
	[EVENT_SOFTIRQ_EXIT] = take_softirq,
	[EVENT_SAMPLE] = take_sample,
	[EVENT_MARK] = take_mark,
	[EVENT_LOST] = take_lost,
	[EVENT_POINT] = take_point,
	[EVENT_CRASH] = take_crash,
	[EVENT_CRASH_STACK] = take_crash_stack,
};

static int push(struct sink *sink, const struct event *event) {
	struct timeline *timeline = CONTAINER_OF(sink, struct timeline, sink);
	if (takers[event->kind])
		takers[event->kind](timeline, event);
	if (event->kind > EVENT_TASK && event->kind != EVENT_MAPPING && event->kind != EVENT_CRASH_STACK) {
		timeline->first = timeline->first ? timeline->first : event->time;
		timeline->last = MAX(timeline->last, event->time);
	}
	return 0;
}

static int finish(struct sink *sink) {
	struct timeline *timeline = CONTAINER_OF(sink, struct timeline, sink);
	for (size_t i = 0; i < timeline->cpus.count; i++)
		if (timeline->cpus.items[i].lost)
			add_gap(timeline, timeline->cpus.items[i].lost, timeline->last, (uint32_t)i - 1);
	return 0;
}

static void destroy(struct sink *sink) {
}

struct sink *timeline_init(struct timeline *timeline, struct tables *tables) {
	*timeline = (struct timeline){.sink = {.push = push, .finish = finish, .destroy = destroy},
				      .tables = tables,
				      .off_cpu = strings_add(tables->strings, EVENT_OFF_CPU)};
	array_push(&timeline->threads, (struct timeline_thread){0});
	new_moment(timeline, &(struct moment){0});
	return &timeline->sink;
}

void timeline_free(struct timeline *timeline) {
	for (size_t i = 0; i < timeline->chunks.count; i++)
		free(timeline->chunks.items[i]);
	array_free(&timeline->chunks);
	array_free(&timeline->threads);
	array_free(&timeline->cpus);
	array_free(&timeline->cases);
	array_free(&timeline->signals);
	array_free(&timeline->victims);
	array_free(&timeline->crashes);
	array_free(&timeline->gaps);
	map_free(&timeline->by_tid);
}
