// Packets: the unit of the protocol between a host and the agent inside a guest. docs/wire.md describes it.
// This file only turns bytes into packets and back; it is portable and fuzzed.
//
// A packet is a 32-byte header and at most 1 MiB of payload. The header ends with a CRC-32C of itself and
// contains the payload's, so a length is trusted only if the header is intact. Bytes between packets
// (console noise, the rest of a packet whose connection was lost) are skipped and counted.
#pragma once

#include "base/buffer.h"

enum {
	GUEST_PACKET_MAGIC = 0x31464c54, // "TLF1"
	GUEST_PACKET_VERSION = 1,
	GUEST_PACKET_HEADER = 32,
	GUEST_PACKET_PAYLOAD_MOST = 1 << 20,
	GUEST_PACKET_DAMAGED_MOST = 64, // damaged packets whose payload is searched for another packet
};

enum guest_packet_type {
	GUEST_PACKET_HELLO = 1, // session, features and what has arrived so far; opens or resumes a session
	GUEST_PACKET_DATA,      // a chunk of a stream; the only type that is numbered, kept and sent again
	GUEST_PACKET_ACK,  // all chunks below `sequence` have arrived; the payload has new limits of streams
	GUEST_PACKET_PING, // the host's clock
	GUEST_PACKET_PONG, // the host's clock and the guest's
	GUEST_PACKET_RESYNC,    // a chunk is damaged or missing: send HELLO again
	GUEST_PACKET_REFUSED,   // a text that says why; nothing follows
	GUEST_PACKET_BYE,       // the host is done and will not reconnect
	GUEST_PACKET_CHALLENGE, // the agent wants a proof that the host knows the token (token.h)
	GUEST_PACKET_PROOF,     // the host's, with its own challenge; then the agent's
	GUEST_PACKET_TYPE_COUNT,
};

enum { GUEST_PACKET_COMPRESSED = 1 }; // flag: the payload is a u32 (its unpacked size) and one zstd frame

struct guest_packet {
	enum guest_packet_type type;
	uint16_t flags;
	uint32_t stream;
	uint64_t sequence;
	const uint8_t *payload; // in the decoder's buffer, until the next call
	uint32_t size;
};

// Writes the header for a payload that the caller appends.
void guest_packet_header(uint8_t header[GUEST_PACKET_HEADER], enum guest_packet_type type, uint16_t flags,
			 uint32_t stream, uint64_t sequence, const void *payload, uint32_t size);

// Appends header and payload to `out`.
void guest_packet_append(struct buffer *out, enum guest_packet_type type, uint32_t stream, uint64_t sequence,
			 const void *payload, uint32_t size);

struct packet_decoder {
	uint8_t *data;
	size_t begin, end, capacity; // data[begin, end) is not decoded yet
	uint64_t skipped;            // bytes that belong to no packet
	uint64_t damaged;            // packets whose payload has a wrong CRC
	size_t damaged_left;         // bytes ahead that belong to such a packet: they are not skipped ones
	uint8_t other_version;       // version of intact headers that is not ours; 0 if there were none
};

// Room for at least `wanted` bytes that arrive; packet_decoder_added() says how many did.
uint8_t *packet_decoder_room(struct packet_decoder *decoder, size_t wanted, size_t *room);
void packet_decoder_added(struct packet_decoder *decoder, size_t size);

// Takes the next whole packet. Returns false if more bytes are needed.
bool packet_decoder_next(struct packet_decoder *decoder, struct guest_packet *packet);

// Drops the bytes of a connection that is gone.
void packet_decoder_forget(struct packet_decoder *decoder);
void packet_decoder_free(struct packet_decoder *decoder);
