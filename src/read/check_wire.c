// The walker below `tracelet check`. Every message that has a rule is walked
// to its end; a fault ends the message it is in and nothing more, because the
// length of the message around it still holds.
#include "read/check_wire.h"
#include "read/check.h"

// Deeper than anything that is written (nested debug annotations go furthest).
enum { DEPTH_LIMIT = 64 };

static bool fault(struct check *check, struct cursor *message, const uint8_t *at, enum defect defect,
		  uint64_t value) {
	check_defect(check, at, defect, value);
	message->at = message->end;
	message->failed = true;
	return false;
}

// cursor_varint() takes any ten bytes; the tenth may only hold the top bit.
static inline bool take_varint(struct cursor *cursor, uint64_t *value, bool *overlong) {
	const uint8_t *at = cursor->at;
	uint64_t sum = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		if (at == cursor->end)
			return false;
		uint8_t byte = *at++;
		if (shift == 63 && byte > 1)
			break;
		sum |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			cursor->at = at;
			*value = sum;
			return true;
		}
	}
	*overlong = true;
	return false;
}

bool wire_next_slow(struct check *check, struct cursor *message, struct wire_field *field) {
	const uint8_t *at = message->at;
	if (at == message->end)
		return false;
	uint64_t tag = 0, value = 0;
	bool overlong = false;
	if (!take_varint(message, &tag, &overlong))
		return fault(check, message, at, overlong ? DEFECT_VARINT : DEFECT_OVERRUN, 0);
	uint64_t number = tag >> 3;
	unsigned wire = tag & 7;
	if (number == 0 || number > (1u << 29) - 1)
		return fault(check, message, at, DEFECT_FIELD_NUMBER, number);
	*field = (struct wire_field){.number = (uint32_t)number, .wire = wire, .at = at};
	if (wire == PROTO_VARINT || wire == PROTO_BYTES) {
		if (!take_varint(message, &value, &overlong))
			return fault(check, message, at, overlong ? DEFECT_VARINT : DEFECT_OVERRUN, number);
		field->value = value;
		if (wire == PROTO_BYTES) {
			if (value > cursor_left(message))
				return fault(check, message, at, DEFECT_OVERRUN, number);
			field->bytes = cursor_slice(message, (size_t)value);
		}
	} else if (wire == PROTO_FIXED64 || wire == PROTO_FIXED32) {
		field->value = wire == PROTO_FIXED64 ? cursor_u64(message) : cursor_u32(message);
		if (message->failed)
			return fault(check, message, at, DEFECT_OVERRUN, number);
	} else {
		return fault(check, message, at, DEFECT_WIRE_TYPE, wire);
	}
	return true;
}

// ---- packed lists ----

bool wire_next_packed(struct check *check, struct cursor *packed, uint64_t *value) {
	const uint8_t *at = packed->at;
	if (at == packed->end)
		return false;
	bool overlong = false;
	if (!take_varint(packed, value, &overlong))
		return fault(check, packed, at, overlong ? DEFECT_VARINT : DEFECT_OVERRUN, 0);
	return true;
}

// A varint ends at each byte below 0x80: eight bytes are counted at a time.
// Where one has nine continuation bytes or more, the slow way looks whether it
// is too long.
uint64_t wire_count_packed(struct check *check, struct cursor packed) {
	const uint64_t high_bits = 0x8080808080808080u;
	uint64_t count = 0, value;
	unsigned under_way = 0; // continuation bytes at the end of the words so far
	const uint8_t *at = packed.at;
	for (; packed.end - at >= 8; at += 8) {
		uint64_t word;
		memcpy(&word, at, 8);
		uint64_t ends = ~word & high_bits;
		if (!ends || under_way + (unsigned)__builtin_ctzll(ends) / 8 >= 9)
			break;
		count += (uint64_t)__builtin_popcountll(ends);
		under_way = (unsigned)__builtin_clzll(ends) / 8;
	}
	// Back to where the varint that is under way begins.
	packed.at = at - under_way;
	while (wire_next_packed(check, &packed, &value))
		count++;
	return count;
}

// ---- rules ----

#define WIRE(wire) (1u << PROTO_##wire)
static const uint8_t allowed_wires[] = {
	[SHAPE_ANY] = 0xff,
	[SHAPE_UINT] = WIRE(VARINT),
	[SHAPE_UINTS] = WIRE(VARINT),
	[SHAPE_PACKED] = WIRE(BYTES),
	[SHAPE_FIXED] = WIRE(FIXED64),
	[SHAPE_BYTES] = WIRE(BYTES),
	[SHAPE_MESSAGE] = WIRE(BYTES),
};
#undef WIRE

void wire_check_field(struct check *check, const struct message_rule *rule, const struct wire_field *field,
		      unsigned depth) {
	if (field->number >= rule->count)
		return;
	const struct field_rule *known = &rule->fields[field->number];
	if (!(allowed_wires[known->shape] >> field->wire & 1))
		check_defect(check, field->at, DEFECT_FIELD_TYPE, field->number);
	else if (known->shape == SHAPE_MESSAGE)
		wire_check_message(check, known->message, field->bytes, depth + 1);
	else if (known->shape == SHAPE_PACKED)
		wire_count_packed(check, field->bytes);
	// In a list every id must be one; elsewhere 0 is the same as not set.
	else if (known->table && (field->value || known->shape == SHAPE_UINTS))
		check_interned_id(check, field->at, known->table, field->value);
}

bool wire_check_message(struct check *check, const struct message_rule *rule, struct cursor message,
			unsigned depth) {
	if (depth > DEPTH_LIMIT) {
		check_defect(check, message.at, DEFECT_TOO_DEEP, DEPTH_LIMIT);
		return false;
	}
	uint64_t defects = check->result->defects;
	struct wire_field field;
	while (wire_next(check, &message, &field))
		wire_check_field(check, rule, &field, depth);
	return check->result->defects == defects;
}
