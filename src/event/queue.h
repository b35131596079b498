// Events of one CPU that wait to be merged. They come nearly sorted: an event that is a
// little late (an interrupt while a record was being written) moves back a few places.
#pragma once

#include "base/array.h"
#include "event/event.h"

struct event_queue {
	ARRAY(struct event) events;
	size_t head;
	bool unsorted; // an event came so late that moving it back would cost too much
};

// Copies the event, and the fields that are valid only during the push.
void event_queue_add(struct event_queue *queue, const struct event *event);
void event_queue_sort(struct event_queue *queue);    // call before looking at the first event
void event_queue_compact(struct event_queue *queue); // frees the room of events that were pushed
void event_queue_free(struct event_queue *queue);

static inline bool event_queue_empty(const struct event_queue *queue) {
	return queue->head == queue->events.count;
}

// Of the first event.
static inline uint64_t event_queue_time(const struct event_queue *queue) {
	return queue->events.items[queue->head].time;
}

// Pushes the first event into `sink`. `more`: there is another one, and `time` is its time.
int event_queue_push(struct event_queue *queue, struct sink *sink, uint64_t *time, bool *more);
