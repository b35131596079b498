// Records the output of a sink that puts events in order.
#pragma once

#include "unit.h"

#include "base/array.h"
#include "event/event.h"

// A sink that remembers the times, tasks and CPUs it was given.
struct recorder {
	struct sink sink;
	ARRAY(uint64_t) times;
	ARRAY(uint32_t) tids, cpus;
	uint64_t watermark, late;
	size_t before_watermark; // events that came before the last one
	int error;               // what push() returns
	bool finished, forgets;
};

static inline int record(struct sink *sink, const struct event *event) {
	struct recorder *recorder = CONTAINER_OF(sink, struct recorder, sink);
	if (event->kind == EVENT_WATERMARK) {
		recorder->watermark = event->time;
		recorder->before_watermark = recorder->times.count;
	} else if (event->kind == EVENT_LATE) {
		recorder->late += event->late.count;
	} else if (!recorder->forgets) {
		array_push(&recorder->times, event->time);
		array_push(&recorder->tids, event->tid);
		array_push(&recorder->cpus, event->cpu);
	}
	return recorder->error;
}

static inline int record_finish(struct sink *sink) {
	CONTAINER_OF(sink, struct recorder, sink)->finished = true;
	return 0;
}

static inline void keep(struct sink *sink) {
}

static inline struct recorder recorder_new(void) {
	return (struct recorder){.sink = {.push = record, .finish = record_finish, .destroy = keep}};
}

static inline void push(struct sink *order, uint32_t cpu, uint64_t time, enum event_kind kind) {
	assert_int_equal(sink_push(order, &(struct event){.kind = kind, .cpu = cpu, .time = time}), 0);
}

static inline void push_task(struct sink *order, uint32_t cpu, uint64_t time, uint32_t tid) {
	struct event event = {.kind = EVENT_SWITCH, .cpu = cpu, .time = time, .tid = tid};
	assert_int_equal(sink_push(order, &event), 0);
}

static inline void recorder_free(struct recorder *recorder) {
	array_free(&recorder->times);
	array_free(&recorder->tids);
	array_free(&recorder->cpus);
}

static inline void destroy(struct sink *order, struct recorder *recorder) {
	sink_destroy(order);
	recorder_free(recorder);
}

static inline void assert_tids(const struct recorder *recorder, const uint32_t *tids, size_t count) {
	assert_int_equal(recorder->tids.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(recorder->tids.items[i], tids[i]);
}

static inline void assert_times(const struct recorder *recorder, const uint64_t *times, size_t count) {
	assert_int_equal(recorder->times.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(recorder->times.items[i], times[i]);
}
