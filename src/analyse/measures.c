#include "analyse/measures.h"
#include "base/json.h"
#include "base/map.h"
#include "event/points.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_WAITS = 12, MOST_FUNCTIONS = 64 };

enum state { STATE_UNKNOWN, STATE_ON_CPU, STATE_READY, STATE_WAITS };

// What a thread of the test does, and since when.
struct thread {
	uint64_t since;
	enum state state;
	bool io;
};

struct measuring {
	struct sink sink, *next;
	struct measures *measures;
	struct tables *tables;
	struct places places;
	struct map threads; // tid → place + 1
	ARRAY(struct thread) list;
	struct map self;     // symbol of a function → its samples
	struct map counters; // name → place + 1
};

// ---- threads ----

static struct thread *thread_of(struct measuring *measuring, uint32_t tid, bool make) {
	uint64_t *place = make ? map_put(&measuring->threads, tid) : map_get(&measuring->threads, tid);
	if (!place)
		return NULL;
	if (!*place) {
		array_push(&measuring->list, (struct thread){0});
		*place = measuring->list.count;
	}
	return &measuring->list.items[*place - 1];
}

static void enter(struct measuring *measuring, struct thread *thread, enum state state, uint64_t time) {
	struct measures *measures = measuring->measures;
	uint64_t passed = time - MIN(thread->since, time);
	if (thread->state == STATE_READY)
		measures->ready_ns += passed;
	if (thread->state == STATE_WAITS) {
		measures->blocked_ns += passed;
		measures->io_ns += thread->io ? passed : 0;
	}
	*thread = (struct thread){.since = time, .state = state};
}

static bool is_task(uint32_t tid) {
	return tid && tid < TID_OUTSIDE;
}

static void take_switch(struct measuring *measuring, const struct event *event) {
	struct measures *measures = measuring->measures;
	bool ended = event->switched.state & (STATE_DEAD | STATE_ZOMBIE);
	bool preempted = event->switched.state == STATE_RUNNING || event->switched.state & STATE_PREEMPTED;
	measures->switches_seen = true;
	if (is_task(event->tid) && !event->switched.outside) {
		struct thread *thread = thread_of(measuring, event->tid, true);
		measures->switches++;
		measures->preempted += preempted;
		enter(measuring, thread,
		      ended       ? STATE_UNKNOWN
		      : preempted ? STATE_READY
				  : STATE_WAITS,
		      event->time);
		thread->io = event->switched.io_wait == IO_WAIT_YES;
	}
	if (is_task(event->switched.next_tid) && !event->switched.next_outside)
		enter(measuring, thread_of(measuring, event->switched.next_tid, true), STATE_ON_CPU,
		      event->time);
}

static void take_fork(struct measuring *measuring, const struct event *event) {
	measuring->measures->processes += event->fork.child_tid == event->fork.child_pid;
	*thread_of(measuring, event->fork.child_tid, true) = (struct thread){.since = event->time,
									     .state = STATE_READY};
}

// Where events are missing, nothing is known about any thread.
static void forget(struct measuring *measuring) {
	for (size_t i = 0; i < measuring->list.count; i++)
		measuring->list.items[i] = (struct thread){0};
}

// ---- samples ----

static bool is_lock(enum reason reason) {
	return reason == REASON_MUTEX || reason == REASON_RWLOCK || reason == REASON_SEMAPHORE ||
	       reason == REASON_FUTEX || reason == REASON_KERNEL_LOCK;
}

static void take_sample(struct measuring *measuring, const struct event *event) {
	struct measures *measures = measuring->measures;
	uint32_t flags = event->sample.flags;
	if (flags & (SAMPLE_METRIC | SAMPLE_AT_EVENT | SAMPLE_READY | SAMPLE_BASELINE))
		return;
	if (flags & SAMPLE_WAITS) {
		enum reason reason = place_of(&measuring->places, event->sample.stack)->reason;
		struct measured_wait *wait = &measures->waits[reason];
		wait->count++;
		wait->total += event->sample.weight;
		wait->longest = MAX(wait->longest, event->sample.weight);
		measures->lock_ns += is_lock(reason) ? event->sample.weight : 0;
		return;
	}
	const struct stack *stack = stacks_get(measuring->tables->stacks, event->sample.stack);
	const struct frame *frame = stack ? stacks_frame(measuring->tables->stacks, stack->frame) : NULL;
	measures->samples++;
	if (frame && frame->symbol)
		++*map_put(&measuring->self, frame->symbol);
}

// ---- counts ----

// What is not of a task, but of a CPU, is not the test's.
static void take_counter(struct measuring *measuring, const struct event *event) {
	struct measures *measures = measuring->measures;
	if (!event->counter.adds || (!event->tid && event->cpu != CPU_NONE))
		return;
	uint64_t *place = map_put(&measuring->counters, event->counter.name);
	if (!*place) {
		const char *name = strings_get(measuring->tables->strings, event->counter.name);
		array_push(&measures->counters, (struct measured_counter){.name = memory_string(name)});
		*place = measures->counters.count;
	}
	measures->counters.items[*place - 1].value += event->counter.value;
}

// ---- the sink ----

