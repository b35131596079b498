// Reads Perfetto traces: those from our own writer completely, others as far as
// our kinds of events cover theirs.
//
// Packets are in the file in the order in which buffers were flushed: a bundle of
// one CPU's events may begin long before the packet that precedes it, and facts
// about the whole trace may come last. So the file is walked twice. The first
// walk finds the facts, the tracks, and the time of each packet. The second takes
// packets that depend on their sequence in file order, and self-contained
// packets, such as bundles, when their time has come. Before each block of
// packets, the earliest time of everything that follows is known: events up to
// that time are sorted and passed on. So memory holds one bundle per CPU and the
// unsorted events, not the whole trace.
#include "read/perfetto/perfetto.h"

#include "base/log.h"
#include "base/text.h"
#include "event/order.h"
#include "read/reader.h"

#include <errno.h>
#include <inttypes.h>

enum {
	BLOCK_PACKETS = 128,
	SLACK = 1000000, // nanoseconds that a packet may be late and still count as in order
	MOST_FACTS = 256,
	MOST_TOUCHED = 16 << 20, // bytes of a mapped file to keep in memory
};

// ---- packets ----

static bool packet_parse(const uint8_t *bytes, size_t size, struct packet *packet) {
	struct cursor message = cursor_of(bytes, size);
	struct wire_field field;
	*packet = (struct packet){.begin = bytes};
	while (wire_each(&message, &field)) {
		if (field.wire != PROTO_BYTES) {
			packet_header_take(&packet->head, &field);
		} else if (field.number == PACKET_INTERNED_DATA) {
			packet->interned = field.bytes;
		} else if (field.number == PACKET_DEFAULTS) {
			packet->defaults = field.bytes;
		} else {
			packet->data = field.bytes;
			packet->data_field = field.number;
		}
	}
	return !message.failed;
}

// Returns the next packet at `offset` and moves `offset` past it; false if there is no complete
// packet left.
static bool next_packet(struct perfetto_reader *reader, size_t *offset, const uint8_t **bytes, size_t *size) {
	size_t left = reader->size - *offset, head;
	uint64_t length;
	if (!left || packet_frame(reader->bytes + *offset, left, &head, &length) != FRAME_GOOD ||
	    length > left - head)
		return false;
	*bytes = reader->bytes + *offset + head;
	*size = (size_t)length;
	reader->touched += *size;
	if (reader->touched > MOST_TOUCHED) {
		stream_forget_all(reader->input);
		reader->touched = 0;
	}
	*offset += head + (size_t)length;
	return true;
}

// Whether the packet is self-contained, wherever it is in the file. Then it can be taken later.
static bool stands_alone(const struct packet *packet) {
	return !(packet->head.flags & SEQUENCE_NEEDS_STATE) && !packet->head.clock && !packet->interned.at &&
	       !packet->defaults.at &&
	       !(packet->sequence && (packet->sequence->clock || packet->sequence->track));
}

// A late slice is taken as a whole: if its beginning waits, its end does, too, though it may be in time.
static bool slice_waits(struct perfetto_reader *reader, const struct packet *packet, bool late) {
	struct cursor message = packet->data;
	struct wire_field field;
	uint64_t type = 0, track = 0;
	while (wire_each(&message, &field)) {
		if (field.number == TRACK_EVENT_TYPE)
			type = field.value;
		else if (field.number == TRACK_EVENT_TRACK)
			track = field.value;
	}
	if (type == TYPE_SLICE_BEGIN && late)
		++*map_put(&reader->waiting, track);
	uint64_t *open = type == TYPE_SLICE_END ? map_get(&reader->waiting, track) : NULL;
	if (open && --*open == 0)
		map_delete(&reader->waiting, track);
	return late || open;
}

