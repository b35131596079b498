// The kernel's events, packed per CPU into FtraceEventBundles.
//
// Switches and wakeups go into compact_sched: columns of small numbers, about
// eight bytes per event. A switch there names only the next task; the previous
// task is the one named before. So every moment of a CPU's time must have an
// owner: if the trace follows one test, the time outside is given to a pseudo
// task of that CPU, and time without records to another.
//
// Two things do not fit the columns and are written as full events: a CPU's first
// switch (nothing came before it), and a wakeup by a task that the trace does not
// show on that CPU (for columns, the waker is the task on the CPU). A wakeup by an
// interrupt is always in the columns: importers take its context only from there,
// and then do not take the task on the CPU for the waker.
#include "write/perfetto/perfetto.h"

#include "event/blocked.h"

enum {
	BUNDLE_BYTES = 48 * 1024,
	DEFAULT_PRIORITY = 120,
	CLONE_THREAD = 0x10000,
};

static const uint32_t column_fields[COLUMN_COUNT] = {
	[COLUMN_SWITCH_TIMESTAMP] = COMPACT_SWITCH_TIMESTAMP,
	[COLUMN_SWITCH_PREV_STATE] = COMPACT_SWITCH_PREV_STATE,
	[COLUMN_SWITCH_NEXT_PID] = COMPACT_SWITCH_NEXT_PID,
	[COLUMN_SWITCH_NEXT_PRIO] = COMPACT_SWITCH_NEXT_PRIO,
	[COLUMN_SWITCH_NEXT_COMM] = COMPACT_SWITCH_NEXT_COMM,
	[COLUMN_WAKING_TIMESTAMP] = COMPACT_WAKING_TIMESTAMP,
	[COLUMN_WAKING_PID] = COMPACT_WAKING_PID,
	[COLUMN_WAKING_TARGET_CPU] = COMPACT_WAKING_TARGET_CPU,
	[COLUMN_WAKING_PRIO] = COMPACT_WAKING_PRIO,
	[COLUMN_WAKING_COMM] = COMPACT_WAKING_COMM,
	[COLUMN_WAKING_FLAGS] = COMPACT_WAKING_FLAGS,
};

// ---- bundles ----

static uint32_t name_index(struct cpu *cpu, uint32_t name) {
	struct recent *recent = &cpu->recent_names[name % RECENT_NAMES];
	if (recent->key != name || !recent->place) {
		uint64_t *index = map_put(&cpu->name_indexes, name);
		if (*index >> 32 != cpu->bundle) {
			*index = (uint64_t)cpu->bundle << 32 | cpu->names.count;
			array_push(&cpu->names, name);
		}
		*recent = (struct recent){name, (uint32_t)*index + 1};
	}
	return recent->place - 1;
}

static void write_compact(struct perfetto *perfetto, struct cpu *cpu) {
	struct buffer *packet = &perfetto->packet;
	size_t compact = proto_begin(packet, BUNDLE_COMPACT_SCHED);
	for (size_t i = 0; i < cpu->names.count; i++)
		proto_string(packet, COMPACT_INTERN_TABLE,
			     strings_get(perfetto->strings, cpu->names.items[i]));
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		struct buffer *column = &cpu->columns[i];
		if (column->size && (i != COLUMN_WAKING_FLAGS || cpu->waking_flags))
			proto_bytes(packet, column_fields[i], column->data, column->size);
		column->size = 0;
	}
	proto_end(packet, compact);
	cpu->names.count = 0;
	memset(cpu->recent_names, 0, sizeof(cpu->recent_names));
	cpu->bundle++;
	cpu->switch_time = cpu->waking_time = 0;
	cpu->waking_flags = false;
}

