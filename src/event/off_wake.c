// A wakeup and the sample of its stack come from one tracepoint, one after the other, on the same CPU and by
// the same task; nothing can come between them, as the kernel holds a lock there. So each wakeup waits for
// the next such sample, or a sample for the next wakeup, for a moment.
#include "event/off_wake.h"

#include "event/blocked.h"

#include <string.h>

enum { MOMENT_NS = 100 * 1000 };

struct wakeup {
	uint64_t time;
	uint64_t ran;       // when it got a CPU after that; 0 if not yet
	uint32_t waker;     // tid; 0 for an interrupt
	uint32_t name;      // string; 0 for the known name
	uint32_t stack;     // 0 if unknown
	uint32_t interrupt; // string: its kind, if it is one
};

struct cpu_wakeup {
	uint64_t time;
	uint32_t tid;   // of the waker
	uint32_t wakee; // 0 if this is the sample
	uint32_t stack;
};

struct off_wake {
	struct sink sink, *next;
	struct tables *tables;
	ARRAY(struct wakeup) wakeups;
	struct map by_wakee;             // tid → index in `wakeups` + 1: the first one since it ran
	ARRAY(struct cpu_wakeup) cpus;   // the last one of each CPU that has no other half yet
	struct map names;                // of tasks
	struct map known;                // both stacks and the name, hashed → stack + 1
	uint32_t off_cpu, waking, ready; // strings
	uint32_t separator;              // a frame
};

// ---- wakeups ----

static struct cpu_wakeup *of_cpu(struct off_wake *off_wake, uint32_t cpu) {
	if (cpu >= CPU_COUNT_MOST)
		return NULL;
	while (off_wake->cpus.count <= cpu)
		array_push(&off_wake->cpus, (struct cpu_wakeup){0});
	return &off_wake->cpus.items[cpu];
}

static struct wakeup *wakeup_of(const struct off_wake *off_wake, uint32_t wakee) {
	const uint64_t *index = map_get(&off_wake->by_wakee, wakee);
	return index ? &off_wake->wakeups.items[*index - 1] : NULL;
}

static bool is_near(const struct cpu_wakeup *other, const struct event *event) {
	return other->time && event->time - other->time < MOMENT_NS && other->tid == event->tid;
}

static void take_wakeup(struct off_wake *off_wake, const struct event *event) {
	uint64_t *index = map_put(&off_wake->by_wakee, event->waking.wakee_tid);
	struct cpu_wakeup *other = of_cpu(off_wake, event->cpu);
	uint16_t context = event->waking.context;
	if (!*index) {
		array_push(&off_wake->wakeups, (struct wakeup){0});
		*index = off_wake->wakeups.count;
	}
	struct wakeup *wakeup = &off_wake->wakeups.items[*index - 1];
	bool first = !wakeup->time || wakeup->ran, paired = other && !other->wakee && is_near(other, event);
	if (first) {
		bool interrupt = waker_is_interrupt(context, event->waking.waker_outside);
		const char *kind = context & CONTEXT_TIMER ? "[timer]" : "[interrupt]";
		*wakeup = (struct wakeup){.time = event->time,
					  .waker = interrupt ? 0 : event->tid,
					  .name = event->waking.waker_name,
					  .stack = paired ? other->stack : 0};
		wakeup->interrupt = interrupt ? strings_add(off_wake->tables->strings, kind) : 0;
	}
	if (other)
		*other = paired ? (struct cpu_wakeup){0}
				: (struct cpu_wakeup){event->time, event->tid,
						      first ? event->waking.wakee_tid : UINT32_MAX, 0};
}

static void take_stack(struct off_wake *off_wake, const struct event *event) {
	struct cpu_wakeup *other = of_cpu(off_wake, event->cpu);
	bool paired = other && other->wakee && is_near(other, event);
	struct wakeup *wakeup = paired ? wakeup_of(off_wake, other->wakee) : NULL;
	if (wakeup && wakeup->time == other->time)
		wakeup->stack = event->sample.stack;
	if (other)
		*other = paired ? (struct cpu_wakeup){0}
				: (struct cpu_wakeup){event->time, event->tid, 0, event->sample.stack};
}

// ---- waits ----

static uint32_t name_of(const struct off_wake *off_wake, const struct wakeup *wakeup) {
	const uint64_t *known = map_get(&off_wake->names, wakeup->waker);
	return wakeup->interrupt ? wakeup->interrupt
	       : wakeup->name    ? wakeup->name
	       : known           ? (uint32_t)*known
				 : strings_add(off_wake->tables->strings, "?");
}