// Whether to take the packet only when its time has come. Both walks ask this for each packet in
// turn.
static bool waits(struct perfetto_reader *reader, const struct packet *packet) {
	if (packet->data_field == PACKET_FTRACE_EVENTS)
		return true;
	if (!packet->has_time)
		return false;
	bool late = packet->time + SLACK < reader->latest;
	reader->latest = MAX(reader->latest, packet->time);
	return (late || reader->waiting.count) && packet->data_field == PACKET_TRACK_EVENT &&
	       stands_alone(packet) && slice_waits(reader, packet, late);
}

// ---- the first walk ----

static void add_fact(struct perfetto_reader *reader, uint32_t key, uint32_t value) {
	if (reader->facts.count < MOST_FACTS)
		array_push(&reader->facts, (struct event){.kind = EVENT_META,
							  .cpu = CPU_NONE,
							  .meta = {.key = key, .value = value}});
}

static const char *fact(const struct perfetto_reader *reader, const char *key) {
	const struct strings *strings = reader->tables->strings;
	for (size_t i = 0; i < reader->facts.count; i++)
		if (reader->facts.items[i].kind == EVENT_META &&
		    strcmp(strings_get(strings, reader->facts.items[i].meta.key), key) == 0)
			return strings_get(strings, reader->facts.items[i].meta.value);
	return NULL;
}

static void take_attributes(struct perfetto_reader *reader, struct cursor attributes) {
	struct wire_field field, nested;
	while (wire_each(&attributes, &field)) {
		uint32_t key = 0, value = 0;
		if (field.number != ATTRIBUTES_ATTRIBUTE || field.wire != PROTO_BYTES)
			continue;
		while (wire_each(&field.bytes, &nested)) {
			if (nested.number == ATTRIBUTE_KEY && nested.wire == PROTO_BYTES)
				key = cursor_text(reader, nested.bytes);
			else if (nested.number == ATTRIBUTE_STRING && nested.wire == PROTO_BYTES)
				value = cursor_text(reader, nested.bytes);
		}
		if (key)
			add_fact(reader, key, value);
	}
}

// Our own traces contain the same information as facts.
static void take_system(struct perfetto_reader *reader, struct cursor info) {
	static const char *const keys[] = {[UTSNAME_SYSNAME] = "system",
					   [UTSNAME_VERSION] = "kernel-version",
					   [UTSNAME_RELEASE] = "kernel",
					   [UTSNAME_MACHINE] = "machine"};
	struct wire_field field, nested;
	struct cursor names = {0};
	while (wire_each(&info, &field)) {
		if (field.wire != PROTO_BYTES)
			continue;
		if (field.number == SYSTEM_UTSNAME)
			names = field.bytes;
		else if (field.number == SYSTEM_SERVICE_VERSION)
			reader->ours |= cursor_left(&field.bytes) > strlen(SERVICE_OURS) &&
					memcmp(field.bytes.at, SERVICE_OURS, strlen(SERVICE_OURS)) == 0;
	}
	while (!reader->ours && wire_each(&names, &nested))
		if (nested.number < ARRAY_SIZE(keys) && keys[nested.number] && nested.wire == PROTO_BYTES)
			add_fact(reader, strings_add(reader->tables->strings, keys[nested.number]),
				 cursor_text(reader, nested.bytes));
}

// The slice that represents the test begins when the recording did.
static bool is_test(const struct perfetto_reader *reader, const struct packet *packet) {
	if (!reader->ours || packet->head.sequence_id != SEQUENCE_EVENTS || !packet->has_time)
		return false;
	struct cursor message = packet->data;
	struct wire_field field;
	uint64_t type = 0, track = 0;
	while (wire_each(&message, &field)) {
		if (field.number == TRACK_EVENT_TYPE)
			type = field.value;
		else if (field.number == TRACK_EVENT_TRACK)
			track = field.value;
	}
	return type == TYPE_SLICE_BEGIN && track == UUID_TEST;
}