static int flush_cpu(struct perfetto *perfetto, uint32_t number) {
	struct cpu *cpu = perfetto->cpus.items[number];
	bool compact = cpu->columns[COLUMN_SWITCH_TIMESTAMP].size ||
		       cpu->columns[COLUMN_WAKING_TIMESTAMP].size;
	if (!compact && !cpu->events.size && !cpu->lost_in_bundle)
		return 0;
	size_t mark = perfetto_begin(perfetto, SEQUENCE_KERNEL, NO_TIME);
	if (perfetto->pending_symbols.size)
		proto_bytes(&perfetto->packet, PACKET_INTERNED_DATA, perfetto->pending_symbols.data,
			    perfetto->pending_symbols.size);
	perfetto->pending_symbols.size = 0;
	size_t bundle = proto_begin(&perfetto->packet, PACKET_FTRACE_EVENTS);
	proto_uint(&perfetto->packet, BUNDLE_CPU, number);
	if (cpu->lost_in_bundle)
		proto_uint(&perfetto->packet, BUNDLE_LOST, 1);
	buffer_append(&perfetto->packet, cpu->events.data, cpu->events.size);
	if (compact)
		write_compact(perfetto, cpu);
	proto_end(&perfetto->packet, bundle);
	cpu->events.size = 0;
	cpu->lost_in_bundle = false;
	return perfetto_end(perfetto, mark);
}

static int flush_if_full(struct perfetto *perfetto, uint32_t number) {
	struct cpu *cpu = perfetto->cpus.items[number];
	size_t columns = cpu->columns[COLUMN_SWITCH_TIMESTAMP].size +
			 cpu->columns[COLUMN_WAKING_TIMESTAMP].size;
	return columns + cpu->events.size >= BUNDLE_BYTES / 3 ? flush_cpu(perfetto, number) : 0;
}

// ---- full events ----

struct full_event {
	struct buffer *out;
	size_t event, body;
};

static struct full_event full_begin(struct cpu *cpu, uint64_t time, uint32_t tid, uint32_t flags,
				    uint32_t field) {
	struct full_event full = {.out = &cpu->events};
	// Importers expect them in order: a late one is written as early as possible.
	time = cpu->last_event = MAX(time, cpu->last_event);
	full.event = proto_begin(full.out, BUNDLE_EVENT);
	proto_uint(full.out, FTRACE_TIMESTAMP, time);
	proto_uint(full.out, FTRACE_PID, tid);
	if (flags)
		proto_uint(full.out, FTRACE_COMMON_FLAGS, flags);
	full.body = proto_begin(full.out, field);
	return full;
}

static void full_end(struct full_event *full) {
	proto_end(full->out, full->body);
	proto_end(full->out, full->event);
}

// A function is written as the id of its name, which this bundle's packet or an earlier one defines.
static uint64_t intern_symbol(struct perfetto *perfetto, uint64_t name) {
	uint64_t *known = map_put(&perfetto->kernel_symbols, name);
	if (*known)
		return name + 1;
	*known = 1;
	struct buffer *out = &perfetto->pending_symbols;
	size_t entry = proto_begin(out, INTERNED_KERNEL_SYMBOLS);
	proto_uint(out, INTERNED_IID, name + 1);
	proto_string(out, INTERNED_STRING, strings_get(perfetto->strings, (uint32_t)name));
	proto_end(out, entry);
	return name + 1;
}

// ---- switches ----

struct next {
	uint32_t tid, name;
	int16_t priority;
};

static void first_switch(struct perfetto *perfetto, struct cpu *cpu, uint64_t time, struct next prev,
			 uint16_t state, struct next next) {
	struct full_event full = full_begin(cpu, time, prev.tid, 0, FTRACE_SCHED_SWITCH);
	proto_string(full.out, SWITCH_PREV_COMM,
		     strings_get(perfetto->strings, perfetto_task_name(perfetto, prev.tid)));
	proto_uint(full.out, SWITCH_PREV_PID, prev.tid);
	proto_int(full.out, SWITCH_PREV_PRIO, prev.priority);
	proto_uint(full.out, SWITCH_PREV_STATE, state);
	proto_string(full.out, SWITCH_NEXT_COMM, strings_get(perfetto->strings, next.name));
	proto_uint(full.out, SWITCH_NEXT_PID, next.tid);
	proto_int(full.out, SWITCH_NEXT_PRIO, next.priority);
	full_end(&full);
	cpu->current = next.tid;
	cpu->last_switch = time;
}

