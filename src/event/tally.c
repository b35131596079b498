#include "event/tally.h"

static void follow_cpu(struct tally *tally, const struct event *event) {
	size_t index = event->cpu < CPU_COUNT_MOST ? event->cpu + 1 : 0;
	while (tally->current.count <= index)
		array_push(&tally->current, (struct joins){0});
	tally->gaps += joins_miss(&tally->current.items[index], event);
}

static void count_sample(struct tally *tally, const struct event *event) {
	tally->waits += !!(event->sample.flags & SAMPLE_WAITS);
	tally->at_events += !!(event->sample.flags & SAMPLE_AT_EVENT);
	// Before its first exec the test is a copy of us, whose code was not recorded.
	bool begun = tally->kinds[EVENT_EXEC] || !(event->sample.flags & (SAMPLE_AT_EVENT | SAMPLE_WAITS));
	tally->broken += event->sample.flags & SAMPLE_BROKEN && begun;
	tally->cut += !!(event->sample.flags & SAMPLE_CUT);
}

static int push(struct sink *sink, const struct event *event) {
	struct tally *tally = CONTAINER_OF(sink, struct tally, sink);
	if (event->kind == EVENT_SAMPLE && event->sample.flags & SAMPLE_READY)
		return sink_push(tally->next, event); // the second half of a wait
	tally->kinds[event->kind]++;
	switch (event->kind) {
	case EVENT_LOST:
		tally->lost[event->lost.source] += event->lost.count;
		follow_cpu(tally, event);
		return sink_push(tally->next, event);
	case EVENT_LATE:
		tally->late += event->late.count;
		return sink_push(tally->next, event);
	case EVENT_WATERMARK:
	case EVENT_START:
	case EVENT_META:
	case EVENT_CLOCK:
	case EVENT_TASK:
	case EVENT_CRASH_STACK:
		return sink_push(tally->next, event);
	case EVENT_SWITCH:
	case EVENT_EXEC:
		follow_cpu(tally, event);
		break;
	case EVENT_SAMPLE:
		count_sample(tally, event);
		break;
	}
	tally->first = tally->events ? MIN(tally->first, event->time) : event->time;
	tally->last = MAX(tally->last, event->time);
	tally->events++;
	return sink_push(tally->next, event);
}

static int finish(struct sink *sink) {
	return sink_finish(CONTAINER_OF(sink, struct tally, sink)->next);
}

static void destroy(struct sink *sink) {
	struct tally *tally = CONTAINER_OF(sink, struct tally, sink);
	array_free(&tally->current);
	sink_destroy(tally->next);
}

struct sink *tally_init(struct tally *tally, struct sink *next) {
	*tally = (struct tally){.sink = {.push = push, .finish = finish, .destroy = destroy}, .next = next};
	return &tally->sink;
}
