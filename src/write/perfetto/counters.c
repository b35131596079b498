// PMU counters in a Perfetto trace: a track for each event and CPU, and one for all tasks of the test. The
// trace has increments, which the importer sums up, so a viewer can show the total as well as the rate. Such
// tracks must be described on the sequence that has their values. The counts of one time slice of a thread
// become a slice with the counts as arguments, on a separate track below the thread's.
#include "write/perfetto/perfetto.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { UUID_GROUP = UUID_FIRST_COUNTER };

struct counter_track {
	uint64_t uuid;
	bool rests; // the last value was 0: further zeros are redundant
};

struct counter_tracks {
	struct map index; // key to index in `list` + 1
	ARRAY(struct counter_track) list;
	struct map threads; // track of a thread to that of its slices
	uint64_t next_uuid;
};

struct counter_tracks *counters_new(void) {
	struct counter_tracks *tracks = memory_alloc(sizeof(*tracks));
	tracks->next_uuid = UUID_GROUP + 1;
	return tracks;
}

void counters_destroy(struct counter_tracks *tracks) {
	map_free(&tracks->index);
	map_free(&tracks->threads);
	array_free(&tracks->list);
	free(tracks);
}

// ---- tracks ----

static int describe(struct perfetto *perfetto, enum sequence_number sequence, uint64_t uuid, uint64_t parent,
		    const char *name, const char *unit) {
	struct buffer *packet = &perfetto->packet;
	size_t mark = perfetto_begin(perfetto, sequence, NO_TIME);
	size_t track = proto_begin(packet, PACKET_TRACK_DESCRIPTOR);
	proto_uint(packet, TRACK_UUID, uuid);
	proto_string(packet, TRACK_NAME, name);
	if (parent)
		proto_uint(packet, TRACK_PARENT, parent);
	if (unit) {
		size_t counter = proto_begin(packet, TRACK_COUNTER);
		if (*unit)
			proto_string(packet, COUNTER_UNIT_NAME, unit);
		proto_uint(packet, COUNTER_INCREMENTAL, 1);
		proto_end(packet, counter);
	}
	proto_end(packet, track);
	return perfetto_end(perfetto, mark);
}

static int track_of(struct perfetto *perfetto, const struct event *event, struct counter_track **track) {
	struct counter_tracks *tracks = perfetto->counters;
	bool of_test = event->tid || event->cpu == CPU_NONE;
	uint64_t key = (uint64_t)event->counter.name << 32 | (of_test ? CPU_NONE : event->cpu);
	uint64_t *index = map_put(&tracks->index, key);
	int error = 0;
	if (!*index) {
		char title[160];
		const char *name = strings_get(perfetto->strings, event->counter.name);
		if (of_test)
			snprintf(title, sizeof(title), "%s" COUNTER_OF_TEST, name);
		else
			snprintf(title, sizeof(title), "%s cpu %" PRIu32, name, event->cpu);
		if (!tracks->list.count)
			error = describe(perfetto, SEQUENCE_TRACKS, UUID_GROUP, 0, "Counters", NULL);
		array_push(&tracks->list, (struct counter_track){.uuid = tracks->next_uuid++, .rests = true});
		*index = tracks->list.count;
		if (!error)
			error = describe(perfetto, SEQUENCE_COUNTERS,
					 tracks->list.items[tracks->list.count - 1].uuid, UUID_GROUP, title,
					 strings_get(perfetto->strings, event->counter.unit));
	}
	*track = &tracks->list.items[*index - 1];
	return error;
}

// ---- values ----

static bool is_whole(double value) {
	return fabs(value) < 0x1p53 && value == trunc(value);
}

int counters_add(struct perfetto *perfetto, const struct event *event) {
	struct buffer *packet = &perfetto->packet;
	struct counter_track *track;
	if (!isfinite(event->counter.value))
		return 0;
	int error = track_of(perfetto, event, &track);
	bool rests = event->counter.value == 0;
	if (error || (rests && track->rests))
		return error;
	track->rests = rests;
	size_t mark = perfetto_begin(perfetto, SEQUENCE_COUNTERS, event->time);
	size_t body = proto_begin(packet, PACKET_TRACK_EVENT);
	proto_uint(packet, TRACK_EVENT_TYPE, TYPE_COUNTER);
	proto_uint(packet, TRACK_EVENT_TRACK, track->uuid);
	if (is_whole(event->counter.value))
		proto_int(packet, TRACK_EVENT_COUNTER, (int64_t)event->counter.value);
	else
		proto_double(packet, TRACK_EVENT_DOUBLE_COUNTER, event->counter.value);
	proto_end(packet, body);
	return perfetto_end(perfetto, mark);
}

// ---- slices ----

bool counters_is_slice(const struct perfetto *perfetto, const struct event *event) {
	return event->generic.duration && event->tid && !event->generic.on_cpu &&
	       strcmp(strings_get(perfetto->strings, event->generic.provider), PROVIDER_PMU) == 0;
}

int counters_slice_track(struct perfetto *perfetto, const struct event *event, uint64_t *track) {
	struct counter_tracks *tracks = perfetto->counters;
	uint64_t thread;
	*track = 0;
	int error = perfetto_task_track(perfetto, event, &thread);
	if (error || !thread)
		return error;
	uint64_t *known = map_put(&tracks->threads, thread);
	*track = *known;
	if (*known)
		return 0;
	*track = *known = tracks->next_uuid++;
	return describe(perfetto, SEQUENCE_TRACKS, *track, thread, "Counters", NULL);
}
