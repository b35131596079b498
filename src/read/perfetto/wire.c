#include "read/perfetto/wire.h"
#include "format/perfetto_fields.h"

// Perfetto's writers reserve four bytes for a length: the largest value that fits.
enum { PACKET_LIMIT = 1 << 28 };

static enum wire_result fault(struct cursor *message, enum wire_result result) {
	message->at = message->end;
	message->failed = true;
	return result;
}

enum wire_result wire_take(struct cursor *message, struct wire_field *field, uint64_t *detail) {
	const uint8_t *at = message->at;
	if (at == message->end)
		return WIRE_END;
	uint64_t tag = 0;
	*detail = 0;
	enum wire_result result = wire_varint(message, &tag);
	if (result != WIRE_FIELD)
		return fault(message, result);
	uint64_t number = *detail = tag >> 3;
	unsigned wire = tag & 7;
	if (number == 0 || number > (1u << 29) - 1)
		return fault(message, WIRE_NUMBER);
	*field = (struct wire_field){.number = (uint32_t)number, .wire = wire, .at = at};
	if (wire == PROTO_VARINT || wire == PROTO_BYTES) {
		result = wire_varint(message, &field->value);
		if (result != WIRE_FIELD)
			return fault(message, result);
		if (wire == PROTO_BYTES) {
			if (field->value > cursor_left(message))
				return fault(message, WIRE_OVERRUN);
			field->bytes = cursor_slice(message, (size_t)field->value);
		}
	} else if (wire == PROTO_FIXED64 || wire == PROTO_FIXED32) {
		field->value = wire == PROTO_FIXED64 ? cursor_u64(message) : cursor_u32(message);
		if (message->failed)
			return fault(message, WIRE_OVERRUN);
	} else {
		*detail = wire;
		return fault(message, WIRE_TYPE);
	}
	return WIRE_FIELD;
}

// ---- packets ----

enum frame_result packet_frame(const uint8_t *at, size_t available, size_t *head, uint64_t *length) {
	if (*at != PACKET_TAG)
		return FRAME_TAG;
	struct cursor cursor = cursor_of(at + 1, MIN(available, PACKET_HEAD_MOST) - 1);
	*length = cursor_varint(&cursor);
	if (cursor.failed)
		return FRAME_LENGTH;
	*head = (size_t)(cursor.at - at);
	return *length > PACKET_LIMIT ? FRAME_SIZE : FRAME_GOOD;
}

void packet_header_take(struct packet_header *header, const struct wire_field *field) {
	switch (field->number) {
	case PACKET_TIMESTAMP:
		header->time = field->value;
		header->has_time = true;
		break;
	case PACKET_SEQUENCE_ID:
		header->sequence_id = (uint32_t)field->value;
		break;
	case PACKET_SEQUENCE_FLAGS:
		header->flags = (uint32_t)field->value;
		break;
	case PACKET_CLEARED:
		header->cleared = field->value;
		break;
	case PACKET_DROPPED:
		header->dropped = field->value;
		break;
	case PACKET_CLOCK:
		header->clock = (uint32_t)field->value;
		break;
	case PACKET_MACHINE:
		header->machine = (uint32_t)field->value;
		break;
	}
}