// While it was ready to run, a task did not wait for anything that another one does.
static bool is_ready(const struct off_wake *off_wake, uint32_t id) {
	const struct stack *stack = stacks_get(off_wake->tables->stacks, id);
	while (stack && stack->caller)
		stack = stacks_get(off_wake->tables->stacks, stack->caller);
	return stack && stacks_frame(off_wake->tables->stacks, stack->frame)->symbol == off_wake->ready;
}

static uint32_t join(struct off_wake *off_wake, uint32_t stack, const struct wakeup *wakeup) {
	struct stacks *stacks = off_wake->tables->stacks;
	uint32_t name = name_of(off_wake, wakeup);
	const uint32_t key[] = {stack, wakeup->stack, name};
	uint64_t hash = hash_bytes(key, sizeof(key)), *known = map_put(&off_wake->known, hash);
	if (*known)
		return (uint32_t)(*known - 1);
	if (is_ready(off_wake, stack)) {
		*known = stack + 1ull;
		return stack;
	}
	struct frame waker = {.symbol = name, .exact = NAME_EXACT};
	uint32_t joined = stacks_add(stacks, stack, off_wake->separator);
	for (uint32_t inner = wakeup->stack; inner;) {
		struct stack at = *stacks_get(stacks, inner);
		joined = stacks_add(stacks, joined, at.frame);
		inner = at.caller;
	}
	joined = stacks_add(stacks, joined, stacks_add_frame(stacks, &waker));
	*known = joined + 1ull;
	return joined;
}

// Before the switch that ends the wait, or, in some formats, after it.
static int push_wait(struct off_wake *off_wake, const struct event *event) {
	const struct wakeup *wakeup = wakeup_of(off_wake, event->tid);
	if (!wakeup || (wakeup->ran && wakeup->ran != event->time))
		return sink_push(off_wake->next, event);
	struct event joined = *event;
	joined.sample.stack = join(off_wake, event->sample.stack, wakeup);
	return sink_push(off_wake->next, &joined);
}

// The next wakeup belongs to the next wait.
static void take_run(struct off_wake *off_wake, uint32_t tid, uint64_t time) {
	struct wakeup *wakeup = wakeup_of(off_wake, tid);
	if (wakeup && !wakeup->ran)
		wakeup->ran = time;
}

static int push(struct sink *sink, const struct event *event) {
	struct off_wake *off_wake = CONTAINER_OF(sink, struct off_wake, sink);
	uint32_t tid, name;
	switch (event->kind) {
	case EVENT_WAKING:
		take_wakeup(off_wake, event);
		break;
	case EVENT_SWITCH:
		take_run(off_wake, event->tid, event->time); // the kernel may have hidden when it got the CPU
		take_run(off_wake, event->switched.next_tid, event->time);
		break;
	case EVENT_SAMPLE:
		if (event->sample.name == off_wake->waking)
			take_stack(off_wake, event);
		else if (event->sample.name == off_wake->off_cpu)
			return push_wait(off_wake, event);
		break;
	default:
		if (event_names_task(event, &tid, &name))
			*map_put(&off_wake->names, tid) = name;
		break;
	}
	return sink_push(off_wake->next, event);
}

static int finish(struct sink *sink) {
	return 0;
}

static void destroy(struct sink *sink) {
	struct off_wake *off_wake = CONTAINER_OF(sink, struct off_wake, sink);
	array_free(&off_wake->wakeups);
	array_free(&off_wake->cpus);
	map_free(&off_wake->by_wakee);
	map_free(&off_wake->names);
	map_free(&off_wake->known);
	free(off_wake);
}

struct sink *off_wake_new(struct tables *tables, struct sink *next) {
	struct off_wake *off_wake = memory_alloc(sizeof(*off_wake));
	struct frame separator = {.symbol = strings_add(tables->strings, FRAME_WOKEN_BY),
				  .exact = NAME_EXACT};
	*off_wake = (struct off_wake){.sink = {.push = push, .finish = finish, .destroy = destroy},
				      .next = next,
				      .tables = tables,
				      .off_cpu = strings_add(tables->strings, EVENT_OFF_CPU),
				      .waking = strings_add(tables->strings, "sched_waking"),
				      .ready = strings_add(tables->strings, FRAME_READY),
				      .separator = stacks_add_frame(tables->stacks, &separator)};
	return &off_wake->sink;
}