static void put_switch(struct cpu *cpu, uint64_t time, uint16_t state, struct next next) {
	buffer_varint(&cpu->columns[COLUMN_SWITCH_TIMESTAMP], time - cpu->switch_time);
	buffer_varint(&cpu->columns[COLUMN_SWITCH_PREV_STATE], state);
	buffer_varint(&cpu->columns[COLUMN_SWITCH_NEXT_PID], next.tid);
	buffer_varint(&cpu->columns[COLUMN_SWITCH_NEXT_PRIO], (uint64_t)(int64_t)next.priority);
	buffer_varint(&cpu->columns[COLUMN_SWITCH_NEXT_COMM], name_index(cpu, next.name));
	cpu->switch_time = cpu->last_switch = time;
	cpu->current = next.tid;
}

static struct next outside(const struct perfetto *perfetto, uint32_t cpu) {
	return (struct next){
		.tid = TID_OUTSIDE + cpu, .name = perfetto->outside_name, .priority = DEFAULT_PRIORITY};
}

// The pseudo tasks are threads of one pseudo process, so that they are shown together.
static void describe_outside(struct perfetto *perfetto, uint32_t number) {
	struct buffer *packet = &perfetto->packet;
	size_t mark = perfetto_begin(perfetto, SEQUENCE_KERNEL, perfetto->start);
	size_t tree = proto_begin(packet, PACKET_PROCESS_TREE);
	size_t process = proto_begin(packet, TREE_PROCESSES);
	proto_uint(packet, PROCESS_PID, TID_OUTSIDE);
	proto_string(packet, PROCESS_CMDLINE, strings_get(perfetto->strings, perfetto->outside_name));
	proto_string(packet, PROCESS_CMDLINE, ""); // a single word would be cut at its first blank
	proto_end(packet, process);
	size_t thread = proto_begin(packet, TREE_THREADS);
	proto_uint(packet, THREAD_TID, TID_OUTSIDE + number);
	proto_string(packet, THREAD_NAME, strings_get(perfetto->strings, perfetto->outside_name));
	proto_uint(packet, THREAD_TGID, TID_OUTSIDE);
	proto_end(packet, thread);
	proto_end(packet, tree);
	perfetto_end(perfetto, mark); // the output keeps its error
}

struct cpu *ftrace_add_cpu(struct perfetto *perfetto, uint32_t number) {
	while (perfetto->cpus.count <= number)
		array_push(&perfetto->cpus, NULL);
	struct cpu *cpu = perfetto->cpus.items[number] = memory_alloc(sizeof(*cpu));
	cpu->current = NO_TID;
	cpu->bundle = 1;
	// In a trace of one test, a CPU belongs to other tasks until the test runs.
	if (!perfetto->system_scope) {
		describe_outside(perfetto, number);
		first_switch(perfetto, cpu, perfetto->start, (struct next){.priority = DEFAULT_PRIORITY},
			     STATE_RUNNING, outside(perfetto, number));
	}
	return cpu;
}

// The task that runs from now on, as this trace shows it. One outside the test has a name if it took the CPU
// from the test, or while a task of the test is ready there.
static struct next next_task(struct perfetto *perfetto, const struct event *event) {
	bool unknown = event->switched.outside && !event->switched.followed;
	if (event->switched.next_outside && (unknown || event->switched.next_tid >= TID_OUTSIDE))
		return outside(perfetto, event->cpu);
	uint32_t name = event->switched.next_name;
	return (struct next){.tid = event->switched.next_tid,
			     .name = name ? name : perfetto_task_name(perfetto, event->switched.next_tid),
			     .priority = event->switched.next_priority};
}

// Whether a switch between the last one and this one is missing. All switches of the test's tasks
// are recorded, so if one leaves a CPU that shows "(not this test)", the switch to it was lost.
static bool is_gap(const struct cpu *cpu, const struct event *event) {
	if (cpu->current < TID_OUTSIDE)
		return cpu->current != event->tid;
	return cpu->followed && cpu->current < TID_LOST && event->tid < TID_OUTSIDE &&
	       !event->switched.outside;
}

// The state in which the task on a CPU leaves it: a pseudo task has only one.
static uint16_t leaving_state(const struct cpu *cpu, uint16_t state) {
	return cpu->current >= TID_OUTSIDE ? STATE_SLEEPING : state;
}

