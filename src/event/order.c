// Each CPU has a queue that is all but sorted already: an event that comes a
// little late (an interrupt inside a record being written) moves back a few
// places. Beside it are lanes of records that are sorted, and are made events
// when they are pushed on: two, because what interrupts a CPU in the middle of a
// run comes before it. At a watermark queues and lanes are merged up to its
// time, over a heap of their heads: traces have long runs of one CPU, in which
// its top stays.
#include "event/order.h"

#include "base/buffer.h"
#include "event/record.h"

#include <string.h>

enum { MOST_STEPS_BACK = 256, LANES = 2 };

// In a lane's bytes, before the records of a run.
struct run_head {
	uint64_t base, size;
};

struct lane {
	struct buffer bytes;
	size_t at, end; // the next record, and where its run ends
	uint64_t base;  // of its run
	uint64_t last;  // time of the last record
	uint32_t cpu;
};

struct queue {
	ARRAY(struct event) events;
	size_t head;
	bool unsorted; // an event came so late that moving it back would cost too much
	struct lane lanes[LANES];
};

enum { SOURCES = 1 + LANES };

// The earliest event of a queue or of a lane that has one.
struct head {
	uint64_t time;
	uint32_t source; // SOURCES times the queue's index; more: its lanes
};

struct order {
	struct sink sink;
	struct sink *next;
	ARRAY(struct queue) queues; // by CPU + 1; the first is for events of no CPU
	ARRAY(struct head) heads;   // a heap; of equal times the lower source is first
	struct run_maker *maker;    // of what is in the lanes
	uint64_t watermark;
	uint64_t late;
};

// What lives as long as the push is copied for an event that waits.
static const struct sample_copy *copy_stack(const struct sample_copy *given) {
	struct sample_copy *copy = memory_alloc(sizeof(*copy) + given->size);
	*copy = *given;
	copy->bytes = memcpy(copy + 1, given->bytes, given->size);
	return copy;
}

static void free_fields(const struct event *event) {
	if (event->kind == EVENT_GENERIC)
		free((void *)(uintptr_t)event->generic.fields);
	else if (event->kind == EVENT_SAMPLE)
		free((void *)(uintptr_t)event->sample.copy);
}

// The last event moves to its place.
static void move_back(struct queue *queue) {
	struct event *events = queue->events.items;
	size_t last = queue->events.count - 1;
	size_t at = last;
	struct event late = events[last];
	while (at > queue->head && events[at - 1].time > late.time && last - at < MOST_STEPS_BACK)
		at--;
	if (last - at == MOST_STEPS_BACK) {
		queue->unsorted = true;
		return;
	}
	memmove(&events[at + 1], &events[at], (last - at) * sizeof(*events));
	events[at] = late;
}

static void queue_insert(struct queue *queue, const struct event *given) {
	array_push(&queue->events, *given);
	struct event *event = &queue->events.items[queue->events.count - 1];
	if (event->kind == EVENT_GENERIC)
		event->generic.fields = event_fields_copy(given->generic.fields, given->generic.field_count);
	else if (event->kind == EVENT_SAMPLE && given->sample.copy)
		event->sample.copy = copy_stack(given->sample.copy);
	if (queue->events.count - queue->head > 1 && event[-1].time > event->time)
		move_back(queue);
}

// Events of one time keep the order in which they came.
static int compare_events(const void *a, const void *b) {
	const struct event *left = *(const struct event *const *)a, *right = *(const struct event *const *)b;
	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	return (left > right) - (left < right);
}

static void queue_sort(struct queue *queue) {
	if (!queue->unsorted)
		return;
	size_t count = queue->events.count - queue->head;
	struct event *events = memory_resize_items(NULL, count, sizeof(*events));
	const struct event **places = memory_resize_items(NULL, count, sizeof(*places));
	for (size_t i = 0; i < count; i++)
		places[i] = &queue->events.items[queue->head + i];
	qsort(places, count, sizeof(*places), compare_events);
	for (size_t i = 0; i < count; i++)
		events[i] = *places[i];
	free(places);
	free(queue->events.items);
	queue->events.items = events;
	queue->events.count = queue->events.capacity = count;
	queue->head = 0;
	queue->unsorted = false;
}

