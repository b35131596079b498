// Each CPU has a queue of events and two lanes of records: two, because a run that interrupts
// another comes before it in the spool. At a watermark, queues and lanes are merged up to its time,
// using a heap of their heads.
#include "read/spool/merge.h"

#include <string.h>

enum { LANES = 2, SOURCES = 1 + LANES }; // a head's source: SOURCES times the queue's index, plus the lane

// Precedes the records of a run in a lane's bytes.
struct run_head {
	uint64_t base, size;
};

struct lane {
	struct buffer bytes;
	size_t at, end; // the next record, and the end of its run
	uint64_t base;  // of the run
	uint64_t last;  // time of the last record
	uint32_t cpu;
};

struct spool_queue {
	struct event_queue events;
	struct lane lanes[LANES];
};

// ---- lanes ----

static void lane_add(struct lane *lane, const struct spool_run *run) {
	struct run_head head = {run->base, run->size};
	buffer_append(&lane->bytes, &head, sizeof(head));
	buffer_append(&lane->bytes, run->bytes, run->size);
	lane->last = run->last;
	lane->cpu = run->cpu;
}

// The time of the next record; false if there is none.
static bool lane_time(struct lane *lane, uint64_t *time) {
	if (lane->at == lane->end) {
		struct run_head head;
		if (lane->end == lane->bytes.size)
			return false;
		memcpy(&head, lane->bytes.data + lane->at, sizeof(head));
		lane->base = head.base;
		lane->at += sizeof(head);
		lane->end = lane->at + head.size;
	}
	struct record record;
	memcpy(&record, lane->bytes.data + lane->at, sizeof(record));
	*time = lane->base + record.delta;
	return true;
}

// Pushes the next record and those after it that are earlier than `limit`. `time` is the time of
// the next record, on return of the first that remains.
static int lane_push(struct spool_merge *merge, struct lane *lane, uint64_t limit, uint64_t *time,
		     bool *more) {
	int error = 0;
	do {
		const uint8_t *bytes = lane->bytes.data + lane->at;
		struct record record;
		memcpy(&record, bytes, sizeof(record));
		lane->at += record.size;
		struct event event = {.time = *time, .cpu = lane->cpu};
		if (merge->decode(merge, record, bytes + sizeof(record), &event))
			error = sink_push(merge->next, &event);
	} while ((*more = lane_time(lane, time)) && *time < limit && !error);
	return error;
}

static void lane_compact(struct lane *lane) {
	if (lane->at && lane->bytes.size - lane->at <= lane->at) {
		buffer_drop(&lane->bytes, lane->at);
		lane->end -= lane->at;
		lane->at = 0;
	}
}

// ---- the merge ----

static void collect_heads(struct spool_merge *merge) {
	merge->heads.count = 0;
	for (uint32_t i = 0; i < merge->queues.count; i++) {
		struct spool_queue *queue = &merge->queues.items[i];
		uint64_t time;
		event_queue_sort(&queue->events);
		if (!event_queue_empty(&queue->events))
			array_push(&merge->heads,
				   (struct head){event_queue_time(&queue->events), i * SOURCES});
		for (uint32_t k = 0; k < LANES; k++)
			if (lane_time(&queue->lanes[k], &time))
				array_push(&merge->heads, (struct head){time, i * SOURCES + 1 + k});
	}
	heads_build(&merge->heads);
}

// Pushes everything earlier than `limit`, or everything if `limit` is the maximum.
static int release(struct spool_merge *merge, uint64_t limit) {
	collect_heads(merge);
	struct head *first = merge->heads.items;
	while (merge->heads.count && (first->time < limit || limit == UINT64_MAX)) {
		struct spool_queue *queue = &merge->queues.items[first->source / SOURCES];
		uint32_t lane = first->source % SOURCES;
		bool more;
		int error = lane ? lane_push(merge, &queue->lanes[lane - 1],
					     heads_second(&merge->heads, limit), &first->time, &more)
				 : event_queue_push(&queue->events, merge->next, &first->time, &more);
		if (error)
			return error;
		heads_next(&merge->heads, more);
	}
	for (size_t i = 0; i < merge->queues.count; i++) {
		event_queue_compact(&merge->queues.items[i].events);
		for (int k = 0; k < LANES; k++)
			lane_compact(&merge->queues.items[i].lanes[k]);
	}
	return 0;
}

// The reader has checked the CPU number.
static struct spool_queue *queue_of(struct spool_merge *merge, uint32_t cpu) {
	size_t index = cpu < CPU_COUNT_MOST ? (size_t)cpu + 1 : 0;
	while (merge->queues.count <= index)
		array_push(&merge->queues, (struct spool_queue){0});
	return &merge->queues.items[index];
}

static int push(struct sink *sink, const struct event *event) {
	struct spool_merge *merge = CONTAINER_OF(sink, struct spool_merge, sink);
	if (event->kind == EVENT_WATERMARK) {
		if (event->time <= merge->watermark)
			return 0;
		int error = release(merge, event->time);
		merge->watermark = event->time;
		return error ? error : sink_push(merge->next, event);
	}
	if (event->time < merge->watermark) {
		merge->late += event->kind != EVENT_META; // facts about the whole trace have no place in time
		return sink_push(merge->next, event);
	}
	event_queue_add(&queue_of(merge, event->cpu)->events, event);
	return 0;
}

void spool_merge_init(struct spool_merge *merge, struct sink *next, spool_decode *decode) {
	*merge = (struct spool_merge){.sink = {.push = push}, .next = next, .decode = decode};
}

bool spool_merge_take(struct spool_merge *merge, const struct spool_run *run) {
	struct spool_queue *queue = queue_of(merge, run->cpu);
	struct record first;
	memcpy(&first, run->bytes, sizeof(first));
	uint64_t time = run->base + first.delta;
	for (int i = 0; i < LANES && time >= merge->watermark; i++) {
		if (time < queue->lanes[i].last)
			continue;
		lane_add(&queue->lanes[i], run);
		return true;
	}
	return false;
}

int spool_merge_flush(struct spool_merge *merge) {
	int error = release(merge, UINT64_MAX);
	return error ? error : sink_push_late(merge->next, merge->late);
}

void spool_merge_free(struct spool_merge *merge) {
	for (size_t i = 0; i < merge->queues.count; i++) {
		event_queue_free(&merge->queues.items[i].events);
		for (int k = 0; k < LANES; k++)
			buffer_free(&merge->queues.items[i].lanes[k].bytes);
	}
	array_free(&merge->queues);
	array_free(&merge->heads);
}