// Why a task waits. Importers want it between the switch in which the task leaves and the one in which it
// comes back: not at the same time, for then its place is anywhere. They also want a function: an empty name
// if it is unknown.
static void put_reason(struct perfetto *perfetto, struct cpu *cpu, uint64_t time, uint32_t tid, bool io_wait,
		       uint32_t function) {
	struct full_event full = full_begin(cpu, time, tid, 0, FTRACE_BLOCKED_REASON);
	proto_uint(full.out, BLOCKED_PID, tid);
	proto_uint(full.out, BLOCKED_CALLER, intern_symbol(perfetto, function));
	proto_uint(full.out, BLOCKED_IO_WAIT, io_wait);
	full_end(&full);
}

// A task in an uninterruptible wait leaves: does it wait for a device?
static void put_io_wait(struct perfetto *perfetto, struct cpu *cpu, const struct event *event) {
	bool io_wait = event->switched.io_wait == IO_WAIT_YES;
	struct task *task = perfetto_task(perfetto, event->tid);
	if (task)
		task->io_wait = io_wait;
	bool said = io_wait || (event->switched.io_wait == IO_WAIT_NO && event->switched.state == STATE_DISK);
	if (said && event->tid)
		put_reason(perfetto, cpu, event->time + 1, event->tid, io_wait, 0);
}

// A thread of Windows leaves, and the kernel says why: the reason is in the place of a function.
static void put_wait_reason(struct perfetto *perfetto, struct cpu *cpu, const struct event *event) {
	uint32_t reason = event->switched.wait_reason - 1u;
	struct task *task = perfetto_task(perfetto, event->tid);
	if (!event->tid || event->switched.state != STATE_SLEEPING || reason >= WAIT_REASON_COUNT)
		return;
	if (task)
		task->wait_reason = true;
	put_reason(perfetto, cpu, event->time + 1, event->tid, false,
		   strings_add(perfetto->strings, event_wait_reasons[reason]));
}

int ftrace_waited(struct perfetto *perfetto, const struct event *sample) {
	const struct task *task = perfetto_task(perfetto, sample->tid);
	uint32_t function = blocked_function(perfetto->strings, perfetto->stacks, sample->sample.stack);
	if (!task || task->wait_reason || !function || sample->cpu >= CPU_COUNT_MOST ||
	    sample->sample.flags & SAMPLE_READY)
		return 0;
	struct cpu *cpu = ftrace_cpu(perfetto, sample->cpu);
	put_reason(perfetto, cpu, sample->time - 1, sample->tid, task->io_wait, function);
	return flush_if_full(perfetto, sample->cpu);
}

// After a gap: the task of the test that leaves now has got the CPU, at some time before. Without this, the
// trace would not have the beginning of its wait.
static void put_found(struct perfetto *perfetto, struct cpu *cpu, const struct event *event) {
	if (event->tid < TID_OUTSIDE && !event->switched.outside && event->time > cpu->last_switch + 1)
		put_switch(cpu, event->time - 1, leaving_state(cpu, STATE_RUNNING),
			   (struct next){.tid = event->tid,
					 .name = perfetto_task_name(perfetto, event->tid),
					 .priority = event->switched.priority});
}

int ftrace_switch(struct perfetto *perfetto, const struct event *event) {
	struct cpu *cpu = ftrace_cpu(perfetto, event->cpu);
	struct next next = next_task(perfetto, event);
	if (event->time < cpu->last_switch)
		return 0; // before a watermark: too late to be put in order
	if (cpu->current == NO_TID) {
		struct next prev = {.tid = event->tid, .priority = event->switched.priority};
		first_switch(perfetto, cpu, event->time, prev, event->switched.state, next);
		put_io_wait(perfetto, cpu, event);
		return 0;
	}
	if (is_gap(cpu, event)) {
		// Do not extend a task over the gap.
		struct next unknown = {.tid = TID_LOST + event->cpu,
				       .name = perfetto->lost_name,
				       .priority = DEFAULT_PRIORITY};
		put_switch(cpu, cpu->last_switch, leaving_state(cpu, STATE_RUNNING), unknown);
		put_found(perfetto, cpu, event);
	}
	cpu->followed = true;
	if (event->switched.io_wait && cpu->current == event->tid)
		put_io_wait(perfetto, cpu, event);
	if (event->switched.wait_reason && cpu->current == event->tid)
		put_wait_reason(perfetto, cpu, event);
	put_switch(cpu, event->time, leaving_state(cpu, event->switched.state), next);
	return flush_if_full(perfetto, event->cpu);
}

