#include "event/tally.h"

static int push(struct sink *sink, const struct event *event) {
	struct tally *tally = CONTAINER_OF(sink, struct tally, sink);
	tally->kinds[event->kind]++;
	if (event->kind == EVENT_LOST)
		tally->lost[event->lost.source] += event->lost.count;
	if (event->kind > EVENT_TASK && event->kind != EVENT_LOST) {
		tally->first = tally->events ? MIN(tally->first, event->time) : event->time;
		tally->last = MAX(tally->last, event->time);
		tally->events++;
	}
	return sink_push(tally->next, event);
}

static int finish(struct sink *sink) {
	return sink_finish(CONTAINER_OF(sink, struct tally, sink)->next);
}

static void destroy(struct sink *sink) {
	sink_destroy(CONTAINER_OF(sink, struct tally, sink)->next);
}

struct sink *tally_init(struct tally *tally, struct sink *next) {
	*tally = (struct tally){.sink = {.push = push, .finish = finish, .destroy = destroy}, .next = next};
	return &tally->sink;
}