static void survey_data(struct perfetto_reader *reader, struct packet *packet) {
	struct event clock;
	switch (packet->data_field) {
	case PACKET_CLOCK_SNAPSHOT:
		sequence_clocks(reader, packet, &clock);
		if (clock.time && clock.clock.wall && !reader->clocks++)
			array_push(&reader->facts, clock);
		break;
	case PACKET_SYSTEM_INFO:
		take_system(reader, packet->data);
		break;
	case PACKET_TRACE_ATTRIBUTES:
		take_attributes(reader, packet->data);
		break;
	case PACKET_TRACK_DESCRIPTOR:
		tracks_describe(reader, packet->data);
		break;
	case PACKET_COMPRESSED:
	case PACKET_COMPRESSED_ZSTD:
		reader->packed = true;
		break;
	case PACKET_TRACK_EVENT:
		if (is_test(reader, packet)) {
			reader->start = packet->time;
			reader->has_start = true;
		}
		break;
	}
}

static void survey_packet(struct perfetto_reader *reader, struct packet *packet, size_t offset,
			  uint64_t *block) {
	bool usable = packet_enter(reader, packet);
	if (packet->defaults.at)
		sequence_defaults(reader, packet);
	if (!usable)
		return;
	survey_data(reader, packet);
	if (!waits(reader, packet)) {
		if (packet->has_time)
			*block = MIN(*block, packet->time);
		return;
	}
	uint64_t time = packet->time;
	if (packet->data_field == PACKET_FTRACE_EVENTS && !ftrace_begin(packet->data, &time))
		time = 0;
	if (packet->data_field == PACKET_FTRACE_EVENTS && packet->interned.at)
		ftrace_learn(reader, packet);
	array_push(&reader->index, (struct indexed){.time = time, .offset = offset});
	if (time)
		reader->first = MIN(reader->first, time);
}