// A thread that calls exec gets the id of its process, without a switch.
void ftrace_take_over(struct perfetto *perfetto, const struct event *event) {
	struct cpu *cpu = ftrace_cpu(perfetto, event->cpu);
	if (cpu->current == event->exec.old_tid && event->time >= cpu->last_switch)
		put_switch(cpu, event->time, STATE_DEAD,
			   (struct next){.tid = event->tid,
					 .name = event->exec.name,
					 .priority = DEFAULT_PRIORITY});
}

// ---- wakeups ----

static uint32_t flags_of_waking(const struct event *event) {
	return event->waking.context | (uint32_t)event->waking.written << CONTEXT_WRITTEN_SHIFT;
}

static void put_waking(struct cpu *cpu, const struct event *event, uint32_t name) {
	buffer_varint(&cpu->columns[COLUMN_WAKING_TIMESTAMP], event->time - cpu->waking_time);
	buffer_varint(&cpu->columns[COLUMN_WAKING_PID], event->waking.wakee_tid);
	buffer_varint(&cpu->columns[COLUMN_WAKING_TARGET_CPU], event->waking.target_cpu);
	buffer_varint(&cpu->columns[COLUMN_WAKING_PRIO], (uint64_t)(int64_t)event->waking.priority);
	buffer_varint(&cpu->columns[COLUMN_WAKING_COMM], name_index(cpu, name));
	buffer_varint(&cpu->columns[COLUMN_WAKING_FLAGS], flags_of_waking(event));
	cpu->waking_flags |= flags_of_waking(event) != 0;
	cpu->waking_time = cpu->last_waking = event->time;
}

// A waker that no switch has named gets its name from a rename event.
static void name_outsider(struct perfetto *perfetto, struct cpu *cpu, const struct event *event) {
	uint32_t name = event->waking.waker_name;
	if (!name || event->tid == 0)
		return;
	uint64_t *known = map_put(&perfetto->outsiders, event->tid);
	if (*known == name)
		return;
	*known = name;
	struct full_event full = full_begin(cpu, event->time, event->tid, 0, FTRACE_TASK_RENAME);
	proto_uint(full.out, RENAME_PID, event->tid);
	proto_string(full.out, RENAME_NEW_COMM, strings_get(perfetto->strings, name));
	full_end(&full);
}

// Columns have no waker: for importers it is the task on the CPU, or none if the context is an interrupt's.
static bool waker_fits_columns(const struct cpu *cpu, const struct event *event) {
	uint16_t context = event->waking.context;
	return cpu->current == event->tid || context & CONTEXT_HARDIRQ || (context && event->tid == 0);
}

int ftrace_waking(struct perfetto *perfetto, const struct event *event) {
	struct cpu *cpu = ftrace_cpu(perfetto, event->cpu);
	uint32_t name = perfetto_task_name(perfetto, event->waking.wakee_tid);
	if (waker_fits_columns(cpu, event) && event->time >= cpu->last_waking) {
		put_waking(cpu, event, name);
		return flush_if_full(perfetto, event->cpu);
	}
	name_outsider(perfetto, cpu, event);
	struct full_event full = full_begin(cpu, event->time, event->tid, flags_of_waking(event),
					    FTRACE_SCHED_WAKING);
	proto_string(full.out, WAKING_COMM, strings_get(perfetto->strings, name));
	proto_uint(full.out, WAKING_PID, event->waking.wakee_tid);
	proto_int(full.out, WAKING_PRIO, event->waking.priority);
	proto_uint(full.out, WAKING_SUCCESS, 1);
	proto_uint(full.out, WAKING_TARGET_CPU, event->waking.target_cpu);
	full_end(&full);
	return flush_if_full(perfetto, event->cpu);
}

// ---- tasks ----

