// The state of a packet sequence: interned data, defaults, clocks. Interned
// strings, frames and stacks go straight into the pipeline's tables; the sequence
// only keeps the mapping of ids.
#include "event/event_stacks.h"
#include "read/perfetto/perfetto.h"

enum { TABLE_LIMIT = 64 };

// ---- sequences ----

static struct sequence *sequence_of(struct sequences *sequences, uint64_t key) {
	if (sequences->last && sequences->last->key == key)
		return sequences->last;
	uint64_t *index = map_put(&sequences->index, key);
	if (!*index) {
		struct sequence *sequence = memory_alloc(sizeof(*sequence));
		sequence->key = key;
		array_push(&sequences->list, sequence);
		*index = sequences->list.count;
	}
	return sequences->last = sequences->list.items[*index - 1];
}

static void forget(struct sequence *sequence) {
	map_free(&sequence->interned);
	sequence->clock = 0;
	sequence->track = 0;
	sequence->weight = 0;
	sequence->sample_name = 0;
}

void sequences_free(struct perfetto_reader *reader) {
	struct sequences *sequences = &reader->sequences;
	for (size_t i = 0; i < sequences->list.count; i++) {
		map_free(&sequences->list.items[i]->interned);
		array_free(&sequences->list.items[i]->clocks);
		free(sequences->list.items[i]);
	}
	array_free(&sequences->list);
	map_free(&sequences->index);
	map_free(&sequences->clocks);
	sequences->last = NULL;
	sequences->trace_clock = 0;
}

// ---- clocks ----

static bool is_own(uint32_t clock) {
	return clock >= 64 && clock < 128;
}

static uint32_t trace_clock(const struct sequences *sequences) {
	return sequences->trace_clock ? sequences->trace_clock : CLOCK_ID_BOOTTIME;
}

static struct own_clock *own_clock(struct sequence *sequence, uint32_t id) {
	for (size_t i = 0; sequence && i < sequence->clocks.count; i++)
		if (sequence->clocks.items[i].id == id)
			return &sequence->clocks.items[i];
	return NULL;
}

// Converts the packet's time to the trace's clock; false if no snapshot contains the packet's
// clock.
static bool take_time(struct perfetto_reader *reader, struct packet *packet) {
	uint32_t id = packet->head.clock;
	if (!id && packet->sequence)
		id = packet->sequence->clock;
	packet->time = packet->head.time;
	if (id && id != trace_clock(&reader->sequences) && is_own(id)) {
		struct own_clock *clock = own_clock(packet->sequence, id);
		if (!clock)
			return false;
		clock->value = clock->incremental ? clock->value + packet->head.time : packet->head.time;
		packet->time = clock->value * clock->multiplier + clock->offset;
	} else if (id && id != trace_clock(&reader->sequences)) {
		const uint64_t *offset = map_get(&reader->sequences.clocks, id);
		if (!offset)
			return false;
		packet->time += *offset;
	}
	packet->has_time = is_time(packet->time);
	return packet->has_time;
}

bool packet_enter(struct perfetto_reader *reader, struct packet *packet) {
	const struct packet_header *head = &packet->head;
	struct sequence *sequence = NULL;
	if (head->sequence_id)
		sequence = sequence_of(&reader->sequences, (uint64_t)head->machine << 32 | head->sequence_id);
	packet->sequence = sequence;
	if (sequence && head->dropped)
		sequence->cleared = false;
	if (sequence && (head->cleared || head->flags & SEQUENCE_CLEARED)) {
		forget(sequence);
		sequence->cleared = true;
	}
	if (head->flags & SEQUENCE_NEEDS_STATE && !(sequence && sequence->cleared))
		return false;
	return !head->has_time || take_time(reader, packet);
}

struct reading {
	uint32_t id;
	uint64_t time, multiplier;
	bool incremental;
};

static struct reading take_reading(struct cursor clock) {
	struct reading reading = {.multiplier = 1};
	struct wire_field field;
	while (wire_each(&clock, &field)) {
		if (field.number == CLOCK_ID)
			reading.id = (uint32_t)field.value;
		else if (field.number == CLOCK_TIMESTAMP)
			reading.time = field.value;
		else if (field.number == CLOCK_INCREMENTAL)
			reading.incremental = field.value;
		else if (field.number == CLOCK_MULTIPLIER && field.value)
			reading.multiplier = field.value;
	}
	return reading;
}

