// Turns a packet of a guest's trace into one of the host's trace: it gets the machine's number, its
// own sequences and tracks, and the host's time in place of every time on the guest's
// CLOCK_BOOTTIME. Times on other clocks are converted through the guest's clock snapshots, whose
// CLOCK_BOOTTIME becomes the host's. Unknown fields are copied.
#include "base/cursor.h"
#include "flow/merge.h"
#include "format/perfetto_fields.h"
#include "read/perfetto/wire.h"

#include <errno.h>

enum { SEQUENCE_SHIFT = 20, TRACK_SHIFT = 48 };
enum { CLOCK_UNKNOWN = 0, BUNDLE_CLOCK_DEFAULT = 0 };

// ---- fields ----

static void copy_field(struct buffer *out, const struct wire_field *field, const struct cursor *message) {
	buffer_append(out, field->at, (size_t)(message->at - field->at));
}

typedef void rewrite_function(struct merge_machine *machine, const struct wire_field *field,
			      const struct cursor *message, struct buffer *out);

// Rewrites a message field by field.
static void rewrite_message(struct merge_machine *machine, const struct wire_field *field,
			    rewrite_function *rewrite, struct buffer *out) {
	struct cursor message = field->bytes;
	struct wire_field inner;
	size_t mark = proto_begin(out, field->number);
	while (wire_each(&message, &inner))
		rewrite(machine, &inner, &message, out);
	proto_end(out, mark);
}

static uint64_t host_time(const struct merge_machine *machine, uint64_t time) {
	return guest_clock_to_host(&machine->clock, time);
}

static uint64_t own_track(const struct merge_machine *machine, uint64_t uuid) {
	return uuid ? uuid ^ (uint64_t)machine->id << TRACK_SHIFT : 0; // 0 means no track
}

// ---- the kernel's events ----

static void rewrite_ftrace_event(struct merge_machine *machine, const struct wire_field *field,
				 const struct cursor *message, struct buffer *out) {
	if (field->number == FTRACE_TIMESTAMP && field->wire == PROTO_VARINT)
		proto_uint(out, FTRACE_TIMESTAMP, host_time(machine, field->value));
	else
		copy_field(out, field, message);
}

// The first time of a list is absolute, the others are differences.
static void rewrite_compact(struct merge_machine *machine, const struct wire_field *field,
			    const struct cursor *message, struct buffer *out) {
	bool times = field->number == COMPACT_SWITCH_TIMESTAMP || field->number == COMPACT_WAKING_TIMESTAMP;
	if (!times || field->wire != PROTO_BYTES) {
		copy_field(out, field, message);
		return;
	}
	struct cursor values = field->bytes;
	uint64_t value, time = 0, written = 0;
	size_t mark = proto_begin(out, field->number);
	while (cursor_left(&values) && wire_varint(&values, &value) == WIRE_FIELD) {
		time += value;
		uint64_t now = host_time(machine, time);
		buffer_varint(out, now - written);
		written = now;
	}
	proto_end(out, mark);
}

static void rewrite_bundle(struct merge_machine *machine, const struct wire_field *field,
			   const struct cursor *message, struct buffer *out) {
	if (field->number == BUNDLE_EVENT && field->wire == PROTO_BYTES)
		rewrite_message(machine, field, rewrite_ftrace_event, out);
	else if (field->number == BUNDLE_COMPACT_SCHED && field->wire == PROTO_BYTES)
		rewrite_message(machine, field, rewrite_compact, out);
	else
		copy_field(out, field, message);
}

// A bundle on another clock contains a reading of that clock and of CLOCK_BOOTTIME.
static void rewrite_bundle_of_other_clock(struct merge_machine *machine, const struct wire_field *field,
					  const struct cursor *message, struct buffer *out) {
	if (field->number == BUNDLE_BOOT_TIME && field->wire == PROTO_VARINT)
		proto_uint(out, BUNDLE_BOOT_TIME, host_time(machine, field->value));
	else
		copy_field(out, field, message);
}

static bool has_other_clock(struct cursor bundle) {
	struct wire_field field;
	while (wire_each(&bundle, &field))
		if (field.number == BUNDLE_CLOCK && field.value != BUNDLE_CLOCK_DEFAULT)
			return true;
	return false;
}

// ---- clocks and processes ----

static void rewrite_snapshot(struct merge_machine *machine, const struct wire_field *field,
			     const struct cursor *message, struct buffer *out) {
	struct cursor clock = field->bytes;
	struct wire_field inner;
	uint64_t id = 0, time = 0;
	bool plain = true;
	while (field->number == SNAPSHOT_CLOCKS && wire_each(&clock, &inner)) {
		id = inner.number == CLOCK_ID ? inner.value : id;
		time = inner.number == CLOCK_TIMESTAMP ? inner.value : time;
		plain &= inner.number == CLOCK_ID || inner.number == CLOCK_TIMESTAMP;
	}
	if (id != CLOCK_ID_BOOTTIME || !plain) {
		copy_field(out, field, message);
		return;
	}
	size_t mark = proto_begin(out, SNAPSHOT_CLOCKS);
	proto_uint(out, CLOCK_ID, id);
	proto_uint(out, CLOCK_TIMESTAMP, host_time(machine, time));
	proto_end(out, mark);
}

