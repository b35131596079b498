// Crashes: an instant on the thread's track, with all known details. Stacks come after everything
// else, so crashes are written at the end.
#include "event/crash.h"
#include "write/perfetto/perfetto.h"

#include <inttypes.h>
#include <stdio.h>

int crash_take(struct perfetto *perfetto, const struct event *event) {
	uint64_t track;
	int error = perfetto_task_track(perfetto, event, &track);
	if (!error && track)
		array_push(&perfetto->crashes, (struct crash){.event = *event, .track = track});
	return error;
}

int crash_take_stack(struct perfetto *perfetto, const struct event *event) {
	for (size_t i = 0; i < perfetto->crashes.count; i++) {
		struct crash *crash = &perfetto->crashes.items[i];
		if (crash->event.tid == event->tid && crash->event.time == event->crash_stack.crash_time)
			crash->stack = event->crash_stack.text;
	}
	return 0;
}

static void annotate(struct perfetto *perfetto, const char *name, const char *value) {
	size_t annotation = proto_begin(&perfetto->packet, TRACK_EVENT_ANNOTATIONS);
	proto_string(&perfetto->packet, ANNOTATION_NAME, name);
	proto_string(&perfetto->packet, ANNOTATION_STRING, value);
	proto_end(&perfetto->packet, annotation);
}

static int write_crash(struct perfetto *perfetto, const struct crash *crash) {
	const struct event *event = &crash->event;
	char title[160], words[128], number[32];
	crash_words(event->crash.signal, event->crash.code, event->crash.address, event->pid, words,
		    sizeof(words));
	snprintf(title, sizeof(title), "crash: %s", words);
	size_t mark = perfetto_begin(perfetto, SEQUENCE_EVENTS, event->time);
	size_t instant = proto_begin(&perfetto->packet, PACKET_TRACK_EVENT);
	proto_uint(&perfetto->packet, TRACK_EVENT_TYPE, TYPE_INSTANT);
	proto_uint(&perfetto->packet, TRACK_EVENT_TRACK, crash->track);
	proto_string(&perfetto->packet, TRACK_EVENT_CATEGORIES, "tracelet");
	proto_string(&perfetto->packet, TRACK_EVENT_NAME, title);
	snprintf(number, sizeof(number), "%" PRIu32, event->crash.signal);
	annotate(perfetto, "signal", number);
	snprintf(number, sizeof(number), "0x%" PRIx64, event->crash.instruction);
	annotate(perfetto, "instruction", number);
	snprintf(number, sizeof(number), "%" PRId32, event->crash.code);
	annotate(perfetto, "code", number);
	snprintf(number, sizeof(number), "0x%" PRIx64, event->crash.address);
	annotate(perfetto, "address", number);
	if (event->cpu != CPU_NONE) {
		snprintf(number, sizeof(number), "%" PRIu32, event->cpu);
		annotate(perfetto, "cpu", number);
	}
	if (crash->stack)
		annotate(perfetto, "stack", strings_get(perfetto->strings, crash->stack));
	proto_end(&perfetto->packet, instant);
	return perfetto_end(perfetto, mark);
}

int crash_finish(struct perfetto *perfetto) {
	int error = 0;
	for (size_t i = 0; !error && i < perfetto->crashes.count; i++)
		error = write_crash(perfetto, &perfetto->crashes.items[i]);
	array_free(&perfetto->crashes);
	return error;
}
