#include "event/blocked.h"

#include "base/map.h"

#include <string.h>

struct wait {
	struct event sample; // tid 0 if free
	uint64_t woken;      // 0 if not yet, or not known
};

struct blocked {
	struct sink sink;
	struct sink *next;
	struct tables *tables;
	uint32_t schedule; // a string
	ARRAY(struct wait) waiting;
	ARRAY(size_t) free_places;
	struct map ready_stacks; // stack to the same one with FRAME_READY as the outermost frame
	struct map by_tid;       // to one more than the index in `waiting`
	uint64_t time;           // of the last event
};

// Inside the kernel's __schedule() are a tracepoint and the program that took the sample, after a long wait
// also the interrupt in which it did so.
static uint32_t without_tracer(const struct blocked *blocked, uint32_t stack) {
	enum { MOST_FRAMES = 16 };
	const struct stacks *stacks = blocked->tables->stacks;
	uint32_t inner = stack;
	for (int i = 0; i < MOST_FRAMES; i++) {
		const struct stack *at = stacks_get(stacks, inner);
		if (!at)
			break;
		if (stacks_frame(stacks, at->frame)->symbol == blocked->schedule)
			return inner;
		inner = at->caller;
	}
	return stack;
}

// Likewise at other tracepoints, whose callers have all kinds of names.
static bool is_tracer(const char *function) {
	static const char *const prefixes[] = {
		"bpf_",        "__bpf_",        "__traceiter_",          "trace_call_bpf",
		"perf_trace_", "__perf_trace_", "trace_event_raw_event_"};
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (strncmp(function, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

// A program that is no longer loaded has no name when a spool is converted later, but what called it has.
static uint32_t without_program(const struct blocked *blocked, uint32_t stack) {
	const struct stacks *stacks = blocked->tables->stacks;
	uint32_t caller = stack;
	for (;;) {
		const struct stack *at = stacks_get(stacks, stack);
		const struct frame *frame = at ? stacks_frame(stacks, at->frame) : NULL;
		if (!frame || frame->kind != FRAME_KERNEL)
			return caller;
		stack = at->caller;
		if (is_tracer(strings_get(blocked->tables->strings, frame->symbol)))
			caller = stack;
		else if (frame->symbol)
			return caller;
	}
}

// The functions between one that waits and the switch.
static bool is_scheduler(const char *function) {
	static const char *const prefixes[] = {"__schedule",
					       "schedule",
					       "io_schedule",
					       "preempt_schedule",
					       "wait_for_completion",
					       "__wait_for_",
					       "do_wait_for_",
					       "wait_on_bit",
					       "__wait_on_bit",
					       "out_of_line_wait_on_bit",
					       "bit_wait",
					       "__cond_resched",
					       "rt_mutex_schedule"};
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (strncmp(function, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

uint32_t blocked_function(const struct strings *strings, const struct stacks *stacks, uint32_t stack) {
	for (;;) {
		const struct stack *at = stacks_get(stacks, stack);
		const struct frame *frame = at ? stacks_frame(stacks, at->frame) : NULL;
		if (!frame || frame->kind != FRAME_KERNEL)
			return 0;
		const char *name = strings_get(strings, frame->symbol);
		if (frame->symbol && !is_scheduler(name) && !is_tracer(name))
			return frame->symbol;
		stack = at->caller;
	}
}

static int push_at_event(struct blocked *blocked, const struct event *event) {
	struct event trimmed = *event;
	trimmed.sample.stack = without_program(blocked, event->sample.stack);
	return sink_push(blocked->next, &trimmed);
}

static void hold(struct blocked *blocked, const struct event *event) {
	uint64_t *place = map_put(&blocked->by_tid, event->tid);
	if (!*place) { // else the switch that brought it back is missing, and how long it waited is not known
		if (blocked->free_places.count) {
			*place = blocked->free_places.items[--blocked->free_places.count] + 1;
		} else {
			array_push(&blocked->waiting, (struct wait){0});
			*place = blocked->waiting.count;
		}
	}
	struct wait *held = &blocked->waiting.items[*place - 1];
	*held = (struct wait){.sample = *event};
	held->sample.sample.copy = NULL; // which lives as long as the push
	held->sample.sample.stack = without_tracer(blocked, event->sample.stack);
}

// The first wakeup ends a wait.
static void wake(struct blocked *blocked, uint32_t tid, uint64_t time) {
	const uint64_t *place = map_get(&blocked->by_tid, tid);
	struct wait *held = place ? &blocked->waiting.items[*place - 1] : NULL;
	if (held && !held->woken && time >= held->sample.time)
		held->woken = time;
}

static uint32_t below_ready(struct blocked *blocked, uint32_t stack) {
	uint64_t *known = map_put(&blocked->ready_stacks, stack);
	if (*known)
		return (uint32_t)*known;
	struct stacks *stacks = blocked->tables->stacks;
	struct frame ready = {.symbol = strings_add(blocked->tables->strings, FRAME_READY),
			      .exact = NAME_EXACT};
	uint32_t made = stacks_below(stacks, stacks_add_frame(stacks, &ready), stack);
	*known = made;
	return made;
}

static int pass_on(struct blocked *blocked, struct wait *held, uint64_t now, uint32_t cpu) {
	struct event event = held->sample;
	uint64_t woken = held->woken ? held->woken : now;
	event.sample.weight = woken > event.time ? woken - event.time : 0;
	event.time = now;
	event.cpu = cpu;
	held->sample.tid = 0;
	int error = sink_push(blocked->next, &event);
	if (error || now <= woken)
		return error;
	event.sample.weight = now - woken;
	event.sample.stack = below_ready(blocked, event.sample.stack);
	event.sample.flags ^= SAMPLE_WAITS | SAMPLE_READY;
	return sink_push(blocked->next, &event);
}

// The wait is over, and the sample says how long it was.
static int pass_on_whole(struct blocked *blocked, const struct event *event) {
	struct wait whole = {.sample = *event, .woken = event->time - MIN(event->sample.ready, event->time)};
	whole.sample.sample.stack = without_tracer(blocked, event->sample.stack);
	whole.sample.sample.flags &= ~(uint32_t)SAMPLE_WAITED;
	whole.sample.time = whole.woken - MIN(event->sample.weight, whole.woken);
	return pass_on(blocked, &whole, event->time, event->cpu);
}

static struct wait *forget(struct blocked *blocked, uint32_t tid) {
	uint64_t *place = map_get(&blocked->by_tid, tid);
	if (!place)
		return NULL;
	size_t index = (size_t)*place - 1;
	map_delete(&blocked->by_tid, tid);
	array_push(&blocked->free_places, index);
	return &blocked->waiting.items[index];
}

static void drop(struct blocked *blocked, uint32_t tid) {
	struct wait *held = forget(blocked, tid);
	if (held)
		held->sample.tid = 0;
}

static __attribute__((noinline)) int take(struct blocked *blocked, const struct event *event) {
	struct wait *held = NULL;
	switch (event->kind) {
	case EVENT_SAMPLE:
		if (event->sample.flags & SAMPLE_AT_EVENT)
			return push_at_event(blocked, event);
		if (!(event->sample.flags & SAMPLE_WAITS))
			break;
		if (event->sample.flags & SAMPLE_WAITED)
			return pass_on_whole(blocked, event);
		hold(blocked, event);
		return 0;
	case EVENT_SWITCH:
		held = forget(blocked, event->switched.next_tid);
		break;
	case EVENT_WAKING:
		wake(blocked, event->waking.wakee_tid, event->time);
		break;
	case EVENT_EXIT:
		drop(blocked, event->tid);
		break;
	case EVENT_EXEC:
		if (event->exec.old_tid != event->tid) // the first thread is no more, another has its number
			drop(blocked, event->tid);
		break;
	}
	int error = held ? pass_on(blocked, held, event->time, event->cpu) : 0;
	return error ? error : sink_push(blocked->next, event);
}

// Without a stack frame for the events that go by: those of other kinds, and switches and wakeups while no
// task waits.
static int push(struct sink *sink, const struct event *event) {
	enum { TAKEN = 1 << EVENT_SAMPLE | 1 << EVENT_EXIT | 1 << EVENT_EXEC };
	struct blocked *blocked = CONTAINER_OF(sink, struct blocked, sink);
	if (event->kind > EVENT_TASK && event->time > blocked->time)
		blocked->time = event->time;
	bool scheduling = event->kind == EVENT_SWITCH || event->kind == EVENT_WAKING;
	if (1 << event->kind & TAKEN || (scheduling && blocked->by_tid.count))
		return take(blocked, event);
	return sink_push(blocked->next, event);
}

// Tasks that still wait have waited until now.
static int finish(struct sink *sink) {
	struct blocked *blocked = CONTAINER_OF(sink, struct blocked, sink);
	int error = 0;
	for (size_t i = 0; !error && i < blocked->waiting.count; i++) {
		struct wait *held = &blocked->waiting.items[i];
		if (held->sample.tid)
			error = pass_on(blocked, held, blocked->time, held->sample.cpu);
	}
	return error ? error : sink_finish(blocked->next);
}

static void destroy(struct sink *sink) {
	struct blocked *blocked = CONTAINER_OF(sink, struct blocked, sink);
	sink_destroy(blocked->next);
	array_free(&blocked->waiting);
	array_free(&blocked->free_places);
	map_free(&blocked->by_tid);
	map_free(&blocked->ready_stacks);
	free(blocked);
}

struct sink *blocked_new(struct tables *tables, struct sink *next) {
	struct blocked *blocked = memory_alloc(sizeof(*blocked));
	blocked->sink = (struct sink){.push = push, .finish = finish, .destroy = destroy};
	blocked->next = next;
	blocked->tables = tables;
	blocked->schedule = strings_add(tables->strings, "__schedule");
	return &blocked->sink;
}
