// Checks protobuf's wire format: fields one by one, faults reported at their offset, and rules that say what
// a known field must look like and which interned table it refers to.
#pragma once

#include "read/perfetto/wire.h"

struct check;

// How a known field is written. Unknown fields may be anything.
enum shape {
	SHAPE_ANY,
	SHAPE_UINT,   // a varint
	SHAPE_UINTS,  // varints, one by one: Perfetto rejects these packed
	SHAPE_PACKED, // varints, packed: Perfetto rejects these one by one
	SHAPE_FIXED,  // fixed64 or double, also one by one
	SHAPE_BYTES,  // a string
	SHAPE_MESSAGE,
};

struct message_rule;

struct field_rule {
	enum shape shape;
	uint8_t table; // its value is an id in this table (an InternedData field number); 0 if not an id
	const struct message_rule *message;
};

// The rules of one message, indexed by field number.
struct message_rule {
	const struct field_rule *fields;
	uint32_t count;
};

// The next field; false at the end, or after a fault, which is reported.
bool wire_next_slow(struct check *check, struct cursor *message, struct wire_field *field);

static inline bool wire_next(struct check *check, struct cursor *message, struct wire_field *field) {
	return wire_quick(message, field) || wire_next_slow(check, message, field);
}

// Checks a field and everything nested in it by its rule.
void wire_check_field(struct check *check, const struct message_rule *rule, const struct wire_field *field,
		      unsigned depth);

// The same for a whole message; false if a fault was found.
bool wire_check_message(struct check *check, const struct message_rule *rule, struct cursor message,
			unsigned depth);

// The next packed varint; false at the end, or after a fault, which is reported.
bool wire_next_packed(struct check *check, struct cursor *packed, uint64_t *value);

// The number of packed varints, without their values.
uint64_t wire_count_packed(struct check *check, struct cursor packed);
