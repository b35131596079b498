#include "event/blocked.h"

#include "base/map.h"

#include <string.h>

struct blocked {
	struct sink sink;
	struct sink *next;
	struct tables *tables;
	uint32_t schedule;           // a string
	ARRAY(struct event) waiting; // samples; tid 0: a free place
	ARRAY(size_t) free_places;
	struct map by_tid; // to one more than the index in `waiting`
	uint64_t time;     // of the last event
};

// Inside the kernel's __schedule() are a tracepoint and the program that took the sample.
static uint32_t without_tracer(const struct blocked *blocked, uint32_t stack) {
	enum { MOST_FRAMES = 8 };
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

static uint32_t without_program(const struct blocked *blocked, uint32_t stack) {
	const struct stacks *stacks = blocked->tables->stacks;
	for (;;) {
		const struct stack *at = stacks_get(stacks, stack);
		const struct frame *frame = at ? stacks_frame(stacks, at->frame) : NULL;
		if (!frame || frame->kind != FRAME_KERNEL ||
		    !is_tracer(strings_get(blocked->tables->strings, frame->symbol)))
			return stack;
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
			array_push(&blocked->waiting, (struct event){0});
			*place = blocked->waiting.count;
		}
	}
	struct event *held = &blocked->waiting.items[*place - 1];
	*held = *event;
	held->sample.copy = NULL; // which lives as long as the push
	held->sample.stack = without_tracer(blocked, event->sample.stack);
}

static int pass_on(struct blocked *blocked, struct event *held, uint64_t now, uint32_t cpu) {
	struct event event = *held;
	event.sample.weight = now > held->time ? now - held->time : 0;
	event.time = now;
	event.cpu = cpu;
	held->tid = 0;
	return sink_push(blocked->next, &event);
}

static struct event *forget(struct blocked *blocked, uint32_t tid) {
	uint64_t *place = map_get(&blocked->by_tid, tid);
	if (!place)
		return NULL;
	size_t index = (size_t)*place - 1;
	map_delete(&blocked->by_tid, tid);
	array_push(&blocked->free_places, index);
	return &blocked->waiting.items[index];
}

static void drop(struct blocked *blocked, uint32_t tid) {
	struct event *held = forget(blocked, tid);
	if (held)
		held->tid = 0;
}

static int push(struct sink *sink, const struct event *event) {
	struct blocked *blocked = CONTAINER_OF(sink, struct blocked, sink);
	struct event *held = NULL;
	if (event->kind > EVENT_TASK)
		blocked->time = event->time > blocked->time ? event->time : blocked->time;
	switch (event->kind) {
	case EVENT_SAMPLE:
		if (event->sample.flags & SAMPLE_AT_EVENT)
			return push_at_event(blocked, event);
		if (!(event->sample.flags & SAMPLE_WAITS))
			break;
		hold(blocked, event);
		return 0;
	case EVENT_SWITCH:
		if (blocked->by_tid.count)
			held = forget(blocked, event->switched.next_tid);
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

// Who still waits has waited until now.
static int finish(struct sink *sink) {
	struct blocked *blocked = CONTAINER_OF(sink, struct blocked, sink);
	int error = 0;
	for (size_t i = 0; !error && i < blocked->waiting.count; i++) {
		struct event *held = &blocked->waiting.items[i];
		if (held->tid)
			error = pass_on(blocked, held, blocked->time, held->cpu);
	}
	return error ? error : sink_finish(blocked->next);
}

static void destroy(struct sink *sink) {
	struct blocked *blocked = CONTAINER_OF(sink, struct blocked, sink);
	sink_destroy(blocked->next);
	array_free(&blocked->waiting);
	array_free(&blocked->free_places);
	map_free(&blocked->by_tid);
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
