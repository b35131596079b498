// Streams over a connection that may be lost: chunks are numbered, kept until the other side has them, and
// sent again from there on the next connection. Bytes in, bytes out: who owns a channel moves them
// (link.h), so this is portable and is tested without any connection.
//
// All streams of one direction share one row of numbers, so what was sent first arrives first. Each stream
// has a limit of its own: a reader that is slow, such as a pipe nobody reads, holds up its stream only.
#pragma once

#include "guest/frame.h"

enum channel_stream {
	STREAM_CONTROL, // messages (message.h)
	STREAM_STDIN,
	STREAM_STDOUT,
	STREAM_STDERR,
	STREAM_LOG,   // what the agent has to say to a person
	STREAM_FILE,  // artifacts, one after another; messages tell where each begins and ends
	STREAM_TRACE, // a recording while it is made
	STREAM_COUNT,
};

enum {
	CHANNEL_WINDOW = 4 << 20,       // bytes of one stream that the other side has not consumed
	CHANNEL_UNACKED_MOST = 8 << 20, // bytes of all of them that it has not acknowledged
	CHANNEL_CHUNK = (256 << 10) - FRAME_HEADER, // of a guest's: whole pages with the header
	CHANNEL_HOST_CHUNK = 16 << 10, // of a host's: little to pass over where a connection was cut
	CHANNEL_MESSAGE_MOST = 256 << 10,
};

enum { FEATURE_ZSTD = 1 };
enum { HELLO_FRESH = 1, HELLO_RESUMED = 2, HELLO_PADDED = 4, HELLO_COMPRESS = 8 };

struct hello {
	uint32_t features, flags;
	uint64_t session;  // of the host's choice, not 0
	uint64_t expected; // the number of the first chunk that has not arrived
	char text[96];     // who speaks, for people
};
void hello_encode(const struct hello *hello, struct buffer *payload);
bool hello_decode(const struct frame *frame, struct hello *hello);

struct channel_chunk;

struct channel {
	// sending
	struct channel_chunk *first, *last, *at, *spare; // kept; being written; to be used again
	size_t at_written;                               // bytes of *at
	uint64_t next, acked;                            // numbers
	size_t unacked;                                  // bytes
	struct buffer urgent;                            // frames that are not numbered
	size_t urgent_written;
	size_t chunk_size;
	bool compress;
	bool paused; // until the peer has said what it has
	void *compressor, *unpacker;
	struct buffer packed;
	// receiving
	struct frame_decoder *decoder; // the connection's; NULL: there is none
	struct buffer unpacked;
	uint64_t expected, expected_told;
	size_t since_ack; // bytes that arrived since the last acknowledgement
	bool limits_due;
	const char *broken; // why this peer cannot be understood, in words
	struct {
		uint64_t sent, sent_limit;                  // ours
		uint64_t received, consumed, receive_limit; // theirs
	} streams[STREAM_COUNT];
};

void channel_init(struct channel *channel, size_t chunk_size);
void channel_free(struct channel *channel);

// ---- sending ----

// Where to put up to *room bytes of a stream; NULL: not now. channel_commit() sends them.
uint8_t *channel_reserve(struct channel *channel, enum channel_stream stream, size_t *room);
void channel_commit(struct channel *channel, enum channel_stream stream, size_t size);
bool channel_may_send(const struct channel *channel, enum channel_stream stream);
void channel_message(struct channel *channel, const struct buffer *message); // on STREAM_CONTROL, always
void channel_urgent(struct channel *channel, enum frame_type type, const void *payload, size_t size);

// The next bytes for the connection, and how many of them it took.
const uint8_t *channel_output(struct channel *channel, size_t *size);
void channel_wrote(struct channel *channel, size_t size);
static inline bool channel_all_acked(const struct channel *channel) {
	return channel->acked == channel->next;
}

// ---- receiving ----

// What arrived next: a chunk of a stream, in order and once (FRAME_DATA), or a frame that is the owner's
// matter. False: nothing more. Where the peer makes no sense `broken` is set; where chunks are missing
// the frame is FRAME_RESYNC, and the two have to say hello again.
bool channel_next(struct channel *channel, struct frame *frame);

// Bytes of a stream have gone where they belong: more may come.
void channel_consumed(struct channel *channel, enum channel_stream stream, size_t size);

// Acknowledges what has arrived, if there is anything to say.
void channel_acknowledge(struct channel *channel);

// ---- another connection ----

// Nothing but what is urgent goes out until channel_resume().
void channel_pause(struct channel *channel);
// The peer has all below `expected` and gets the rest again, behind our own hello if there is one. False:
// that cannot be.
bool channel_resume(struct channel *channel, uint64_t expected, const struct hello *hello);
