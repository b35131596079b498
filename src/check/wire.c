// Walks messages for `tracelet check`. Every message that has a rule is walked to its end; a fault ends only
// the message it is in, because the length of the enclosing message is still valid.
#include "check/wire.h"
#include "check/check.h"

// Deeper than any real trace (nested debug annotations go deepest).
enum { DEPTH_LIMIT = 64 };

static bool report(struct check *check, const uint8_t *at, enum wire_result result, uint64_t detail) {
	static const enum defect defects[] = {[WIRE_OVERRUN] = DEFECT_OVERRUN,
					      [WIRE_VARINT] = DEFECT_VARINT,
					      [WIRE_NUMBER] = DEFECT_FIELD_NUMBER,
					      [WIRE_TYPE] = DEFECT_WIRE_TYPE};
	if (result > WIRE_END)
		check_defect(check, at, defects[result], detail);
	return result == WIRE_FIELD;
}

bool wire_next_slow(struct check *check, struct cursor *message, struct wire_field *field) {
	const uint8_t *at = message->at;
	uint64_t detail;
	enum wire_result result = wire_take(message, field, &detail);
	return result == WIRE_FIELD || report(check, at, result, result == WIRE_END ? 0 : detail);
}

// ---- packed lists ----

bool wire_next_packed(struct check *check, struct cursor *packed, uint64_t *value) {
	const uint8_t *at = packed->at;
	if (at == packed->end)
		return false;
	enum wire_result result = wire_varint(packed, value);
	if (result == WIRE_FIELD)
		return true;
	packed->at = packed->end;
	packed->failed = true;
	return report(check, at, result, 0);
}

// A varint ends at each byte below 0x80: this counts them eight bytes at a time. If one has nine or more
// continuation bytes, the slow path checks whether it is too long.
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
	// Back to the beginning of the unfinished varint.
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
	// In a list every id must be valid; elsewhere 0 means not set.
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