// The time of a snapshot in the trace's clock, which may only follow from other clocks that are
// already known.
static bool snapshot_time(const struct sequences *sequences, struct cursor snapshot, uint64_t *time) {
	struct wire_field field;
	bool known = false;
	while (wire_each(&snapshot, &field)) {
		if (field.number != SNAPSHOT_CLOCKS || field.wire != PROTO_BYTES)
			continue;
		struct reading reading = take_reading(field.bytes);
		if (reading.id == trace_clock(sequences)) {
			*time = reading.time;
			return true;
		}
		const uint64_t *offset = is_own(reading.id) ? NULL : map_get(&sequences->clocks, reading.id);
		if (offset && !known) {
			*time = reading.time + *offset;
			known = true;
		}
	}
	return known;
}

static void know_clock(struct perfetto_reader *reader, struct packet *packet, struct reading reading,
		       uint64_t time) {
	if (!is_own(reading.id)) {
		*map_put(&reader->sequences.clocks, reading.id) = time - reading.time * reading.multiplier;
		return;
	}
	if (!packet->sequence)
		return;
	struct own_clock *clock = own_clock(packet->sequence, reading.id);
	if (!clock) {
		array_push(&packet->sequence->clocks, (struct own_clock){.id = reading.id});
		clock = &packet->sequence->clocks.items[packet->sequence->clocks.count - 1];
	}
	clock->incremental = reading.incremental;
	clock->value = reading.time;
	clock->multiplier = reading.multiplier;
	clock->offset = time - reading.time * reading.multiplier;
}

void sequence_clocks(struct perfetto_reader *reader, struct packet *packet, struct event *event) {
	struct cursor snapshot = packet->data;
	struct wire_field field;
	*event = (struct event){.kind = EVENT_CLOCK, .cpu = CPU_NONE};
	while (wire_each(&snapshot, &field))
		if (field.number == SNAPSHOT_PRIMARY && field.wire == PROTO_VARINT)
			reader->sequences.trace_clock = (uint32_t)field.value;
	uint64_t time;
	if (!snapshot_time(&reader->sequences, packet->data, &time) || !is_time(time))
		return;
	event->time = time;
	snapshot = packet->data;
	while (wire_each(&snapshot, &field)) {
		if (field.number != SNAPSHOT_CLOCKS || field.wire != PROTO_BYTES)
			continue;
		struct reading reading = take_reading(field.bytes);
		know_clock(reader, packet, reading, time);
		if (reading.id == CLOCK_ID_REALTIME && is_time(reading.time))
			event->clock.wall = reading.time;
		else if (reading.id == CLOCK_ID_MONOTONIC && is_time(reading.time))
			event->clock.monotonic = reading.time;
	}
}

// ---- defaults ----

static const char *counter_name(uint64_t counter) {
	static const char *const names[] = {
		"cpu-clock",      "cpu-clock",    "page-faults",      "task-clock",       "context-switches",
		"cpu-migrations", "minor-faults", "major-faults",     "alignment-faults", "emulation-faults",
		"cycles",         "instructions", "cache-references", "cache-misses",     "branches",
		"branch-misses",  "bus-cycles"};
	return names[counter < ARRAY_SIZE(names) ? counter : 0];
}

static void take_timebase(struct perfetto_reader *reader, struct sequence *sequence, struct cursor timebase) {
	struct wire_field field;
	const char *name = counter_name(0);
	uint64_t period = 0, frequency = 0;
	sequence->sample_name = 0;
	while (wire_each(&timebase, &field)) {
		if (field.number == TIMEBASE_PERIOD)
			period = field.value;
		else if (field.number == TIMEBASE_FREQUENCY)
			frequency = field.value;
		else if (field.number == TIMEBASE_COUNTER)
			name = counter_name(field.value);
		else if (field.number == TIMEBASE_NAME && field.wire == PROTO_BYTES)
			sequence->sample_name = cursor_text(reader, field.bytes);
	}
	bool clock = strcmp(name, "cpu-clock") == 0 || strcmp(name, "task-clock") == 0;
	sequence->weight = period ? period : frequency && clock ? 1000000000 / frequency : 1;
	if (!sequence->sample_name)
		sequence->sample_name = strings_add(reader->tables->strings, name);
	sequence->at_events = stack_event_is(strings_get(reader->tables->strings, sequence->sample_name));
}

void sequence_defaults(struct perfetto_reader *reader, struct packet *packet) {
	struct sequence *sequence = packet->sequence;
	struct wire_field field, nested;
	if (!sequence || !sequence->cleared)
		return;
	while (wire_each(&packet->defaults, &field)) {
		if (field.number == PACKET_CLOCK)
			sequence->clock = (uint32_t)field.value;
		else if (field.number == DEFAULTS_TRACK_EVENT)
			while (wire_each(&field.bytes, &nested))
				sequence->track = nested.number == TRACK_EVENT_TRACK ? nested.value
										     : sequence->track;
		else if (field.number == DEFAULTS_PERF_SAMPLE)
			while (wire_each(&field.bytes, &nested))
				if (nested.number == SAMPLE_DEFAULTS_TIMEBASE && nested.wire == PROTO_BYTES)
					take_timebase(reader, sequence, nested.bytes);
	}
}