static int compare_indexed(const void *left, const void *right) {
	const struct indexed *a = left, *b = right;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

// Returns where the readable part of the file ends.
static size_t survey(struct perfetto_reader *reader) {
	size_t offset = 0, size, count = 0;
	const uint8_t *bytes;
	for (size_t begin = 0; next_packet(reader, &offset, &bytes, &size); begin = offset) {
		struct packet packet;
		if (count++ % BLOCK_PACKETS == 0)
			array_push(&reader->block_times, UINT64_MAX);
		if (packet_parse(bytes, size, &packet))
			survey_packet(reader, &packet, begin,
				      &reader->block_times.items[reader->block_times.count - 1]);
	}
	for (size_t i = reader->block_times.count; i-- > 0;) {
		if (i + 1 < reader->block_times.count)
			reader->block_times.items[i] = MIN(reader->block_times.items[i],
							   reader->block_times.items[i + 1]);
		reader->first = MIN(reader->first, reader->block_times.items[i]);
	}
	if (reader->index.count > 1)
		qsort(reader->index.items, reader->index.count, sizeof(*reader->index.items),
		      compare_indexed);
	return offset;
}

// ---- the second walk ----

static int take_stats(struct perfetto_reader *reader, struct cursor stats) {
	struct wire_field field, nested;
	uint64_t phase = 0, lost = 0;
	while (wire_each(&stats, &field)) {
		if (field.number == STATS_PHASE)
			phase = field.value;
		while (field.number == STATS_CPU && wire_each(&field.bytes, &nested))
			if (nested.number == CPU_STATS_OVERRUN || nested.number == CPU_STATS_DROPPED)
				lost += nested.value;
	}
	if (reader->ours || phase != PHASE_END || !lost)
		return 0;
	struct event event = {.kind = EVENT_LOST,
			      .time = MAX(reader->end, reader->start),
			      .cpu = CPU_NONE,
			      .lost = {.count = lost, .source = SOURCE_TRACE}};
	return reader_push(reader, &event);
}

static int take_clocks(struct perfetto_reader *reader, struct packet *packet) {
	struct event event;
	sequence_clocks(reader, packet, &event);
	return event.time && event.clock.wall && reader->clocks++ ? reader_push(reader, &event)
								  : 0; // the first has been pushed
}

// Packets without anything that becomes an event.
static bool is_known_silence(uint32_t field) {
	static const uint8_t fields[] = {9, 33, 35, 36, 67, 69, 72, 78, 82, 89, 124};
	return memchr(fields, (int)field, sizeof(fields)) && field < 256;
}

static int take_unknown(struct perfetto_reader *reader, uint32_t field) {
	if (field == PACKET_COMPRESSED || field == PACKET_COMPRESSED_ZSTD) {
		reader->compressed++; // nested in another compressed packet
	} else if (field && !is_known_silence(field)) {
		reader->unknown_packets++;
		++*map_put(&reader->unknown, field);
	}
	return 0;
}

static int take_data(struct perfetto_reader *reader, struct packet *packet) {
	// An exec follows its process tree immediately: if anything else comes, the tree was not an
	// exec.
	int error = packet->data_field == PACKET_TRACK_EVENT || packet->data_field == PACKET_TRACK_DESCRIPTOR
			    ? 0
			    : own_pending(reader);
	if (error)
		return error;
	switch (packet->data_field) {
	case PACKET_FTRACE_EVENTS:
		return ftrace_take(reader, packet);
	case PACKET_PROCESS_TREE:
		return own_process_tree(reader, packet);
	case PACKET_CLOCK_SNAPSHOT:
		return take_clocks(reader, packet);
	case PACKET_TRACK_EVENT:
		error = tracks_take(reader, packet);
		return error ? error : own_pending(reader);
	case PACKET_PERF_SAMPLE:
		return tracks_sample(reader, packet);
	case PACKET_FTRACE_STATS:
		return take_stats(reader, packet->data);
	case PACKET_SYSTEM_INFO:
	case PACKET_TRACE_ATTRIBUTES:
	case PACKET_TRACK_DESCRIPTOR:
		return 0;
	default:
		return take_unknown(reader, packet->data_field);
	}
}

static int take_indexed(struct perfetto_reader *reader, size_t offset) {
	struct packet packet;
	const uint8_t *bytes;
	size_t size;
	if (!next_packet(reader, &offset, &bytes, &size) || !packet_parse(bytes, size, &packet))
		return 0;
	// A self-contained packet needs nothing from its sequence.
	packet.time = packet.head.time;
	packet.has_time = packet.head.has_time;
	return packet.data_field == PACKET_FTRACE_EVENTS ? ftrace_take(reader, &packet)
							 : tracks_take(reader, &packet);
}

// Passes events on up to `time`: apart from waiting packets, nothing earlier is still to come.
static int release(struct perfetto_reader *reader, uint64_t time) {
	int error = 0;
	if (reader->pending.kind == EVENT_TASK)
		time = MIN(time, reader->pending.time - 1);
	while (!error && reader->next_indexed < reader->index.count &&
	       reader->index.items[reader->next_indexed].time <= time) {
		error = take_indexed(reader, reader->index.items[reader->next_indexed++].offset);
		uint64_t next = reader->next_indexed < reader->index.count
					? reader->index.items[reader->next_indexed].time
					: time;
		struct event watermark = {.kind = EVENT_WATERMARK, .cpu = CPU_NONE, .time = MIN(time, next)};
		if (!error && is_time(watermark.time))
			error = reader_push(reader, &watermark);
	}
	struct event watermark = {.kind = EVENT_WATERMARK, .cpu = CPU_NONE, .time = time};
	return error || !is_time(time) ? error : reader_push(reader, &watermark);
}

static int take_packet(struct perfetto_reader *reader, const uint8_t *bytes, size_t size) {
	struct packet packet;
	if (!packet_parse(bytes, size, &packet)) {
		reader->bad++;
		return 0;
	}
	bool usable = packet_enter(reader, &packet);
	if (packet.defaults.at)
		sequence_defaults(reader, &packet);
	if (packet.interned.at)
		sequence_interned(reader, &packet);
	if (!usable) {
		reader->without_state++;
		return 0;
	}
	return waits(reader, &packet) ? 0 : take_data(reader, &packet);
}

static int take_all(struct perfetto_reader *reader) {
	size_t offset = 0, size, count = 0;
	const uint8_t *bytes;
	int error = 0;
	while (!error && next_packet(reader, &offset, &bytes, &size)) {
		if (count % BLOCK_PACKETS == 0)
			error = release(reader, reader->block_times.items[count / BLOCK_PACKETS]);
		count++;
		if (!error)
			error = take_packet(reader, bytes, size);
		if (!reader->input->mapped)
			continue;
		reader->input->offset = offset; // for the progress display
	}
	if (!error)
		error = own_pending(reader);
	return error ? error : release(reader, UINT64_MAX);
}

// ---- the whole trace ----

// Pushes what describes the whole trace first, wherever it was in the file.
static int begin(struct perfetto_reader *reader) {
	if (!reader->has_start)
		reader->start = is_time(reader->first) ? reader->first : 0;
	struct event start = {.kind = EVENT_START, .cpu = CPU_NONE, .time = reader->start};
	int error = sink_push(reader->sink, &start);
	for (size_t i = 0; !error && i < reader->facts.count; i++) {
		struct event *fact = &reader->facts.items[i];
		fact->time = fact->kind == EVENT_META ? reader->start : fact->time;
		error = sink_push(reader->sink, fact);
	}
	return error ? error : tracks_tasks(reader);
}

static int end(struct perfetto_reader *reader) {
	int error = tracks_close(reader);
	uint64_t time = reader->end + 1;
	for (size_t i = 0; !error && i < reader->crash_stacks.count; i++) {
		reader->crash_stacks.items[i].time = time;
		error = reader_push(reader, &reader->crash_stacks.items[i]);
	}
	return error ? error : sink_finish(reader->order);
}

static void tell(const struct perfetto_reader *reader, size_t walked) {
	size_t head;
	uint64_t length;
	size_t left = reader->size - walked;
	enum frame_result result = left ? packet_frame(reader->bytes + walked, left, &head, &length)
					: FRAME_GOOD;
	bool cut = result == FRAME_GOOD || (result == FRAME_LENGTH && left < PACKET_HEAD_MOST);
	if (left && cut)
		log_warning("%s: truncated inside a packet; ignoring the last %zu bytes", reader->name, left);
	else if (left)
		log_warning("%s: not a packet at offset %zu; ignoring the rest", reader->name, walked);
	if (reader->bad)
		log_warning("%s: %" PRIu64 " event%s or packet%s could not be decoded", reader->name,
			    reader->bad, plural(reader->bad), plural(reader->bad));
	if (reader->late)
		log_warning("%s: %" PRIu64 " event%s too late to be sorted", reader->name, reader->late,
			    reader->late == 1 ? " arrives" : "s arrive");
	if (reader->without_state)
		log_warning("%s: %" PRIu64 " packet%s to data that is no longer in the trace", reader->name,
			    reader->without_state, reader->without_state == 1 ? " refers" : "s refer");
	if (reader->compressed)
		log_warning("%s: skipped %" PRIu64 " compressed packet%s", reader->name, reader->compressed,
			    plural(reader->compressed));
	if (reader->unknown_events)
		log_warning("%s: skipped %" PRIu64 " event%s of unknown kinds", reader->name,
			    reader->unknown_events, plural(reader->unknown_events));
	if (!reader->unknown_packets)
		return;
	uint64_t most = 0, field = 0;
	for (size_t i = 0; i < reader->unknown.capacity; i++) {
		const struct map_slot *slot = &reader->unknown.slots[i];
		if (slot->used && slot->value > most) {
			most = slot->value;
			field = slot->key;
		}
	}
	log_warning("%s: skipped %" PRIu64 " packet%s of unknown kinds, most (%" PRIu64
		    ") with field %" PRIu64,
		    reader->name, reader->unknown_packets, plural(reader->unknown_packets), most, field);
}

static void reader_free(struct perfetto_reader *reader) {
	sink_destroy(reader->order);
	sequences_free(reader);
	tracks_free(reader);
	array_free(&reader->mappings);
	array_free(&reader->index);
	array_free(&reader->block_times);
	array_free(&reader->facts);
	array_free(&reader->crash_stacks);
	array_free(&reader->fields);
	array_free(&reader->names);
	buffer_free(&reader->words);
	map_free(&reader->waiting);
	map_free(&reader->unknown);
	map_free(&reader->functions);
}

static int read_surveyed(struct perfetto_reader *reader, size_t walked) {
	sequences_free(reader);
	reader->latest = reader->clocks = 0;
	map_free(&reader->waiting);
	const char *scope = fact(reader, "scope");
	bool tree = scope && strcmp(scope, "tree") == 0;
	reader->order = order_new(perfetto_tasks_new(reader->tables, reader->sink, tree));
	int error = begin(reader);
	if (!error)
		error = take_all(reader);
	if (!error)
		error = end(reader);
	if (!error)
		tell(reader, walked);
	return error;
}

// Unpacks compressed input and reads the result instead, at most `depth` times.
static int read_stream(struct stream *input, const char *name, struct tables *tables, struct sink *sink,
		       unsigned depth) {
	struct perfetto_reader reader = {
		.name = name, .input = input, .tables = tables, .sink = sink, .first = UINT64_MAX};
	reader.bytes = stream_map(input, &reader.size);
	if (!reader.bytes) {
		log_error("%s: cannot be read: %s", name, strerror(-input->error));
		return input->error;
	}
	bool packed = depth && perfetto_is_gzip(reader.bytes, reader.size);
	size_t walked = packed ? 0 : survey(&reader);
	packed = packed || (depth && reader.packed);
	struct unpacked unpacked = {0};
	int error = 0;
	if (packed) {
		error = perfetto_unpack(name, reader.bytes, reader.size, &unpacked);
		if (!error)
			error = read_stream(&unpacked.stream, name, tables, sink, depth - 1);
		perfetto_unpacked_free(&unpacked);
	} else if (!walked) {
		log_error("%s: not a Perfetto trace%s", name, reader.size ? "" : " (it is empty)");
		error = -EINVAL;
	} else {
		error = read_surveyed(&reader, walked);
	}
	reader_free(&reader);
	return error;
}

static int perfetto_read(struct stream *input, const char *name, struct tables *tables, struct sink *sink) {
	enum { MOST_DEPTH = 2 }; // a file with gzip, packets with deflate
	return read_stream(input, name, tables, sink, MOST_DEPTH);
}

// Checks the first packet, as far as it is in `bytes`: known fields, canonically encoded.
static bool probe_plain(const uint8_t *bytes, size_t size) {
	static const uint8_t numbers[] = {
		PACKET_TIMESTAMP, PACKET_SEQUENCE_ID, PACKET_SEQUENCE_FLAGS, 3, 41, 42, 58, 79, 87, 98};
	size_t head, fields = 0;
	uint64_t length;
	if (size < 4 || packet_frame(bytes, size, &head, &length) != FRAME_GOOD || !length)
		return false;
	struct cursor message = cursor_of(bytes + head, (size_t)MIN(length, size - head));
	struct wire_field field;
	for (; wire_each(&message, &field); fields++) {
		bool number = memchr(numbers, (int)(field.number & 0xff), sizeof(numbers)) &&
			      field.number < 256;
		if (field.number >= 2000 || (field.wire == PROTO_BYTES) == number ||
		    (field.wire != PROTO_BYTES && field.wire != PROTO_VARINT))
			return false;
	}
	if (length > size - head)
		return true; // a long packet that extends past the buffer
	return fields && !message.failed && (head + length == size || bytes[head + length] == PACKET_TAG);
}

static bool perfetto_probe(const uint8_t *bytes, size_t size) {
	uint8_t unpacked[4096];
	size_t count = perfetto_peek(bytes, size, unpacked, sizeof(unpacked));
	return count ? probe_plain(unpacked, count) : probe_plain(bytes, size);
}

const struct reader perfetto_reader = {
	.name = "perfetto",
	.extension = "pb",
	.description = "a trace from Perfetto or tracelet",
	.probe = perfetto_probe,
	.read = perfetto_read,
};
