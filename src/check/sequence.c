// The state of a packet sequence: whether it was cleared, the ids interned since then, its defaults
// and its own clocks. Also the trace's global clocks.
#include "check/check.h"

// ---- sequences ----

static struct sequence *sequence_get(struct check *check, uint64_t key) {
	size_t count = check->sequences.count;
	// Packets of one sequence come in runs.
	if (check->packet.sequence && check->packet.sequence->key == key)
		return check->packet.sequence;
	uint64_t *index = map_put(&check->sequence_index, key);
	if (!*index) {
		array_reserve(&check->sequences, count + 1);
		struct sequence *sequence = memory_alloc(sizeof(*sequence));
		sequence->key = key;
		array_push(&check->sequences, sequence);
		*index = count + 1;
	}
	return check->sequences.items[*index - 1];
}

static void forget_state(struct sequence *sequence) {
	map_free(&sequence->interned);
	sequence->clock = 0;
	sequence->track = 0;
	sequence->extra_tracks = 0;
}

// The time of the packet in its own clock, made absolute.
static void take_time(struct check *check) {
	struct packet *packet = &check->packet;
	if (!packet->head.clock && packet->sequence)
		packet->head.clock = packet->sequence->clock;
	if (!packet->head.has_time || !packet->head.clock)
		return;
	clock_used(check, packet->begin, packet->head.clock);
	for (size_t i = 0; packet->sequence && i < packet->sequence->clocks.count; i++) {
		struct sequence_clock *clock = &packet->sequence->clocks.items[i];
		if (clock->id == packet->head.clock && clock->incremental)
			packet->head.time = clock->value += packet->head.time;
	}
}

void sequence_enter(struct check *check) {
	struct packet *packet = &check->packet;
	if (packet->head.sequence_id == 0) {
		packet->sequence = NULL;
		if (packet->head.flags || packet->head.cleared)
			check_defect(check, packet->begin, DEFECT_NO_SEQUENCE, 0);
		take_time(check);
		return;
	}
	struct sequence *sequence = sequence_get(check, (uint64_t)packet->head.machine << 32 |
								packet->head.sequence_id);
	packet->sequence = sequence;
	if (packet->head.dropped) {
		sequence->cleared = false;
		sequence->lossy = true;
	}
	if (packet->head.cleared || packet->head.flags & 1) {
		forget_state(sequence);
		sequence->cleared = true;
		sequence->lossy = false;
	}
	if (packet->head.flags & 2 && !sequence->cleared && !sequence->lossy && !check->opaque)
		check_defect(check, packet->begin, DEFECT_NOT_CLEARED, packet->head.sequence_id);
	take_time(check);
}

void sequence_free_all(struct check *check) {
	for (size_t i = 0; i < check->sequences.count; i++) {
		struct sequence *sequence = check->sequences.items[i];
		map_free(&sequence->interned);
		map_free(&sequence->cpus);
		array_free(&sequence->cpu_times);
		array_free(&sequence->clocks);
		free(sequence);
	}
	array_free(&check->sequences);
	map_free(&check->sequence_index);
	map_free(&check->clocks);
}

// Interned data and defaults count only on a sequence that was cleared.
static bool state_is_taken(struct check *check, const struct wire_field *field) {
	struct sequence *sequence = check->packet.sequence;
	if (!sequence)
		check_defect(check, field->at, DEFECT_NO_SEQUENCE, 0);
	else if (!sequence->cleared && !sequence->lossy && !check->opaque)
		check_defect(check, field->at, DEFECT_STATE_IGNORED, check->packet.head.sequence_id);
	return sequence && sequence->cleared;
}

// ---- interned data ----

static uint64_t interned_key(uint64_t table, uint64_t id) {
	return table << 58 | id >> 6;
}

void check_interned_id(struct check *check, const uint8_t *at, uint8_t table, uint64_t id) {
	const struct sequence *sequence = check->packet.sequence;
	if (check->skip_ids || check->opaque || (sequence && sequence->lossy))
		return;
	if (sequence && !sequence->cleared && check->packet.head.flags & 2)
		return; // already reported for the whole packet
	const uint64_t *bits = sequence ? map_get(&sequence->interned, interned_key(table, id)) : NULL;
	if (!bits || !(*bits >> (id & 63) & 1))
		check_defect(check, at, DEFECT_INTERNED_ID, id);
}

// All entries have their id in field 1.
static uint64_t entry_id(struct check *check, struct cursor entry) {
	struct wire_field field;
	uint64_t id = 0;
	while (wire_next(check, &entry, &field))
		if (field.number == 1 && field.wire == PROTO_VARINT)
			id = field.value;
	return id;
}

static void check_frame(struct check *check, struct cursor frame) {
	const uint8_t *at = frame.at;
	struct wire_field field;
	bool mapping = false, address = false;
	while (wire_next(check, &frame, &field)) {
		wire_check_field(check, &rule_frame, &field, 2);
		mapping |= field.number == 3 && field.value;
		address |= field.number == 4;
	}
	if (mapping && !address && !frame.failed)
		check_defect(check, at, DEFECT_FRAME_PC, 0);
}

