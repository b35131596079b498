#include "event/tally.h"

// A switch names the task that leaves. If another one had come, a switch between
// the two is missing, though nobody has counted it as lost: some kernels do not
// report all of them.
static void follow_cpu(struct tally *tally, const struct event *event) {
	size_t index = event->cpu < CPU_COUNT_MOST ? event->cpu + 1 : 0;
	while (tally->current.count <= index)
		array_push(&tally->current, 0);
	uint64_t *current = &tally->current.items[index];
	if (event->kind == EVENT_SWITCH) {
		if (*current && *current != event->tid + 1ull)
			tally->gaps++;
		bool followed = event->switched.next_tid < TID_OUTSIDE &&
				!(event->switched.outside && event->switched.next_outside);
		*current = followed ? event->switched.next_tid + 1ull : 0;
	} else if (event->kind == EVENT_EXEC && *current == event->exec.old_tid + 1ull) {
		*current = event->tid + 1ull;
	} else if (event->kind == EVENT_LOST) {
		*current = 0;
	}
}

static void count_sample(struct tally *tally, const struct event *event) {
	tally->waits += !!(event->sample.flags & SAMPLE_WAITS);
	tally->at_events += !!(event->sample.flags & SAMPLE_AT_EVENT);
	// Before its first exec the test is a copy of us, and nobody has looked at that code.
	bool begun = tally->kinds[EVENT_EXEC] || !(event->sample.flags & SAMPLE_AT_EVENT);
	tally->broken += event->sample.flags & SAMPLE_BROKEN && begun;
}

static int push(struct sink *sink, const struct event *event) {
	struct tally *tally = CONTAINER_OF(sink, struct tally, sink);
	tally->kinds[event->kind]++;
	switch (event->kind) {
	case EVENT_LOST:
		tally->lost[event->lost.source] += event->lost.count;
		follow_cpu(tally, event);
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
