// Streams over a connection that may be lost: chunks are numbered, kept until they are acknowledged, and
// sent again on the next connection. A channel only turns streams into bytes and back; its owner moves
// the bytes (link.h). So this is portable, and tested without any connection.
//
// All streams of one direction share one sequence of numbers, so what is sent first arrives first. Each
// stream has its own limit: a slow reader, such as a pipe that is not read, holds up only its own stream.
#pragma once

#include "guest/wire/packet.h"

enum channel_stream {
	STREAM_CONTROL, // messages (message.h)
	STREAM_STDIN,
	STREAM_STDOUT,
	STREAM_STDERR,
	STREAM_LOG,   // the agent's messages for people
	STREAM_FILE,  // artifacts, one after another; messages mark where each begins and ends
	STREAM_TRACE, // a recording while it is made
	STREAM_COUNT,
};

enum {
	CHANNEL_WINDOW = 4 << 20,       // bytes of one stream that the other side has not consumed
	CHANNEL_UNACKED_MOST = 8 << 20, // bytes of all of them that it has not acknowledged
	CHANNEL_CHUNK = (256 << 10) - GUEST_PACKET_HEADER, // a guest's: whole pages with the header
	CHANNEL_HOST_CHUNK = 16 << 10, // a host's chunks: little to skip after a lost connection
	CHANNEL_MESSAGE_MOST = 256 << 10,
};

enum { FEATURE_ZSTD = 1 };
enum { HELLO_FRESH = 1, HELLO_RESUMED = 2, HELLO_PADDED = 4, HELLO_COMPRESS = 8 };

struct hello {
	uint32_t features, flags;
	uint64_t session;  // chosen by the host, not 0
	uint64_t expected; // the number of the first chunk that has not arrived
	char text[96];     // the sender's version, for people
};
void hello_encode(const struct hello *hello, struct buffer *payload);
bool hello_decode(const struct guest_packet *packet, struct hello *hello);

struct channel_chunk;

struct channel {
	// sending
	struct channel_chunk *first, *last, *at, *spare; // kept; being written; to be used again
	size_t at_written;                               // bytes of *at
	uint64_t next, acked;                            // numbers
	size_t unacked;                                  // bytes
	struct buffer urgent;                            // packets that are not numbered
	size_t urgent_written;
	size_t chunk_size;
	bool compress;
	bool paused; // until the peer has reported what it has
	void *compressor, *unpacker;
	struct buffer packed;
	// receiving
	struct packet_decoder *decoder; // of the connection; NULL if there is none
	struct buffer unpacked;
	uint64_t expected, expected_acknowledged;
	size_t since_ack; // bytes that arrived since the last acknowledgement
	bool limits_due;
	const char *broken; // why the peer is not understood, as text; NULL if it is
	struct {
		uint64_t sent, sent_limit;                  // ours
		uint64_t received, consumed, receive_limit; // theirs
	} streams[STREAM_COUNT];
};

void channel_init(struct channel *channel, size_t chunk_size);
void channel_free(struct channel *channel);

// ---- sending ----

// Space for up to *room bytes of a stream; NULL if not now. channel_commit() sends them.
uint8_t *channel_reserve(struct channel *channel, enum channel_stream stream, size_t *room);
void channel_commit(struct channel *channel, enum channel_stream stream, size_t size);
bool channel_may_send(const struct channel *channel, enum channel_stream stream);
void channel_message(struct channel *channel, const struct buffer *message); // on STREAM_CONTROL, always
void channel_urgent(struct channel *channel, enum guest_packet_type type, const void *payload, size_t size);

// The next bytes for the connection, and how many of them it took.
const uint8_t *channel_output(struct channel *channel, size_t *size);
void channel_wrote(struct channel *channel, size_t size);
static inline bool channel_all_acked(const struct channel *channel) {
	return channel->acked == channel->next;
}

// ---- receiving ----

// The next packet: a chunk of a stream, in order and once (GUEST_PACKET_DATA), or a packet for the owner to
// handle. False if there is none. `broken` is set if the peer violates the protocol. If chunks are missing,
// the packet is GUEST_PACKET_RESYNC, and both sides must exchange HELLO again.
bool channel_next(struct channel *channel, struct guest_packet *packet);

// Reports that bytes of a stream were consumed, so that more may be sent.
void channel_consumed(struct channel *channel, enum channel_stream stream, size_t size);

// Acknowledges what has arrived, if anything has.
void channel_acknowledge(struct channel *channel);

// ---- another connection ----

// Sends only urgent packets until channel_resume().
void channel_pause(struct channel *channel);
// The peer has all chunks below `expected`; sends the rest again, after our own HELLO if there is one. False
// if `expected` is impossible.
bool channel_resume(struct channel *channel, uint64_t expected, const struct hello *hello);
