// Protobuf's wire format and the framing of Perfetto packets. Shared by `check`,
// which reports every fault, and the reader, which takes what is valid.
#pragma once

#include "base/buffer.h"
#include "base/cursor.h"

// ---- fields ----

struct wire_field {
	uint32_t number;
	enum proto_wire wire;
	uint64_t value;      // for varint and fixed fields
	struct cursor bytes; // for PROTO_BYTES fields
	const uint8_t *at;   // its tag
};

enum wire_result { WIRE_FIELD, WIRE_END, WIRE_OVERRUN, WIRE_VARINT, WIRE_NUMBER, WIRE_TYPE };

// Takes the next field. A fault ends the message and marks it `failed`; `detail` is then the field
// number or wire type at fault.
enum wire_result wire_take(struct cursor *message, struct wire_field *field, uint64_t *detail);

// Fast path: nearly all tags and most values and lengths are one byte. After false, call
// wire_take().
static inline bool wire_quick(struct cursor *message, struct wire_field *field) {
	const uint8_t *at = message->at;
	size_t left = cursor_left(message);
	if (left < 2 || ((at[0] | at[1]) & 0x80) || at[0] < 8)
		return false;
	size_t nested = (at[0] & 7) == PROTO_BYTES ? at[1] : 0;
	if ((at[0] & 5) || nested > left - 2)
		return false;
	field->number = at[0] >> 3;
	field->wire = at[0] & 7;
	field->value = at[1];
	field->bytes.at = at + 2;
	field->bytes.end = at + 2 + nested;
	field->bytes.failed = false;
	field->at = at;
	message->at += 2 + nested;
	return true;
}

// Takes the next field. False at the end, or after a fault, which marks the message `failed`.
static inline bool wire_each(struct cursor *message, struct wire_field *field) {
	uint64_t detail;
	return wire_quick(message, field) || wire_take(message, field, &detail) == WIRE_FIELD;
}

// Takes a varint; returns WIRE_FIELD on success. On a fault the cursor does not move.
// (cursor_varint() takes any ten bytes; here the tenth may only hold the top bit.)
static inline enum wire_result wire_varint(struct cursor *cursor, uint64_t *value) {
	const uint8_t *at = cursor->at;
	uint64_t sum = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		if (at == cursor->end)
			return WIRE_OVERRUN;
		uint8_t byte = *at++;
		if (shift == 63 && byte > 1)
			break;
		sum |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			cursor->at = at;
			*value = sum;
			return WIRE_FIELD;
		}
	}
	return WIRE_VARINT;
}

// ---- packets ----

enum { PACKET_TAG = 0x0a, PACKET_HEAD_MOST = 11 }; // a tag and the longest varint

enum frame_result { FRAME_GOOD, FRAME_TAG, FRAME_LENGTH, FRAME_SIZE };

// Parses the frame of a packet at `at`: the size of its head and the length of the packet after it.
// Reads at most PACKET_HEAD_MOST of the `available` bytes.
enum frame_result packet_frame(const uint8_t *at, size_t available, size_t *head, uint64_t *length);

// A packet's header fields.
struct packet_header {
	uint32_t sequence_id, machine, flags, clock;
	uint64_t time;
	bool cleared, dropped, has_time;
};

void packet_header_take(struct packet_header *header, const struct wire_field *field);
