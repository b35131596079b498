// Each CPU has a queue. At a watermark the queues are merged up to its time, with a heap of their heads:
// traces have long runs of one CPU, during which the top of the heap stays the same.
#include "event/order.h"
#include "event/heads.h"
#include "event/queue.h"

struct order {
	struct sink sink;
	struct sink *next;
	ARRAY(struct event_queue) queues; // by CPU + 1; the first is for events of no CPU
	head_array heads;                 // their sources are indexes of queues
	uint64_t watermark;
	uint64_t late;
	uint64_t impossible; // events whose CPU cannot exist
};

static void collect_heads(struct order *order) {
	order->heads.count = 0;
	for (uint32_t i = 0; i < order->queues.count; i++) {
		struct event_queue *queue = &order->queues.items[i];
		event_queue_sort(queue);
		if (!event_queue_empty(queue))
			array_push(&order->heads, (struct head){event_queue_time(queue), i});
	}
	heads_build(&order->heads);
}

// Pushes on what is earlier than `limit`, or all when `limit` is the largest.
static int release(struct order *order, uint64_t limit) {
	collect_heads(order);
	struct head *first = order->heads.items;
	while (order->heads.count && (first->time < limit || limit == UINT64_MAX)) {
		bool more;
		int error = event_queue_push(&order->queues.items[first->source], order->next, &first->time,
					     &more);
		if (error)
			return error;
		heads_next(&order->heads, more);
	}
	for (size_t i = 0; i < order->queues.count; i++)
		event_queue_compact(&order->queues.items[i]);
	return 0;
}

// ---- the sink ----

static struct event_queue *queue_of(struct order *order, uint32_t cpu) {
	size_t index = cpu == CPU_NONE ? 0 : (size_t)cpu + 1;
	while (order->queues.count <= index)
		array_push(&order->queues, (struct event_queue){0});
	return &order->queues.items[index];
}

static int take(struct order *order, const struct event *event) {
	if (event->kind == EVENT_WATERMARK) {
		if (event->time <= order->watermark)
			return 0;
		int error = release(order, event->time);
		order->watermark = event->time;
		return error ? error : sink_push(order->next, event);
	}
	if (event->time < order->watermark || !event->time) {
		order->late += event->time && event->kind != EVENT_META; // a fact has no place in time
		return sink_push(order->next, event);
	}
	event_queue_add(queue_of(order, event->cpu), event);
	return 0;
}

// The number comes from a file.
static int push(struct sink *sink, const struct event *event) {
	struct order *order = CONTAINER_OF(sink, struct order, sink);
	if (cpu_is_possible(event->cpu))
		return take(order, event);
	struct event elsewhere = *event;
	elsewhere.cpu = CPU_NONE;
	order->impossible++;
	return take(order, &elsewhere);
}

static int finish(struct sink *sink) {
	int error = order_flush(sink);
	return error ? error : sink_finish(CONTAINER_OF(sink, struct order, sink)->next);
}

static void destroy(struct sink *sink) {
	sink_destroy(CONTAINER_OF(sink, struct order, sink)->next);
	order_free(sink);
}

struct sink *order_new(struct sink *next) {
	struct order *order = memory_alloc(sizeof(*order));
	order->sink = (struct sink){.push = push, .finish = finish, .destroy = destroy};
	order->next = next;
	return &order->sink;
}

int order_flush(struct sink *sink) {
	struct order *order = CONTAINER_OF(sink, struct order, sink);
	int error = release(order, UINT64_MAX);
	return error ? error : sink_push_late(order->next, order->late);
}

uint64_t order_impossible(const struct sink *sink) {
	return CONTAINER_OF(sink, struct order, sink)->impossible;
}

void order_free(struct sink *sink) {
	struct order *order = CONTAINER_OF(sink, struct order, sink);
	for (size_t i = 0; i < order->queues.count; i++)
		event_queue_free(&order->queues.items[i]);
	array_free(&order->queues);
	array_free(&order->heads);
	free(order);
}