// Entries may refer to each other in any order: first all ids, then all uses.
void check_interned_data(struct check *check, const struct wire_field *interned) {
	if (!state_is_taken(check, interned))
		return;
	struct map *ids = &check->packet.sequence->interned;
	struct cursor entries = interned->bytes;
	struct wire_field field;
	uint64_t faults = check->result->defects;
	while (wire_next(check, &entries, &field)) {
		if (field.wire != PROTO_BYTES || field.number >= TABLE_LIMIT)
			continue;
		uint64_t id = entry_id(check, field.bytes);
		if (id)
			*map_put(ids, interned_key(field.number, id)) |= 1ull << (id & 63);
		else if (field.number < rule_interned_data.count &&
			 rule_interned_data.fields[field.number].shape == SHAPE_MESSAGE)
			check_defect(check, field.at, DEFECT_INTERNED_ZERO, field.number);
	}
	if (check->result->defects != faults)
		return; // a second walk would report the same again
	entries = interned->bytes;
	while (wire_next(check, &entries, &field)) {
		if (field.number == TABLE_FRAMES && field.wire == PROTO_BYTES)
			check_frame(check, field.bytes);
		else
			wire_check_field(check, &rule_interned_data, &field, 1);
	}
}

void check_packet_defaults(struct check *check, const struct wire_field *defaults) {
	if (!wire_check_message(check, &rule_packet_defaults, defaults->bytes, 1) ||
	    !state_is_taken(check, defaults))
		return;
	struct sequence *sequence = check->packet.sequence;
	struct cursor message = defaults->bytes;
	struct wire_field field, nested;
	while (wire_next(check, &message, &field)) {
		if (field.number == 58)
			sequence->clock = (uint32_t)field.value;
		if (field.number != 11)
			continue;
		sequence->extra_tracks = 0;
		while (wire_next(check, &field.bytes, &nested)) {
			if (nested.number == 11)
				sequence->track = nested.value;
			else if (nested.number == 31)
				sequence->extra_tracks++;
		}
	}
}

// Android 10 put the tables into the packet itself. Times are in clock 4.
void check_profile_packet(struct check *check, const struct wire_field *profile) {
	struct cursor message = profile->bytes;
	struct wire_field field, dump;
	uint64_t faults = check->result->defects;
	while (wire_next(check, &message, &field)) {
		check->skip_ids |= field.number <= 4;
		while (field.number == 5 && wire_next(check, &field.bytes, &dump))
			check->result->events += dump.number == 2;
		if (field.number == 5)
			clock_used(check, field.at, 4);
	}
	if (check->result->defects == faults)
		wire_check_message(check, &rule_profile_packet, profile->bytes, 1);
	check->skip_ids = false;
}

// ---- clocks ----

enum { CLOCK_BOOTTIME = 6, CLOCK_SEQUENCE_FIRST = 64, CLOCK_SEQUENCE_LAST = 127 };

static bool is_sequence_clock(uint32_t clock) {
	return clock >= CLOCK_SEQUENCE_FIRST && clock <= CLOCK_SEQUENCE_LAST;
}

// A sequence's own clock must be known by now, a global clock by the end.
void clock_used(struct check *check, const uint8_t *at, uint32_t clock) {
	if (!is_sequence_clock(clock)) {
		uint64_t *state = map_put(&check->clocks, clock);
		if (*state < 2)
			*state |= (check_offset(check, at) + 1) << 1;
		return;
	}
	const struct sequence *sequence = check->packet.sequence;
	for (size_t i = 0; sequence && i < sequence->clocks.count; i++)
		if (sequence->clocks.items[i].id == clock)
			return;
	if (!check->opaque && !(sequence && sequence->lossy))
		check_defect(check, at, DEFECT_SEQUENCE_CLOCK, clock);
}

static void clock_known(struct check *check, struct sequence_clock reading) {
	struct sequence *sequence = check->packet.sequence;
	if (!is_sequence_clock(reading.id)) {
		*map_put(&check->clocks, reading.id) |= 1;
		return;
	}
	for (size_t i = 0; sequence && i < sequence->clocks.count; i++) {
		if (sequence->clocks.items[i].id == reading.id) {
			sequence->clocks.items[i] = reading;
			return;
		}
	}
	if (sequence)
		array_push(&sequence->clocks, reading);
}

void check_clock_snapshot(struct check *check, const struct wire_field *snapshot) {
	if (!wire_check_message(check, &rule_clock_snapshot, snapshot->bytes, 1))
		return;
	struct cursor message = snapshot->bytes;
	struct wire_field field, nested;
	while (wire_next(check, &message, &field)) {
		if (field.number == 2 && field.wire == PROTO_VARINT)
			check->trace_clock = (uint32_t)field.value;
		if (field.number != 1)
			continue;
		struct sequence_clock reading = {0};
		while (wire_next(check, &field.bytes, &nested)) {
			if (nested.number == 1)
				reading.id = (uint32_t)nested.value;
			else if (nested.number == 2)
				reading.value = nested.value;
			else if (nested.number == 3)
				reading.incremental = nested.value;
		}
		clock_known(check, reading);
	}
}

void clocks_finish(struct check *check) {
	uint32_t trace_clock = check->trace_clock ? check->trace_clock : CLOCK_BOOTTIME;
	for (size_t i = 0; i < check->clocks.capacity && !check->opaque; i++) {
		const struct map_slot *slot = &check->clocks.slots[i];
		if (slot->used && !(slot->value & 1) && slot->key != trace_clock)
			check_defect_at(check, (slot->value >> 1) - 1, DEFECT_CLOCK, slot->key);
	}
}
