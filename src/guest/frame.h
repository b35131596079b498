// Frames: what travels between a host and the agent inside a guest. docs/wire.md is the description; this
// is the pure part, bytes in and frames out, portable and fuzzed.
//
// A frame is a header of 32 bytes and at most 1 MiB of payload. The header ends with a CRC-32C over itself,
// which covers the payload's, so a length is believed only when the header is whole. Bytes between frames
// (a console's noise, the rest of a frame whose connection was lost) are passed over and counted.
#pragma once

#include "base/buffer.h"

enum {
	FRAME_MAGIC = 0x31464c54, // "TLF1"
	FRAME_VERSION = 1,
	FRAME_HEADER = 32,
	FRAME_PAYLOAD_MOST = 1 << 20,
	FRAME_DAMAGED_MOST = 64, // so many are looked into for others
};

enum frame_type {
	FRAME_HELLO = 1, // who speaks, which session, what has arrived: begins and resumes
	FRAME_DATA,      // a chunk of a stream; the only one that is numbered, kept and sent again
	FRAME_ACK,       // all chunks below `sequence` have arrived; streams may send up to so many bytes
	FRAME_PING,      // the host's clock
	FRAME_PONG,      // that, and the guest's
	FRAME_RESYNC,    // something is damaged or missing: say HELLO again
	FRAME_REFUSED,   // a text why, and no more
	FRAME_BYE,       // the host has all it wants, and does not come back
	FRAME_TYPE_COUNT,
};

enum { FRAME_COMPRESSED = 1 }; // flags: the payload is one zstd frame behind a u32, its size when unpacked

struct frame {
	enum frame_type type;
	uint16_t flags;
	uint32_t stream;
	uint64_t sequence;
	const uint8_t *payload; // in the decoder's buffer, until the next call
	uint32_t size;
};

// Writes the header for a payload that the caller puts behind it.
void frame_header(uint8_t header[FRAME_HEADER], enum frame_type type, uint16_t flags, uint32_t stream,
		  uint64_t sequence, const void *payload, uint32_t size);

// Header and payload, appended.
void frame_append(struct buffer *out, enum frame_type type, uint32_t stream, uint64_t sequence,
		  const void *payload, uint32_t size);

struct frame_decoder {
	uint8_t *data;
	size_t begin, end, capacity; // data[begin, end) is not decoded yet
	uint64_t skipped;            // bytes that belong to no frame
	uint64_t damaged;            // frames whose payload's CRC is wrong
	uint8_t other_version;       // whole headers of this version came, which is not ours
};

// Where to put bytes that arrive, at least `wanted`; frame_decoder_added() says how many came.
uint8_t *frame_decoder_room(struct frame_decoder *decoder, size_t wanted, size_t *room);
void frame_decoder_added(struct frame_decoder *decoder, size_t size);

// The next whole frame; false: more bytes are needed.
bool frame_decoder_next(struct frame_decoder *decoder, struct frame *frame);

// What is there belongs to a connection that is no more.
void frame_decoder_forget(struct frame_decoder *decoder);
void frame_decoder_free(struct frame_decoder *decoder);