static bool queue_empty(const struct queue *queue) {
	return queue->head == queue->events.count;
}

static uint64_t queue_time(const struct queue *queue) {
	return queue->events.items[queue->head].time;
}

// Gives back the room of what has been pushed on.
static void queue_compact(struct queue *queue) {
	size_t left = queue->events.count - queue->head;
	if (queue->head && left <= queue->head) {
		memmove(queue->events.items, queue->events.items + queue->head, left * sizeof(struct event));
		queue->events.count = left;
		queue->head = 0;
	}
}

// ---- lanes ----

static void lane_add(struct lane *lane, const struct record_run *run) {
	struct run_head head = {run->base, run->size};
	buffer_append(&lane->bytes, &head, sizeof(head));
	buffer_append(&lane->bytes, run->bytes, run->size);
	lane->last = run->last;
	lane->cpu = run->cpu;
}

// The time of the next record; false: there is none.
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

// Makes the next record an event; false: it cannot be.
static bool lane_take(struct order *order, struct lane *lane, uint64_t time, struct event *event) {
	const uint8_t *bytes = lane->bytes.data + lane->at;
	struct record record;
	memcpy(&record, bytes, sizeof(record));
	lane->at += record.size;
	*event = (struct event){.time = time, .cpu = lane->cpu};
	return order->maker->make(order->maker, bytes, event);
}

// The next record, and those behind it that are earlier than `limit`. `time` is that of the next one, then
// of the first that is left.
static int lane_push(struct order *order, struct lane *lane, uint64_t limit, uint64_t *time, bool *more) {
	int error = 0;
	do {
		struct event event;
		if (lane_take(order, lane, *time, &event))
			error = sink_push(order->next, &event);
	} while ((*more = lane_time(lane, time)) && *time < limit && !error);
	return error;
}

// What is left becomes events that wait.
static void lane_to_queue(struct order *order, struct lane *lane, struct queue *queue) {
	uint64_t time;
	while (lane_time(lane, &time)) {
		struct event event;
		if (lane_take(order, lane, time, &event))
			queue_insert(queue, &event);
	}
}

static void make_all(struct order *order) {
	for (size_t i = 0; i < order->queues.count; i++)
		for (int k = 0; k < LANES; k++)
			lane_to_queue(order, &order->queues.items[i].lanes[k], &order->queues.items[i]);
}

static void lane_compact(struct lane *lane) {
	if (lane->at && lane->bytes.size - lane->at <= lane->at) {
		buffer_drop(&lane->bytes, lane->at);
		lane->end -= lane->at;
		lane->at = 0;
	}
}

// ---- the merge ----

static bool before(const struct head *left, const struct head *right) {
	return left->time != right->time ? left->time < right->time : left->source < right->source;
}

static void sift_down(struct head *heads, size_t count, size_t at) {
	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		child += child + 1 < count && before(&heads[child + 1], &heads[child]);
		if (!before(&heads[child], &heads[at]))
			return;
		struct head down = heads[at];
		heads[at] = heads[child];
		heads[child] = down;
	}
}

static void collect_heads(struct order *order) {
	order->heads.count = 0;
	for (size_t i = 0; i < order->queues.count; i++) {
		struct queue *queue = &order->queues.items[i];
		uint64_t time;
		queue_sort(queue);
		uint32_t source = (uint32_t)i * SOURCES;
		if (!queue_empty(queue))
			array_push(&order->heads, (struct head){queue_time(queue), source});
		for (uint32_t k = 0; k < LANES; k++)
			if (lane_time(&queue->lanes[k], &time))
				array_push(&order->heads, (struct head){time, source + 1 + k});
	}
	for (size_t i = order->heads.count / 2; i-- > 0;)
		sift_down(order->heads.items, order->heads.count, i);
}

static int queue_push(struct order *order, struct queue *queue, uint64_t *time, bool *more) {
	const struct event *event = &queue->events.items[queue->head++];
	int error = sink_push(order->next, event);
	free_fields(event);
	*more = !queue_empty(queue);
	if (*more)
		*time = queue_time(queue);
	return error;
}

