#include "event/queue.h"

#include <string.h>

enum { MOST_STEPS_BACK = 256 };

static const struct sample_copy *copy_stack(const struct sample_copy *given) {
	struct sample_copy *copy = memory_alloc(sizeof(*copy) + given->size);
	*copy = *given;
	copy->bytes = memcpy(copy + 1, given->bytes, given->size);
	return copy;
}

static void free_copies(const struct event *event) {
	if (event->kind == EVENT_GENERIC)
		free((void *)(uintptr_t)event->generic.fields);
	else if (event->kind == EVENT_SAMPLE)
		free((void *)(uintptr_t)event->sample.copy);
}

// The last event moves to its place.
static void move_back(struct event_queue *queue) {
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

void event_queue_add(struct event_queue *queue, const struct event *given) {
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

void event_queue_sort(struct event_queue *queue) {
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

int event_queue_push(struct event_queue *queue, struct sink *sink, uint64_t *time, bool *more) {
	const struct event *event = &queue->events.items[queue->head++];
	int error = sink_push(sink, event);
	free_copies(event);
	*more = !event_queue_empty(queue);
	if (*more)
		*time = event_queue_time(queue);
	return error;
}

void event_queue_compact(struct event_queue *queue) {
	size_t left = queue->events.count - queue->head;
	if (queue->head && left <= queue->head) {
		memmove(queue->events.items, queue->events.items + queue->head, left * sizeof(struct event));
		queue->events.count = left;
		queue->head = 0;
	}
}

void event_queue_free(struct event_queue *queue) {
	for (; !event_queue_empty(queue); queue->head++)
		free_copies(&queue->events.items[queue->head]);
	array_free(&queue->events);
}
