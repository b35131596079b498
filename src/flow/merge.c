// Merges the packets of all inputs by time, as far as their times are known, with one packet of
// each input in memory. A guest's trace is read twice, because the facts about its clock are at its
// end.
#include "flow/merge.h"
#include "base/file.h"
#include "base/log.h"
#include "base/stream.h"
#include "format/perfetto_fields.h"
#include "read/perfetto/wire.h"

#include <errno.h>

enum { MACHINES_MOST = 64 };

struct merge_input {
	const char *path;
	struct stream stream;
	struct merge_machine machine; // id 0 is the host
	struct buffer packet;         // the next packet, as it will be written
	uint64_t time;                // time of that packet, or of the last one with a time
	uint64_t wall;                // wall clock minus CLOCK_BOOTTIME
	bool over;
};

// ---- reading ----

// Returns 1 for the next packet (in the stream's memory), 0 at the end, or -EINVAL, which is
// logged.
static int next_packet(struct merge_input *input, struct cursor *packet, size_t *whole) {
	stream_need(&input->stream, PACKET_HEAD_MOST);
	size_t available = stream_available(&input->stream), head;
	uint64_t length;
	if (!available && !input->stream.error)
		return 0;
	const uint8_t *at = input->stream.data + input->stream.begin;
	enum frame_result frame = available ? packet_frame(at, available, &head, &length) : FRAME_LENGTH;
	const uint8_t *bytes = frame == FRAME_GOOD ? stream_need(&input->stream, head + (size_t)length)
						   : NULL;
	if (!bytes) {
		log_error("%s: not a complete Perfetto trace: byte %llu ('tracelet check' shows details)",
			  input->path, (unsigned long long)input->stream.offset);
		return -EINVAL;
	}
	*whole = head + (size_t)length;
	*packet = cursor_of(bytes + head, (size_t)length);
	return 1;
}

static void take_wall_time(struct merge_input *input, struct cursor snapshot) {
	struct wire_field field, inner;
	uint64_t times[CLOCK_ID_BOOTTIME + 1] = {0};
	while (wire_each(&snapshot, &field)) {
		uint64_t id = 0, time = 0;
		while (field.number == SNAPSHOT_CLOCKS && wire_each(&field.bytes, &inner)) {
			id = inner.number == CLOCK_ID ? inner.value : id;
			time = inner.number == CLOCK_TIMESTAMP ? inner.value : time;
		}
		if (id < ARRAY_SIZE(times))
			times[id] = time;
	}
	if (!input->wall && times[CLOCK_ID_REALTIME] && times[CLOCK_ID_BOOTTIME])
		input->wall = times[CLOCK_ID_REALTIME] - times[CLOCK_ID_BOOTTIME];
}

static bool take_attribute(struct merge_input *input, struct cursor attribute) {
	struct wire_field field;
	struct cursor value = {0};
	bool clock = false;
	while (wire_each(&attribute, &field)) {
		clock |= field.number == ATTRIBUTE_KEY && field.wire == PROTO_BYTES &&
			 cursor_left(&field.bytes) == strlen(GUEST_CLOCK_KEY) &&
			 memcmp(field.bytes.at, GUEST_CLOCK_KEY, strlen(GUEST_CLOCK_KEY)) == 0;
		if (field.number == ATTRIBUTE_STRING && field.wire == PROTO_BYTES)
			value = field.bytes;
	}
	CLEANUP_FREE char *text = memory_format("%.*s", (int)cursor_left(&value), (const char *)value.at);
	if (!clock || guest_clock_parse(text, &input->machine.clock))
		return true;
	log_error("%s: its clock data are invalid", input->path);
	return false;
}

static bool take_facts(struct merge_input *input, struct cursor packet) {
	struct wire_field field, inner;
	bool good = true;
	while (good && wire_each(&packet, &field)) {
		if (field.number == PACKET_CLOCK_SNAPSHOT && field.wire == PROTO_BYTES)
			take_wall_time(input, field.bytes);
		if (field.number == PACKET_TRACE_ATTRIBUTES && field.wire == PROTO_BYTES)
			while (good && wire_each(&field.bytes, &inner))
				good = inner.number != ATTRIBUTES_ATTRIBUTE || inner.wire != PROTO_BYTES ||
				       take_attribute(input, inner.bytes);
	}
	return good;
}

// Reads the input once for its clocks, then rewinds it.
static int open_input(struct merge_input *input) {
	struct cursor packet;
	size_t whole;
	int got, error = stream_open(&input->stream, input->path);
	if (error) {
		log_error("%s: cannot be read: %s", input->path, strerror(-error));
		input->stream = (struct stream){.fd = -1};
		return error;
	}
	while ((got = next_packet(input, &packet, &whole)) > 0) {
		if (!take_facts(input, packet))
			return -EINVAL;
		stream_consume(&input->stream, whole);
	}
	if (got < 0)
		return got;
	if (!input->stream.offset) {
		log_error("%s: the file is empty", input->path);
		return -EINVAL;
	}
	if (!input->stream.total) {
		log_error("%s: not a regular file; merging reads its input twice", input->path);
		return -ESPIPE;
	}
	stream_close(&input->stream);
	return stream_open(&input->stream, input->path);
}