// ---- interned data ----

static uint64_t interned_key(uint32_t table, uint64_t id) {
	return (uint64_t)table << 58 | (id & ((1ull << 58) - 1));
}

uint32_t sequence_lookup(const struct sequence *sequence, uint32_t table, uint64_t id) {
	const uint64_t *value = sequence && id ? map_get(&sequence->interned, interned_key(table, id)) : NULL;
	return value ? (uint32_t)(*value - 1) : 0;
}

static void know(struct sequence *sequence, uint32_t table, uint64_t id, uint32_t value) {
	if (id)
		*map_put(&sequence->interned, interned_key(table, id)) = (uint64_t)value + 1;
}

static void take_string(struct perfetto_reader *reader, struct sequence *sequence, uint32_t table,
			struct cursor entry) {
	struct wire_field field;
	uint64_t id = 0;
	uint32_t text = 0;
	while (wire_each(&entry, &field)) {
		if (field.number == INTERNED_IID)
			id = field.value;
		else if (field.number == INTERNED_STRING && field.wire == PROTO_BYTES)
			text = cursor_text(reader, field.bytes);
	}
	know(sequence, table, id, text);
}

// The parts of a path come one by one and without the leading slash. Bracketed names and names
// without a directory have no slash.
static uint32_t whole_path(struct perfetto_reader *reader, const struct sequence *sequence,
			   struct cursor mapping) {
	struct buffer *path = &reader->words;
	struct wire_field field;
	path->size = 0;
	while (wire_each(&mapping, &field)) {
		if (field.number != MAPPING_PATHS || field.wire != PROTO_VARINT)
			continue;
		uint32_t part = sequence_lookup(sequence, INTERNED_MAPPING_PATHS, field.value);
		buffer_append(path, "/", 1);
		buffer_append(path, strings_get(reader->tables->strings, part),
			      strings_length(reader->tables->strings, part));
	}
	if (!path->size)
		return 0;
	bool absolute = path->size > 2 && memchr(path->data + 1, '/', path->size - 1) && path->data[1] != '[';
	size_t skip = (!absolute || path->data[1] == '/');
	return strings_add_bytes(reader->tables->strings, path->data + skip, path->size - skip);
}

static void take_mapping(struct perfetto_reader *reader, struct sequence *sequence, struct cursor entry) {
	struct mapping mapping = {.path = whole_path(reader, sequence, entry)};
	struct wire_field field;
	uint64_t id = 0;
	while (wire_each(&entry, &field)) {
		if (field.number == INTERNED_IID)
			id = field.value;
		else if (field.number == MAPPING_BUILD_ID)
			mapping.build_id = sequence_lookup(sequence, INTERNED_BUILD_IDS, field.value);
	}
	know(sequence, INTERNED_MAPPINGS, id, (uint32_t)reader->mappings.count);
	array_push(&reader->mappings, mapping);
}

// Recognizes the placeholder names that our writer gives to unnamed modules.
static void drop_placeholder_module(struct perfetto_reader *reader, struct frame *frame) {
	static const struct {
		const char *name;
		uint32_t kind;
	} names[] = {{"[unknown]", FRAME_USER}, {"[kernel]", FRAME_KERNEL}, {"[jit]", FRAME_JIT}};
	const char *module = strings_get(reader->tables->strings, frame->module);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(module, names[i].name) != 0)
			continue;
		frame->module = 0;
		frame->kind = frame->kind == FRAME_USER ? names[i].kind : frame->kind;
	}
	if (frame->kind == FRAME_USER && strncmp(module, "[kernel", 7) == 0)
		frame->kind = FRAME_KERNEL;
}

// Drops the placeholder name that our writer gives to an unnamed function.
static void drop_placeholder_symbol(struct perfetto_reader *reader, struct frame *frame) {
	const char *symbol = strings_get(reader->tables->strings, frame->symbol);
	if (*symbol != '[' || !frame->module || !frame->address)
		return;
	CLEANUP_FREE char *place = frame_place(strings_get(reader->tables->strings, frame->module),
					       frame->address);
	if (strcmp(symbol, place) != 0)
		return;
	if (reader->tables->details || reader->tables->addresses != ADDRESSES_NONE)
		frame->position = frame->address;
	frame->symbol = 0;
	frame->address = 0;
}

