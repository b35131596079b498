// Tracks and the events on them. Importers sort all events before they use them, and accept a
// descriptor anywhere in the file. So faults of a track are known only at the end; until then a few
// words of memory hold its state.
#include "check/check.h"

enum event_type { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };

static struct track *track_get(struct check *check, uint64_t uuid) {
	size_t count = check->tracks.count;
	uint64_t *index = map_put(&check->track_index, uuid);
	if (!*index) {
		array_push(&check->tracks, (struct track){.uuid = uuid});
		*index = count + 1;
	}
	return &check->tracks.items[*index - 1];
}

// ---- descriptors ----

static void check_thread(struct check *check, struct cursor thread) {
	const uint8_t *at = thread.at;
	struct wire_field field;
	uint64_t pid = 0, tid = 0;
	bool has_tid = false;
	while (wire_next(check, &thread, &field)) {
		wire_check_field(check, &rule_thread_descriptor, &field, 2);
		if (field.number == 1)
			pid = field.value;
		if (field.number == 2) {
			tid = field.value;
			has_tid = true;
		}
	}
	if (thread.failed)
		return;
	if (has_tid && !tid)
		check_defect(check, at, DEFECT_IDLE_TRACK, 0);
	else if (!pid || !tid)
		check_defect(check, at, DEFECT_THREAD_IDS, 0);
}

void check_track_descriptor(struct check *check, const struct wire_field *descriptor) {
	struct cursor message = descriptor->bytes;
	struct wire_field field;
	uint64_t uuid = 0, parent = 0;
	bool counter = false;
	while (wire_next(check, &message, &field)) {
		if (field.number == 4 && field.wire == PROTO_BYTES)
			check_thread(check, field.bytes);
		else
			wire_check_field(check, &rule_track_descriptor, &field, 1);
		if (field.number == 1)
			uuid = field.value;
		else if (field.number == 5)
			parent = field.value;
		else if (field.number == 8)
			counter = true;
	}
	// A descriptor may be repeated; what an earlier one said stays valid.
	struct track *track = track_get(check, uuid);
	if (!track->described_at)
		track->described_at = check_offset(check, descriptor->at) + 1;
	track->counter |= counter;
	if (parent)
		track->parent = parent;
}

// ---- events ----

static void note_first(uint64_t *place, uint64_t offset) {
	if (!*place)
		*place = offset + 1;
}

// The order of a track's edges can be checked only if they are on the same clock.
static void follow_time(const struct check *check, struct track *track) {
	const struct packet *packet = &check->packet;
	uint64_t clock = packet->head.clock;
	if (clock >= 64 && clock < 128 && packet->sequence)
		clock ^= hash_u64(packet->sequence->key);
	if (!packet->head.has_time ||
	    (track->timed && (clock != track->clock || packet->head.time < track->time)))
		track->unordered = true;
	track->clock = clock;
	track->time = packet->head.time;
	track->timed = true;
}

static void slice_edge(struct track *track, bool begin, uint64_t offset) {
	track->balance += begin ? 1 : -1;
	if (begin) {
		if (!track->depth++)
			track->open_at = offset + 1;
	} else if (track->depth) {
		track->depth--;
	} else {
		note_first(&track->end_first_at, offset);
	}
}

struct track_event {
	uint64_t track, type, extra_values, extra_tracks;
	bool value, legacy, timed;
};

static void take_field(struct track_event *event, const struct wire_field *field) {
	switch (field->number) {
	case 1:
	case 16:
		event->timed = true; // of its own, as older writers have it
		break;
	case 6:
		event->legacy = true;
		break;
	case 9:
		event->type = field->value;
		break;
	case 11:
		event->track = field->value;
		break;
	case 12:
		event->extra_values++;
		break;
	case 30:
	case 44:
		event->value = true;
		break;
	case 31:
		event->extra_tracks++;
		break;
	}
}

