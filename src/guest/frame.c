#include "guest/frame.h"
#include "base/crc32c.h"
#include "base/cursor.h"

enum {
	AT_TYPE = 5,
	AT_FLAGS = 6,
	AT_STREAM = 8,
	AT_SIZE = 12,
	AT_SEQUENCE = 16,
	AT_PAYLOAD_CRC = 24,
	AT_CRC = 28
};

void frame_header(uint8_t header[FRAME_HEADER], enum frame_type type, uint16_t flags, uint32_t stream,
		  uint64_t sequence, const void *payload, uint32_t size) {
	uint32_t magic = FRAME_MAGIC, payload_crc = crc32c(0, payload, size);
	memcpy(header, &magic, 4);
	header[4] = FRAME_VERSION;
	header[AT_TYPE] = (uint8_t)type;
	memcpy(header + AT_FLAGS, &flags, 2);
	memcpy(header + AT_STREAM, &stream, 4);
	memcpy(header + AT_SIZE, &size, 4);
	memcpy(header + AT_SEQUENCE, &sequence, 8);
	memcpy(header + AT_PAYLOAD_CRC, &payload_crc, 4);
	uint32_t crc = crc32c(0, header, AT_CRC);
	memcpy(header + AT_CRC, &crc, 4);
}

void frame_append(struct buffer *out, enum frame_type type, uint32_t stream, uint64_t sequence,
		  const void *payload, uint32_t size) {
	uint8_t *header = buffer_room(out, FRAME_HEADER + size);
	frame_header(header, type, 0, stream, sequence, payload, size);
	out->size += FRAME_HEADER;
	buffer_append(out, payload, size);
}

// ---- decoding ----

uint8_t *frame_decoder_room(struct frame_decoder *decoder, size_t wanted, size_t *room) {
	size_t held = decoder->end - decoder->begin;
	if (decoder->begin && (!held || decoder->capacity - decoder->end < wanted)) {
		memmove(decoder->data, decoder->data + decoder->begin, held);
		decoder->begin = 0;
		decoder->end = held;
	}
	if (!decoder->data || decoder->capacity - decoder->end < wanted) {
		decoder->capacity = MAX(decoder->capacity * 2, held + wanted + FRAME_HEADER);
		decoder->data = memory_resize(decoder->data, decoder->capacity);
	}
	*room = decoder->capacity - decoder->end;
	return decoder->data + decoder->end;
}

void frame_decoder_added(struct frame_decoder *decoder, size_t size) {
	decoder->end += size;
}

static void skip(struct frame_decoder *decoder, size_t size) {
	decoder->begin += size;
	decoder->skipped += size;
}

// To the next place where a header may begin.
static bool find_magic(struct frame_decoder *decoder) {
	const uint32_t magic = FRAME_MAGIC;
	while (decoder->end - decoder->begin >= FRAME_HEADER) {
		const uint8_t *at = decoder->data + decoder->begin;
		size_t left = decoder->end - decoder->begin;
		const uint8_t *found = memchr(at, (int)(magic & 0xff), left);
		if (!found) {
			skip(decoder, left);
			return false;
		}
		skip(decoder, (size_t)(found - at));
		if (decoder->end - decoder->begin < FRAME_HEADER)
			return false;
		if (memcmp(found, &magic, 4) == 0)
			return true;
		skip(decoder, 1);
	}
	return false;
}

// In every version a header begins with magic and version and ends with its CRC.
static bool take_header(struct frame_decoder *decoder, const uint8_t *bytes, struct frame *frame,
			uint32_t *payload_crc) {
	struct cursor cursor = cursor_of(bytes + 4, FRAME_HEADER - 4);
	uint8_t version = cursor_u8(&cursor), type = cursor_u8(&cursor);
	*frame = (struct frame){.type = type};
	frame->flags = cursor_u16(&cursor);
	frame->stream = cursor_u32(&cursor);
	frame->size = cursor_u32(&cursor);
	frame->sequence = cursor_u64(&cursor);
	*payload_crc = cursor_u32(&cursor);
	if (cursor_u32(&cursor) != crc32c(0, bytes, AT_CRC))
		return false;
	if (version != FRAME_VERSION)
		decoder->other_version = version;
	return version == FRAME_VERSION && type > 0 && type < FRAME_TYPE_COUNT &&
	       frame->size <= FRAME_PAYLOAD_MOST;
}

bool frame_decoder_next(struct frame_decoder *decoder, struct frame *frame) {
	uint32_t payload_crc;
	while (find_magic(decoder)) {
		const uint8_t *at = decoder->data + decoder->begin;
		if (!take_header(decoder, at, frame, &payload_crc)) {
			skip(decoder, 1);
			continue;
		}
		if (decoder->end - decoder->begin - FRAME_HEADER < frame->size)
			return false;
		frame->payload = at + FRAME_HEADER;
		if (crc32c(0, frame->payload, frame->size) == payload_crc) {
			decoder->begin += FRAME_HEADER + frame->size;
			return true;
		}
		// Behind a cut frame another one may begin inside what would be its payload. Who sends many
		// such ones wants us to be busy: each costs a checksum.
		bool enough = ++decoder->damaged > FRAME_DAMAGED_MOST;
		skip(decoder, enough ? FRAME_HEADER + frame->size : 1);
	}
	return false;
}

void frame_decoder_forget(struct frame_decoder *decoder) {
	decoder->begin = decoder->end = 0;
}

void frame_decoder_free(struct frame_decoder *decoder) {
	free(decoder->data);
	*decoder = (struct frame_decoder){0};
}