static void take(struct measuring *measuring, const struct event *event) {
	struct thread *thread;
	switch (event->kind) {
	case EVENT_SWITCH:
		take_switch(measuring, event);
		break;
	case EVENT_WAKING:
		thread = thread_of(measuring, event->waking.wakee_tid, false);
		if (thread && thread->state == STATE_WAITS)
			enter(measuring, thread, STATE_READY, event->time);
		break;
	case EVENT_FORK:
		take_fork(measuring, event);
		break;
	case EVENT_EXIT:
		thread = thread_of(measuring, event->tid, false);
		if (thread)
			*thread = (struct thread){0};
		break;
	case EVENT_LOST:
		forget(measuring);
		break;
	case EVENT_SAMPLE:
		take_sample(measuring, event);
		break;
	case EVENT_COUNTER:
		take_counter(measuring, event);
		break;
	case EVENT_POINT:
		measuring->measures->syscalls += event->point.number == POINT_SYS_ENTER;
		break;
	}
}

static int push(struct sink *sink, const struct event *event) {
	struct measuring *measuring = CONTAINER_OF(sink, struct measuring, sink);
	take(measuring, event);
	return sink_push(measuring->next, event);
}

static int largest_first(const void *a, const void *b) {
	const struct measured_function *left = a, *right = b;
	int order = (left->self < right->self) - (left->self > right->self);
	return order ? order : strcmp(left->name, right->name);
}

// Those with 2 samples and 0.5 % or more.
static void list_functions(struct measuring *measuring) {
	struct measures *measures = measuring->measures;
	for (size_t i = 0; i < measuring->self.capacity; i++) {
		const struct map_slot *slot = &measuring->self.slots[i];
		if (!slot->used || slot->value < 2 || slot->value * 200 < measures->samples)
			continue;
		const char *name = strings_get(measuring->tables->strings, (uint32_t)slot->key);
		array_push(&measures->functions,
			   (struct measured_function){memory_string(name), slot->value});
	}
	if (measures->functions.count)
		qsort(measures->functions.items, measures->functions.count,
		      sizeof(*measures->functions.items), largest_first);
	while (measures->functions.count > MOST_FUNCTIONS)
		free(measures->functions.items[--measures->functions.count].name);
}

static int finish(struct sink *sink) {
	struct measuring *measuring = CONTAINER_OF(sink, struct measuring, sink);
	measuring->measures->processes++; // the first one was not forked in the recording
	list_functions(measuring);
	return sink_finish(measuring->next);
}

static void destroy(struct sink *sink) {
	struct measuring *measuring = CONTAINER_OF(sink, struct measuring, sink);
	sink_destroy(measuring->next);
	places_free(&measuring->places);
	map_free(&measuring->threads);
	array_free(&measuring->list);
	map_free(&measuring->self);
	map_free(&measuring->counters);
	free(measuring);
}

struct sink *measures_open(void *measures, struct tables *tables, struct sink *next) {
	struct measuring *measuring = memory_alloc(sizeof(*measuring));
	measures_free(measures); // of an attempt that failed
	measuring->sink = (struct sink){.push = push, .finish = finish, .destroy = destroy};
	measuring->next = next;
	measuring->measures = measures;
	measuring->tables = tables;
	places_init(&measuring->places, tables);
	return &measuring->sink;
}

void measures_free(struct measures *measures) {
	for (size_t i = 0; i < measures->functions.count; i++)
		free(measures->functions.items[i].name);
	array_free(&measures->functions);
	for (size_t i = 0; i < measures->counters.count; i++)
		free(measures->counters.items[i].name);
	array_free(&measures->counters);
	*measures = (struct measures){0};
}

// ---- as JSON ----

static char *text_of(struct buffer *out) {
	buffer_append(out, "", 1);
	return (char *)out->data;
}

char *measures_waits(const struct measures *measures, double wall_seconds) {
	struct buffer out = {0};
	struct json json = json_into(&out);
	bool done[REASON_COUNT] = {false};
	unsigned count = 0;
	json_object(&json, NULL);
	for (; count < MOST_WAITS; count++) {
		int largest = -1;
		for (int i = 0; i < REASON_COUNT; i++)
			if (!done[i] && (double)measures->waits[i].total >= wall_seconds * 1e7 &&
			    measures->waits[i].total &&
			    (largest < 0 || measures->waits[i].total > measures->waits[largest].total))
				largest = i;
		if (largest < 0)
			break;
		const struct measured_wait *wait = &measures->waits[largest];
		done[largest] = true;
		json_array(&json, reason_names[largest]);
		json_uint(&json, NULL, wait->count);
		json_uint(&json, NULL, wait->total);
		json_uint(&json, NULL, wait->longest);
		json_close_array(&json);
	}
	json_close_object(&json);
	if (count)
		return text_of(&out);
	buffer_free(&out);
	return NULL;
}

char *measures_functions(const struct measures *measures) {
	struct buffer out = {0};
	struct json json = json_into(&out);
	if (!measures->samples)
		return NULL;
	json_object(&json, NULL);
	json_uint(&json, "samples", measures->samples);
	json_object(&json, "self");
	for (size_t i = 0; i < measures->functions.count; i++)
		json_uint(&json, measures->functions.items[i].name, measures->functions.items[i].self);
	json_close_object(&json);
	json_close_object(&json);
	return text_of(&out);
}