// Up to when the first of the heads has only itself to look at.
static uint64_t second_time(const struct order *order, uint64_t limit) {
	for (size_t i = 1; i < MIN(order->heads.count, 3); i++)
		limit = MIN(limit, order->heads.items[i].time);
	return limit;
}

// Pushes on what is earlier than `limit`, or all when `limit` is the largest.
static int release(struct order *order, uint64_t limit) {
	collect_heads(order);
	struct head *heads = order->heads.items;
	while (order->heads.count && (heads[0].time < limit || limit == UINT64_MAX)) {
		struct queue *queue = &order->queues.items[heads[0].source / SOURCES];
		uint32_t lane = heads[0].source % SOURCES;
		bool more;
		int error = lane ? lane_push(order, &queue->lanes[lane - 1], second_time(order, limit),
					     &heads[0].time, &more)
				 : queue_push(order, queue, &heads[0].time, &more);
		if (error)
			return error;
		if (!more)
			heads[0] = heads[--order->heads.count];
		sift_down(heads, order->heads.count, 0);
	}
	for (size_t i = 0; i < order->queues.count; i++) {
		queue_compact(&order->queues.items[i]);
		for (int k = 0; k < LANES; k++)
			lane_compact(&order->queues.items[i].lanes[k]);
	}
	return 0;
}

// ---- the sink ----

static struct queue *queue_of(struct order *order, uint32_t cpu) {
	size_t index = cpu == CPU_NONE ? 0 : (size_t)cpu + 1;
	while (order->queues.count <= index)
		array_push(&order->queues, (struct queue){0});
	return &order->queues.items[index];
}

static int push(struct sink *sink, const struct event *event) {
	struct order *order = CONTAINER_OF(sink, struct order, sink);
	if (event->kind == EVENT_WATERMARK) {
		if (event->time <= order->watermark)
			return 0;
		int error = release(order, event->time);
		order->watermark = event->time;
		return error ? error : sink_push(order->next, event);
	}
	if (event->time < order->watermark) {
		order->late += event->kind != EVENT_META; // a fact about the whole has no place in time
		return sink_push(order->next, event);
	}
	queue_insert(queue_of(order, event->cpu), event);
	return 0;
}

static int push_run(struct sink *sink, const struct record_run *run) {
	struct order *order = CONTAINER_OF(sink, struct order, sink);
	if (!run) {
		make_all(order);
		return 0;
	}
	struct queue *queue = queue_of(order, run->cpu);
	struct record first;
	memcpy(&first, run->bytes, sizeof(first));
	uint64_t time = run->base + first.delta;
	for (int i = 0; i < LANES && time >= order->watermark; i++) {
		if (time < queue->lanes[i].last)
			continue;
		order->maker = run->maker;
		lane_add(&queue->lanes[i], run);
		return 0;
	}
	return 1;
}

static int finish(struct sink *sink) {
	struct order *order = CONTAINER_OF(sink, struct order, sink);
	int error = release(order, UINT64_MAX);
	return error ? error : sink_finish(order->next);
}

static void destroy(struct sink *sink) {
	struct order *order = CONTAINER_OF(sink, struct order, sink);
	for (size_t i = 0; i < order->queues.count; i++) {
		struct queue *queue = &order->queues.items[i];
		for (; !queue_empty(queue); queue->head++)
			free_fields(&queue->events.items[queue->head]);
		array_free(&queue->events);
		for (int k = 0; k < LANES; k++)
			buffer_free(&queue->lanes[k].bytes);
	}
	array_free(&order->queues);
	array_free(&order->heads);
	sink_destroy(order->next);
	free(order);
}

struct sink *order_new(struct sink *next) {
	struct order *order = memory_alloc(sizeof(*order));
	order->sink = (struct sink){.push = push, .push_run = push_run, .finish = finish, .destroy = destroy};
	order->next = next;
	return &order->sink;
}

uint64_t order_late(const struct sink *sink) {
	return CONTAINER_OF(sink, struct order, sink)->late;
}