static void take_frame(struct perfetto_reader *reader, struct sequence *sequence, struct cursor entry) {
	struct frame frame = {.exact = NAME_OF_SYMBOL};
	struct wire_field field;
	uint64_t id = 0;
	while (wire_each(&entry, &field)) {
		if (field.number == INTERNED_IID) {
			id = field.value;
		} else if (field.number == FRAME_FUNCTION) {
			frame.symbol = sequence_lookup(sequence, INTERNED_FUNCTION_NAMES, field.value);
		} else if (field.number == FRAME_MAPPING) {
			uint32_t index = sequence_lookup(sequence, INTERNED_MAPPINGS, field.value);
			if (index < reader->mappings.count)
				frame.module = reader->mappings.items[index].path;
		} else if (field.number == FRAME_REL_PC) {
			frame.address = field.value;
		} else if (field.number == FRAME_SOURCE_PATH) {
			frame.file = sequence_lookup(sequence, INTERNED_SOURCE_PATHS, field.value);
		} else if (field.number == FRAME_LINE) {
			frame.line = (uint32_t)field.value;
		} else if (field.number == FRAME_AT_PATH) {
			frame.at_file = sequence_lookup(sequence, INTERNED_SOURCE_PATHS, field.value);
		} else if (field.number == FRAME_AT_LINE) {
			frame.at_line = (uint32_t)field.value;
		} else if (field.number == FRAME_KIND) {
			frame.kind = field.value == KIND_KERNEL ? FRAME_KERNEL
				     : field.value == KIND_JIT  ? FRAME_JIT
								: FRAME_USER;
		} else if (field.number == FRAME_KIND_TEXT && cursor_is(field.bytes, "inlined")) {
			frame.kind = FRAME_INLINED;
		}
	}
	drop_placeholder_module(reader, &frame);
	drop_placeholder_symbol(reader, &frame);
	if (frame.symbol && reader->tables->addresses != ADDRESSES_ALL)
		frame.address = 0;
	know(sequence, INTERNED_FRAMES, id, stacks_add_frame(reader->tables->stacks, &frame));
}

// Frames come outermost first.
static void take_stack(struct perfetto_reader *reader, struct sequence *sequence, struct cursor entry) {
	struct wire_field field;
	uint64_t id = 0;
	uint32_t stack = 0;
	while (wire_each(&entry, &field)) {
		if (field.number == INTERNED_IID)
			id = field.value;
		if (field.number != CALLSTACK_FRAMES || field.wire != PROTO_VARINT)
			continue;
		const uint64_t *frame = map_get(&sequence->interned,
						interned_key(INTERNED_FRAMES, field.value));
		if (frame)
			stack = stacks_add(reader->tables->stacks, stack, (uint32_t)(*frame - 1));
		else
			reader->bad++;
	}
	know(sequence, INTERNED_CALLSTACKS, id, stack);
}

// Entries may refer to each other in any order, so they are taken in order of dependency.
enum phase { PHASE_STRINGS, PHASE_MAPPINGS, PHASE_FRAMES, PHASE_STACKS, PHASE_COUNT };

static enum phase phase_of(uint32_t table) {
	return table == INTERNED_MAPPINGS     ? PHASE_MAPPINGS
	       : table == INTERNED_FRAMES     ? PHASE_FRAMES
	       : table == INTERNED_CALLSTACKS ? PHASE_STACKS
					      : PHASE_STRINGS;
}

static void take_entry(struct perfetto_reader *reader, struct sequence *sequence,
		       const struct wire_field *entry) {
	switch (entry->number) {
	case INTERNED_MAPPINGS:
		take_mapping(reader, sequence, entry->bytes);
		break;
	case INTERNED_FRAMES:
		take_frame(reader, sequence, entry->bytes);
		break;
	case INTERNED_CALLSTACKS:
		take_stack(reader, sequence, entry->bytes);
		break;
	case INTERNED_CATEGORIES:
	case INTERNED_EVENT_NAMES:
	case INTERNED_ANNOTATION_NAMES:
	case INTERNED_FUNCTION_NAMES:
	case INTERNED_BUILD_IDS:
	case INTERNED_MAPPING_PATHS:
	case INTERNED_SOURCE_PATHS:
	case INTERNED_ANNOTATION_STRINGS:
		take_string(reader, sequence, entry->number, entry->bytes);
		break;
	}
}

void sequence_interned(struct perfetto_reader *reader, struct packet *packet) {
	struct sequence *sequence = packet->sequence;
	if (!sequence || !sequence->cleared)
		return;
	unsigned phases = 1;
	for (enum phase phase = PHASE_STRINGS; phase < PHASE_COUNT; phase++) {
		if (!(phases >> phase & 1))
			continue;
		struct cursor entries = packet->interned;
		struct wire_field field;
		while (wire_each(&entries, &field)) {
			if (field.wire != PROTO_BYTES || field.number >= TABLE_LIMIT)
				continue;
			phases |= 1u << phase_of(field.number);
			if (phase_of(field.number) == phase)
				take_entry(reader, sequence, &field);
		}
	}
}