// ---- writing ----

static int say_why(const struct merge_input *input, int error) {
	log_error("%s: %s", input->path,
		  error == -EEXIST    ? "already a trace of several machines"
		  : error == -ENOTSUP ? "has compressed packets; 'tracelet convert' can decompress it"
				      : "a packet is malformed ('tracelet check' shows details)");
	return error;
}

static int copy_packet(struct merge_input *input, struct cursor packet) {
	const uint8_t *begin = packet.at;
	struct wire_field field;
	struct packet_header head = {0};
	while (wire_each(&packet, &field))
		packet_header_take(&head, &field);
	if (packet.failed)
		return -EINVAL;
	if (head.machine)
		return -EEXIST;
	if (head.has_time && (!head.clock || head.clock == CLOCK_ID_BOOTTIME))
		input->time = head.time;
	proto_bytes(&input->packet, TRACE_PACKET, begin, (size_t)(packet.end - begin));
	return 0;
}

// Prepares the input's next packet, or marks the input as ended.
static int advance(struct merge_input *input) {
	struct cursor packet;
	size_t whole;
	int got = next_packet(input, &packet, &whole);
	input->packet.size = 0;
	input->over = got <= 0;
	if (got <= 0)
		return got;
	int error = input->machine.id ? merge_packet(&input->machine, packet, &input->packet, &input->time)
				      : copy_packet(input, packet);
	if (error)
		return say_why(input, error);
	stream_consume(&input->stream, whole);
	return 0;
}

static int write_all(struct merge_input *inputs, size_t count, struct output *output) {
	int error = 0;
	for (size_t i = 0; i < count && !error; i++)
		error = advance(&inputs[i]);
	while (!error) {
		struct merge_input *next = NULL;
		for (size_t i = 0; i < count; i++)
			if (!inputs[i].over && (!next || inputs[i].time < next->time))
				next = &inputs[i];
		if (!next)
			break;
		if (output_write(output, next->packet.data, next->packet.size))
			break; // the output keeps its error
		error = advance(next);
	}
	return error;
}

// If the guest's trace does not know the host's clock, compare the two wall clocks.
static int settle_clock(const struct merge_input *host, struct merge_input *guest,
			struct merge_result *result) {
	struct guest_clock *clock = &guest->machine.clock;
	if (!clock->first.guest_ns) {
		if (!host->wall || !guest->wall) {
			log_error("%s: has neither its host's clock nor its wall clock", guest->path);
			return -EINVAL;
		}
		clock->first = (struct clock_offset){.offset_ns = (int64_t)(guest->wall - host->wall),
						     .guest_ns = 1};
		result->by_wall_clock = true;
	}
	result->bound = MAX(result->bound, guest_clock_bound(clock));
	return 0;
}

static int merge_into(struct merge_input *inputs, size_t count, const char *path,
		      struct merge_result *result) {
	struct output output;
	int error = 0;
	for (size_t i = 0; i < count && !error; i++)
		error = open_input(&inputs[i]);
	for (size_t i = 1; i < count && !error; i++)
		error = settle_clock(&inputs[0], &inputs[i], result);
	if (error)
		return error;
	if ((error = output_open(&output, path, OUTPUT_REPLACE))) {
		log_error("%s: cannot be written: %s", path, strerror(-error));
		return error;
	}
	error = write_all(inputs, count, &output);
	result->size = output.written + output.pending.size;
	int written = error ? 0 : output_commit(&output);
	if (error || written)
		output_abandon(&output);
	if (written)
		log_error("%s: cannot be written: %s", path, strerror(-written));
	return error ? error : written;
}

int merge(const char *const *inputs, size_t count, const char *output, struct merge_result *result) {
	*result = (struct merge_result){.guests = count - 1};
	if (count < 2 || count > MACHINES_MOST) {
		log_error("--merge needs a host's trace and those of 1 to %d guests", MACHINES_MOST - 1);
		return -EINVAL;
	}
	struct merge_input *list = memory_alloc(count * sizeof(*list));
	for (size_t i = 0; i < count; i++)
		list[i] = (struct merge_input){
			.path = inputs[i], .stream = {.fd = -1}, .machine.id = (uint32_t)i};
	int error = merge_into(list, count, output, result);
	for (size_t i = 0; i < count; i++) {
		stream_close(&list[i].stream);
		buffer_free(&list[i].packet);
		map_free(&list[i].machine.default_clocks);
	}
	free(list);
	return error;
}