int ftrace_newtask(struct perfetto *perfetto, const struct event *event, uint32_t name) {
	bool thread = event->fork.child_tid != event->fork.child_pid;
	// CLONE_PARENT makes a sibling: the parent is not the task that forks.
	bool own_child = thread || !event->fork.parent_pid || event->fork.parent_pid == event->pid;
	struct cpu *cpu = ftrace_cpu(perfetto, event->cpu);
	struct full_event full = full_begin(cpu, event->time, own_child ? event->tid : event->fork.parent_pid,
					    0, FTRACE_TASK_NEWTASK);
	proto_uint(full.out, NEWTASK_PID, event->fork.child_tid);
	proto_string(full.out, NEWTASK_COMM, strings_get(perfetto->strings, name));
	proto_uint(full.out, NEWTASK_CLONE_FLAGS, thread ? CLONE_THREAD : 0);
	full_end(&full);
	return flush_if_full(perfetto, event->cpu);
}

int ftrace_rename(struct perfetto *perfetto, const struct event *event, uint32_t old_name) {
	struct full_event full = full_begin(ftrace_cpu(perfetto, event->cpu), event->time, event->tid, 0,
					    FTRACE_TASK_RENAME);
	proto_uint(full.out, RENAME_PID, event->tid);
	proto_string(full.out, RENAME_OLD_COMM, strings_get(perfetto->strings, old_name));
	proto_string(full.out, RENAME_NEW_COMM, strings_get(perfetto->strings, event->rename.name));
	full_end(&full);
	return flush_if_full(perfetto, event->cpu);
}

int ftrace_free(struct perfetto *perfetto, uint32_t cpu, uint64_t time, uint32_t tid, uint32_t name) {
	struct full_event full = full_begin(ftrace_cpu(perfetto, cpu), time, 0, 0, FTRACE_PROCESS_FREE);
	proto_string(full.out, FREE_COMM, strings_get(perfetto->strings, name));
	proto_uint(full.out, FREE_PID, tid);
	full_end(&full);
	return flush_if_full(perfetto, cpu);
}

// ---- interrupts ----

int ftrace_irq(struct perfetto *perfetto, const struct event *event) {
	struct cpu *cpu = ftrace_cpu(perfetto, event->cpu);
	bool soft = event->kind == EVENT_SOFTIRQ_ENTRY || event->kind == EVENT_SOFTIRQ_EXIT;
	bool entry = event->kind == EVENT_IRQ_ENTRY || event->kind == EVENT_SOFTIRQ_ENTRY;
	bool *inside = soft ? &cpu->in_softirq : &cpu->in_irq;
	if (!entry && !*inside)
		return 0; // it began before the trace
	*inside = entry;
	static const uint32_t fields[2][2] = {{FTRACE_IRQ_EXIT, FTRACE_IRQ_ENTRY},
					      {FTRACE_SOFTIRQ_EXIT, FTRACE_SOFTIRQ_ENTRY}};
	struct full_event full = full_begin(cpu, event->time, event->tid, 0, fields[soft][entry]);
	if (soft) {
		proto_uint(full.out, SOFTIRQ_VECTOR, event->irq.number);
	} else {
		proto_uint(full.out, IRQ_NUMBER, event->irq.number);
		if (entry)
			proto_string(full.out, IRQ_NAME, strings_get(perfetto->strings, event->irq.name));
		else
			proto_int(full.out, IRQ_EXIT_RESULT, event->irq.result);
	}
	full_end(&full);
	return flush_if_full(perfetto, event->cpu);
}

// ---- points ----

static void put_point_field(struct perfetto *perfetto, struct buffer *out, const struct event *event,
			    const struct point_field *field) {
	if (field->type == POINT_CODE) {
		uint64_t name = point_value(event, field);
		if (name && name <= UINT32_MAX)
			proto_uint(out, field->number, intern_symbol(perfetto, name));
	} else if (field->type == POINT_TEXT) {
		size_t size;
		const char *text = point_text(event, field, &size);
		proto_bytes(out, field->number, text, size);
	} else if (field->type == POINT_LIST) {
		for (size_t i = 0; i < point_list(event, field); i++)
			proto_uint(out, field->number, event->point.values[field->place + i]);
	} else {
		proto_uint(out, field->number, point_value(event, field));
	}
}