void check_track_event(struct check *check, const struct wire_field *whole) {
	const struct sequence *sequence = check->packet.sequence;
	struct cursor message = whole->bytes;
	struct wire_field field;
	struct track_event event = {.track = sequence ? sequence->track : 0};
	while (wire_next(check, &message, &field)) {
		wire_check_field(check, &rule_track_event, &field, 1);
		take_field(&event, &field);
	}
	if (!sequence)
		check_defect(check, whole->at, DEFECT_NO_SEQUENCE, 0);
	else if (!event.extra_tracks)
		event.extra_tracks = sequence->extra_tracks;
	if (event.extra_values > event.extra_tracks && !(sequence && sequence->lossy))
		check_defect(check, whole->at, DEFECT_EXTRA_COUNTERS, event.extra_values);
	if (!check->packet.head.has_time && !event.timed)
		check_defect(check, whole->at, DEFECT_TRACK_EVENT_TIME, 0);
	uint64_t offset = check_offset(check, whole->at);
	struct track *track = track_get(check, event.track);
	if (event.type == TYPE_COUNTER) {
		note_first(&track->counter_at, offset);
		if (!event.value)
			check_defect(check, whole->at, DEFECT_COUNTER_VALUE, 0);
		return;
	}
	// Legacy JSON events have their own rules for tracks and pairing.
	if (!event.legacy && (event.type == TYPE_BEGIN || event.type == TYPE_END)) {
		follow_time(check, track);
		slice_edge(track, event.type == TYPE_BEGIN, offset);
	}
	note_first(&track->slice_at, offset);
}

// ---- the verdict ----

static const struct track *track_find(const struct check *check, uint64_t uuid) {
	const uint64_t *index = map_get(&check->track_index, uuid);
	return index ? &check->tracks.items[*index - 1] : NULL;
}

// Follows the parents of a track, marking each with the number of this visit. A track with this visit's mark
// closes a cycle; one with an older mark is already checked.
static void check_parents(struct check *check, size_t index) {
	uint32_t visit = (uint32_t)index + 1;
	struct track *track = &check->tracks.items[index];
	while (track && !track->visit) {
		track->visit = visit;
		const struct track *parent = track->parent ? track_find(check, track->parent) : NULL;
		if (track->parent && !(parent && parent->described_at))
			check_defect_at(check, track->described_at - 1, DEFECT_NO_PARENT, track->parent);
		if (parent && parent->visit == visit)
			check_defect_at(check, track->described_at - 1, DEFECT_PARENT_CYCLE, track->uuid);
		track = parent ? &check->tracks.items[parent - check->tracks.items] : NULL;
	}
}

static void check_slices(struct check *check, const struct track *track) {
	if (!track->unordered && track->end_first_at)
		check_defect_at(check, track->end_first_at - 1, DEFECT_END_FIRST, track->uuid);
	else if (track->balance < 0)
		check_defect_at(check, track->slice_at - 1, DEFECT_TOO_MANY_ENDS, track->uuid);
	if (track->unordered ? track->balance > 0 : track->depth > 0)
		check_defect_at(check, track->open_at - 1, DEFECT_NEVER_ENDS, track->uuid);
}

void tracks_finish(struct check *check) {
	for (size_t i = 0; i < check->tracks.count && !check->opaque; i++) {
		const struct track *track = &check->tracks.items[i];
		uint64_t used_at = track->slice_at ? track->slice_at : track->counter_at;
		check_slices(check, track);
		// Track 0 needs no descriptor.
		if (used_at && track->uuid && !track->described_at)
			check_defect_at(check, used_at - 1, DEFECT_NO_TRACK, track->uuid);
		else if (track->counter_at && !track->counter)
			check_defect_at(check, track->counter_at - 1, DEFECT_COUNTER_ELSEWHERE, track->uuid);
		if (track->slice_at && track->counter)
			check_defect_at(check, track->slice_at - 1, DEFECT_SLICE_ON_COUNTER, track->uuid);
		check_parents(check, i);
	}
}

void tracks_free_all(struct check *check) {
	array_free(&check->tracks);
	map_free(&check->track_index);
}
