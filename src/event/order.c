// Each CPU has a queue that is all but sorted already: an event that comes a
// little late (an interrupt inside a record being written) moves back a few
// places. At a watermark the queues are merged up to its time, over a heap of
// their heads: traces have long runs of one CPU, in which its top stays.
#include "event/order.h"

#include <string.h>

struct queue {
	ARRAY(struct event) events;
	size_t head;
	bool unsorted; // an event came so late that moving it back would cost too much
};

enum { MOST_STEPS_BACK = 256 };

// The earliest event of a queue that has one.
struct head {
	uint64_t time;
	uint32_t queue;
};

struct order {
	struct sink sink;
	struct sink *next;
	ARRAY(struct queue) queues; // by CPU + 1; the first is for events of no CPU
	ARRAY(struct head) heads;   // a heap; of equal times the lower queue is first
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

// ---- the merge ----

static bool before(const struct head *left, const struct head *right) {
	return left->time != right->time ? left->time < right->time : left->queue < right->queue;
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
		queue_sort(queue);
		if (!queue_empty(queue))
			array_push(&order->heads,
				   (struct head){.time = queue_time(queue), .queue = (uint32_t)i});
	}
	for (size_t i = order->heads.count / 2; i-- > 0;)
		sift_down(order->heads.items, order->heads.count, i);
}

// Pushes on what is earlier than `limit`, or all when `limit` is the largest.
static int release(struct order *order, uint64_t limit) {
	collect_heads(order);
	struct head *heads = order->heads.items;
	while (order->heads.count && (heads[0].time < limit || limit == UINT64_MAX)) {
		struct queue *queue = &order->queues.items[heads[0].queue];
		const struct event *event = &queue->events.items[queue->head++];
		int error = sink_push(order->next, event);
		free_fields(event);
		if (error)
			return error;
		if (queue_empty(queue))
			heads[0] = heads[--order->heads.count];
		else
			heads[0].time = queue_time(queue);
		sift_down(heads, order->heads.count, 0);
	}
	for (size_t i = 0; i < order->queues.count; i++)
		queue_compact(&order->queues.items[i]);
	return 0;
}

// ---- the sink ----

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
	size_t index = event->cpu == CPU_NONE ? 0 : (size_t)event->cpu + 1;
	while (order->queues.count <= index)
		array_push(&order->queues, (struct queue){0});
	queue_insert(&order->queues.items[index], event);
	return 0;
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
	}
	array_free(&order->queues);
	array_free(&order->heads);
	sink_destroy(order->next);
	free(order);
}

struct sink *order_new(struct sink *next) {
	struct order *order = memory_alloc(sizeof(*order));
	order->sink = (struct sink){.push = push, .finish = finish, .destroy = destroy};
	order->next = next;
	return &order->sink;
}

uint64_t order_late(const struct sink *sink) {
	return CONTAINER_OF(sink, struct order, sink)->late;
}