static void rewrite_process(struct merge_machine *machine, const struct wire_field *field,
			    const struct cursor *message, struct buffer *out) {
	if (field->number == PROCESS_START && field->wire == PROTO_VARINT)
		proto_uint(out, PROCESS_START, host_time(machine, field->value));
	else
		copy_field(out, field, message);
}

static void rewrite_tree(struct merge_machine *machine, const struct wire_field *field,
			 const struct cursor *message, struct buffer *out) {
	if (field->number == TREE_PROCESSES && field->wire == PROTO_BYTES)
		rewrite_message(machine, field, rewrite_process, out);
	else if (field->number == TREE_COLLECTION_END && field->wire == PROTO_VARINT)
		proto_uint(out, TREE_COLLECTION_END, host_time(machine, field->value));
	else
		copy_field(out, field, message);
}

// ---- tracks ----

static void rewrite_descriptor(struct merge_machine *machine, const struct wire_field *field,
			       const struct cursor *message, struct buffer *out) {
	if ((field->number == TRACK_UUID || field->number == TRACK_PARENT) && field->wire == PROTO_VARINT)
		proto_uint(out, field->number, own_track(machine, field->value));
	else
		copy_field(out, field, message);
}

static void rewrite_track_event(struct merge_machine *machine, const struct wire_field *field,
				const struct cursor *message, struct buffer *out) {
	bool track = field->number == TRACK_EVENT_TRACK || field->number == TRACK_EVENT_EXTRA_TRACKS ||
		     field->number == TRACK_EVENT_EXTRA_DOUBLE_TRACKS;
	if (track && field->wire == PROTO_VARINT)
		proto_uint(out, field->number, own_track(machine, field->value));
	else
		copy_field(out, field, message);
}

static void rewrite_defaults(struct merge_machine *machine, const struct wire_field *field,
			     const struct cursor *message, struct buffer *out) {
	if (field->number == DEFAULTS_TRACK_EVENT && field->wire == PROTO_BYTES)
		rewrite_message(machine, field, rewrite_track_event, out);
	else
		copy_field(out, field, message);
}

// ---- packets ----

static const struct {
	uint32_t number;
	rewrite_function *rewrite;
} messages[] = {
	{PACKET_FTRACE_EVENTS, rewrite_bundle},    {PACKET_PROCESS_TREE, rewrite_tree},
	{PACKET_CLOCK_SNAPSHOT, rewrite_snapshot}, {PACKET_TRACK_DESCRIPTOR, rewrite_descriptor},
	{PACKET_TRACK_EVENT, rewrite_track_event}, {PACKET_DEFAULTS, rewrite_defaults},
};

static rewrite_function *rewrite_of(const struct wire_field *field) {
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++)
		if (messages[i].number == field->number && field->wire == PROTO_BYTES)
			return field->number == PACKET_FTRACE_EVENTS && has_other_clock(field->bytes)
				       ? rewrite_bundle_of_other_clock
				       : messages[i].rewrite;
	return NULL;
}

// The clock of a packet's time: its own, or its sequence's default.
static uint32_t packet_clock(struct merge_machine *machine, struct cursor packet,
			     const struct packet_header *head) {
	struct wire_field field, inner;
	while (wire_each(&packet, &field))
		if (field.number == PACKET_DEFAULTS && field.wire == PROTO_BYTES)
			while (wire_each(&field.bytes, &inner))
				if (inner.number == PACKET_CLOCK)
					*map_put(&machine->default_clocks, head->sequence_id) = inner.value;
	const uint64_t *usual = map_get(&machine->default_clocks, head->sequence_id);
	uint32_t clock = head->clock ? head->clock : usual ? (uint32_t)*usual : CLOCK_UNKNOWN;
	return clock ? clock : CLOCK_ID_BOOTTIME;
}

// Reads the packet's header; an error if the packet cannot become part of another trace.
static int look_at(struct cursor packet, struct packet_header *head) {
	struct wire_field field;
	while (wire_each(&packet, &field)) {
		packet_header_take(head, &field);
		if (field.number == PACKET_COMPRESSED || field.number == PACKET_COMPRESSED_ZSTD)
			return -ENOTSUP;
	}
	return packet.failed ? -EINVAL : head->machine ? -EEXIST : 0;
}

int merge_packet(struct merge_machine *machine, struct cursor packet, struct buffer *out, uint64_t *time) {
	struct packet_header head = {0};
	int error = look_at(packet, &head);
	if (error)
		return error;
	bool boot_time = packet_clock(machine, packet, &head) == CLOCK_ID_BOOTTIME;
	struct wire_field field;
	size_t mark = proto_begin(out, TRACE_PACKET);
	while (wire_each(&packet, &field)) {
		rewrite_function *rewrite = rewrite_of(&field);
		if (rewrite)
			rewrite_message(machine, &field, rewrite, out);
		else if (field.number == PACKET_TIMESTAMP && boot_time)
			proto_uint(out, PACKET_TIMESTAMP, *time = host_time(machine, field.value));
		else if (field.number == PACKET_SEQUENCE_ID)
			proto_uint(out, PACKET_SEQUENCE_ID, field.value ^ machine->id << SEQUENCE_SHIFT);
		else if (field.number != PACKET_MACHINE)
			copy_field(out, &field, &packet);
	}
	proto_uint(out, PACKET_MACHINE, machine->id);
	proto_end(out, mark);
	return 0;
}