// If Perfetto has no message for it, the names are included.
static void put_generic_field(struct perfetto *perfetto, struct buffer *out, const struct event *event,
			      const struct point_field *field) {
	const char *word = field->type == POINT_WORD ? point_word(event, field) : NULL;
	if (field->type == POINT_WORD && !word)
		return;
	size_t mark = proto_begin(out, GENERIC_FIELD);
	proto_string(out, GENERIC_FIELD_NAME, field->name);
	uint64_t value = point_value(event, field);
	if (word)
		proto_string(out, GENERIC_FIELD_TEXT, word);
	else if (field->type == POINT_CODE && value <= UINT32_MAX)
		proto_string(out, GENERIC_FIELD_TEXT, strings_get(perfetto->strings, (uint32_t)value));
	else
		proto_uint(out, GENERIC_FIELD_UINT, value);
	proto_end(out, mark);
}

int ftrace_point(struct perfetto *perfetto, const struct event *event) {
	const struct point *point = &points[event->point.number];
	struct cpu *cpu = ftrace_cpu(perfetto, event->cpu);
	uint32_t message = point->message ? point->message : FTRACE_GENERIC;
	struct full_event full = full_begin(cpu, event->time, event->tid, 0, message);
	if (!point->message)
		proto_string(full.out, GENERIC_NAME, point->name);
	for (size_t i = 0; i < POINT_MOST_FIELDS && point->fields[i].name; i++)
		(point->message ? put_point_field : put_generic_field)(perfetto, full.out, event,
								       &point->fields[i]);
	if (event->point.path)
		proto_string(full.out, FTRACE_CALL_PATH, strings_get(perfetto->strings, event->point.path));
	full_end(&full);
	return flush_if_full(perfetto, event->cpu);
}

// ---- losses ----

// The task on the CPU may have left it at the first missing event.
void ftrace_lost(struct perfetto *perfetto, const struct event *event) {
	uint32_t number = event->cpu < CPU_COUNT_MOST ? event->cpu : 0;
	struct cpu *cpu = ftrace_cpu(perfetto, number);
	cpu->lost += event->lost.count;
	cpu->lost_in_bundle = true;
	cpu->in_irq = cpu->in_softirq = false;
	if (event->lost.source == SOURCE_SCHED && event->cpu != CPU_NONE && cpu->current < TID_OUTSIDE)
		put_switch(cpu, cpu->last_switch + (cpu->last_switch < event->time), STATE_RUNNING,
			   (struct next){.tid = TID_LOST + number,
					 .name = perfetto->lost_name,
					 .priority = DEFAULT_PRIORITY});
}

static int write_stats(struct perfetto *perfetto, unsigned phase) {
	size_t mark = perfetto_begin(perfetto, SEQUENCE_KERNEL, NO_TIME);
	size_t stats = proto_begin(&perfetto->packet, PACKET_FTRACE_STATS);
	proto_uint(&perfetto->packet, STATS_PHASE, phase);
	for (size_t i = 0; i < perfetto->cpus.count; i++) {
		size_t cpu = proto_begin(&perfetto->packet, STATS_CPU);
		uint64_t lost = perfetto->cpus.items[i] ? perfetto->cpus.items[i]->lost : 0;
		proto_uint(&perfetto->packet, CPU_STATS_CPU, i);
		proto_uint(&perfetto->packet, CPU_STATS_DROPPED, phase == PHASE_END ? lost : 0);
		proto_end(&perfetto->packet, cpu);
	}
	proto_end(&perfetto->packet, stats);
	return perfetto_end(perfetto, mark);
}

int ftrace_finish(struct perfetto *perfetto) {
	int error = 0;
	for (uint32_t i = 0; !error && i < perfetto->cpus.count; i++)
		if (perfetto->cpus.items[i])
			error = flush_cpu(perfetto, i);
	if (!error)
		error = write_stats(perfetto, PHASE_START);
	return error ? error : write_stats(perfetto, PHASE_END);
}

void ftrace_destroy(struct perfetto *perfetto) {
	for (size_t i = 0; i < perfetto->cpus.count; i++) {
		struct cpu *cpu = perfetto->cpus.items[i];
		if (!cpu)
			continue;
		for (size_t column = 0; column < COLUMN_COUNT; column++)
			buffer_free(&cpu->columns[column]);
		buffer_free(&cpu->events);
		array_free(&cpu->names);
		map_free(&cpu->name_indexes);
		free(cpu);
	}
	array_free(&perfetto->cpus);
	map_free(&perfetto->kernel_symbols);
	buffer_free(&perfetto->pending_symbols);
}
