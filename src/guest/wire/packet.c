#include "guest/wire/packet.h"
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

void guest_packet_header(uint8_t header[GUEST_PACKET_HEADER], enum guest_packet_type type, uint16_t flags,
			 uint32_t stream, uint64_t sequence, const void *payload, uint32_t size) {
	uint32_t magic = GUEST_PACKET_MAGIC, payload_crc = crc32c(0, payload, size);
	memcpy(header, &magic, 4);
	header[4] = GUEST_PACKET_VERSION;
	header[AT_TYPE] = (uint8_t)type;
	memcpy(header + AT_FLAGS, &flags, 2);
	memcpy(header + AT_STREAM, &stream, 4);
	memcpy(header + AT_SIZE, &size, 4);
	memcpy(header + AT_SEQUENCE, &sequence, 8);
	memcpy(header + AT_PAYLOAD_CRC, &payload_crc, 4);
	uint32_t crc = crc32c(0, header, AT_CRC);
	memcpy(header + AT_CRC, &crc, 4);
}

void guest_packet_append(struct buffer *out, enum guest_packet_type type, uint32_t stream, uint64_t sequence,
			 const void *payload, uint32_t size) {
	uint8_t *header = buffer_room(out, GUEST_PACKET_HEADER + size);
	guest_packet_header(header, type, 0, stream, sequence, payload, size);
	out->size += GUEST_PACKET_HEADER;
	buffer_append(out, payload, size);
}

// ---- decoding ----

uint8_t *packet_decoder_room(struct packet_decoder *decoder, size_t wanted, size_t *room) {
	size_t held = decoder->end - decoder->begin;
	if (decoder->begin && (!held || decoder->capacity - decoder->end < wanted)) {
		memmove(decoder->data, decoder->data + decoder->begin, held);
		decoder->begin = 0;
		decoder->end = held;
	}
	if (!decoder->data || decoder->capacity - decoder->end < wanted) {
		decoder->capacity = MAX(decoder->capacity * 2, held + wanted + GUEST_PACKET_HEADER);
		decoder->data = memory_resize(decoder->data, decoder->capacity);
	}
	*room = decoder->capacity - decoder->end;
	return decoder->data + decoder->end;
}

void packet_decoder_added(struct packet_decoder *decoder, size_t size) {
	decoder->end += size;
}

static void skip(struct packet_decoder *decoder, size_t size) {
	size_t known = MIN(size, decoder->damaged_left);
	decoder->begin += size;
	decoder->damaged_left -= known;
	decoder->skipped += size - known;
}

// Skips to the next place where a header may begin.
static bool find_magic(struct packet_decoder *decoder) {
	const uint32_t magic = GUEST_PACKET_MAGIC;
	while (decoder->end - decoder->begin >= GUEST_PACKET_HEADER) {
		const uint8_t *at = decoder->data + decoder->begin;
		size_t left = decoder->end - decoder->begin;
		const uint8_t *found = memchr(at, (int)(magic & 0xff), left);
		if (!found) {
			skip(decoder, left);
			return false;
		}
		skip(decoder, (size_t)(found - at));
		if (decoder->end - decoder->begin < GUEST_PACKET_HEADER)
			return false;
		if (memcmp(found, &magic, 4) == 0)
			return true;
		skip(decoder, 1);
	}
	return false;
}

// In every version a header begins with magic and version and ends with its CRC.
static bool take_header(struct packet_decoder *decoder, const uint8_t *bytes, struct guest_packet *packet,
			uint32_t *payload_crc) {
	struct cursor cursor = cursor_of(bytes + 4, GUEST_PACKET_HEADER - 4);
	uint8_t version = cursor_u8(&cursor), type = cursor_u8(&cursor);
	*packet = (struct guest_packet){.type = type};
	packet->flags = cursor_u16(&cursor);
	packet->stream = cursor_u32(&cursor);
	packet->size = cursor_u32(&cursor);
	packet->sequence = cursor_u64(&cursor);
	*payload_crc = cursor_u32(&cursor);
	if (cursor_u32(&cursor) != crc32c(0, bytes, AT_CRC))
		return false;
	if (version != GUEST_PACKET_VERSION)
		decoder->other_version = version;
	return version == GUEST_PACKET_VERSION && type > 0 && type < GUEST_PACKET_TYPE_COUNT &&
	       packet->size <= GUEST_PACKET_PAYLOAD_MOST;
}

bool packet_decoder_next(struct packet_decoder *decoder, struct guest_packet *packet) {
	uint32_t payload_crc;
	while (find_magic(decoder)) {
		const uint8_t *at = decoder->data + decoder->begin;
		if (!take_header(decoder, at, packet, &payload_crc)) {
			skip(decoder, 1);
			continue;
		}
		if (decoder->end - decoder->begin - GUEST_PACKET_HEADER < packet->size)
			return false;
		packet->payload = at + GUEST_PACKET_HEADER;
		if (crc32c(0, packet->payload, packet->size) == payload_crc) {
			decoder->begin += GUEST_PACKET_HEADER + packet->size;
			decoder->damaged_left = 0;
			return true;
		}
		// After a truncated packet, the next one may begin inside what would be its payload. Each
		// such search costs a checksum, so a peer that sends many damaged packets gets only so many.
		bool enough = ++decoder->damaged > GUEST_PACKET_DAMAGED_MOST;
		decoder->damaged_left = MAX(decoder->damaged_left, GUEST_PACKET_HEADER + packet->size);
		skip(decoder, enough ? GUEST_PACKET_HEADER + packet->size : 1);
	}
	return false;
}

void packet_decoder_forget(struct packet_decoder *decoder) {
	decoder->begin = decoder->end = decoder->damaged_left = 0;
}

void packet_decoder_free(struct packet_decoder *decoder) {
	free(decoder->data);
	*decoder = (struct packet_decoder){0};
}
