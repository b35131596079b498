#include "guest/channel.h"
#include "base/cursor.h"

#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

struct channel_chunk {
	struct channel_chunk *next;
	uint64_t number;
	size_t size, capacity; // bytes with the header
	uint8_t bytes[];
};

void channel_init(struct channel *channel, size_t chunk_size) {
	*channel = (struct channel){.chunk_size = chunk_size};
	for (int i = 0; i < STREAM_COUNT; i++)
		channel->streams[i].sent_limit = channel->streams[i].receive_limit = CHANNEL_WINDOW;
}

static void free_chunks(struct channel_chunk *chunk) {
	while (chunk) {
		struct channel_chunk *next = chunk->next;
		free(chunk);
		chunk = next;
	}
}

void channel_free(struct channel *channel) {
	free_chunks(channel->first);
	free_chunks(channel->spare);
	buffer_free(&channel->urgent);
	buffer_free(&channel->packed);
	buffer_free(&channel->unpacked);
#ifdef HAVE_ZSTD
	ZSTD_freeCCtx(channel->compressor);
	ZSTD_freeDCtx(channel->unpacker);
#endif
	*channel = (struct channel){0};
}

// ---- hello ----

void hello_encode(const struct hello *hello, struct buffer *payload) {
	buffer_append(payload, &hello->features, 4);
	buffer_append(payload, &hello->flags, 4);
	buffer_append(payload, &hello->session, 8);
	buffer_append(payload, &hello->expected, 8);
	buffer_append(payload, hello->text, strlen(hello->text));
}

bool hello_decode(const struct frame *frame, struct hello *hello) {
	struct cursor cursor = cursor_of(frame->payload, frame->size);
	*hello = (struct hello){0};
	hello->features = cursor_u32(&cursor);
	hello->flags = cursor_u32(&cursor);
	hello->session = cursor_u64(&cursor);
	hello->expected = cursor_u64(&cursor);
	size_t length = MIN(cursor_left(&cursor), sizeof(hello->text) - 1);
	cursor_copy(&cursor, hello->text, length);
	for (size_t i = 0; i < length; i++) // a terminal may see it
		if (hello->text[i] < ' ' || hello->text[i] > '~')
			hello->text[i] = '?';
	return !cursor.failed && hello->session;
}

// ---- sending ----

// A chunk that is used again has had its memory touched: a new one costs a page fault every 4 KiB.
static struct channel_chunk *chunk_new(struct channel *channel, size_t payload) {
	struct channel_chunk *chunk = channel->spare;
	size_t capacity = FRAME_HEADER + MAX(payload, channel->chunk_size);
	if (chunk && chunk->capacity >= capacity) {
		channel->spare = chunk->next;
	} else {
		chunk = malloc(sizeof(*chunk) + capacity);
		if (!chunk)
			memory_exhausted();
		chunk->capacity = capacity;
	}
	chunk->next = NULL;
	return chunk;
}

static void chunk_retire(struct channel *channel, struct channel_chunk *chunk) {
	channel->unacked -= chunk->size;
	if (chunk->capacity > FRAME_HEADER + channel->chunk_size) {
		free(chunk);
		return;
	}
	chunk->next = channel->spare;
	channel->spare = chunk;
}

// Puts it at the end of what is kept, complete with its header.
static void chunk_append(struct channel *channel, struct channel_chunk *chunk, uint32_t stream,
			 uint16_t flags, size_t size) {
	chunk->number = channel->next++;
	chunk->size = FRAME_HEADER + size;
	frame_header(chunk->bytes, FRAME_DATA, flags, stream, chunk->number, chunk->bytes + FRAME_HEADER,
		     (uint32_t)size);
	channel->unacked += chunk->size;
	if (channel->last)
		channel->last->next = chunk;
	else
		channel->first = chunk;
	channel->last = chunk;
	if (!channel->at) {
		channel->at = chunk;
		channel->at_written = 0;
	}
}

bool channel_may_send(const struct channel *channel, enum channel_stream stream) {
	return channel->unacked < CHANNEL_UNACKED_MOST &&
	       channel->streams[stream].sent < channel->streams[stream].sent_limit;
}

uint8_t *channel_reserve(struct channel *channel, enum channel_stream stream, size_t *room) {
	if (!channel_may_send(channel, stream))
		return NULL;
	struct channel_chunk *chunk = chunk_new(channel, 0);
	uint64_t left = channel->streams[stream].sent_limit - channel->streams[stream].sent;
	*room = MIN(channel->chunk_size, left);
	chunk->next = channel->spare; // the first spare one, until it is committed
	channel->spare = chunk;
	return chunk->bytes + FRAME_HEADER;
}

// The payload's size after compression; 0: it stays as it is.
static size_t compress_chunk(struct channel *channel, struct channel_chunk *chunk, size_t size) {
	enum { TOO_SMALL = 256 };
	size_t packed = 0;
#ifdef HAVE_ZSTD
	if (!channel->compress || size < TOO_SMALL)
		return 0;
	if (!channel->compressor)
		channel->compressor = ZSTD_createCCtx();
	uint8_t *out = buffer_room(&channel->packed, size);
	packed = ZSTD_compressCCtx(channel->compressor, out, size - 4, chunk->bytes + FRAME_HEADER, size, 1);
	if (ZSTD_isError(packed))
		return 0; // mostly: it would not become smaller
	uint32_t before = (uint32_t)size;
	memcpy(chunk->bytes + FRAME_HEADER, &before, 4);
	memcpy(chunk->bytes + FRAME_HEADER + 4, out, packed);
	packed += 4;
#endif
	return packed;
}

void channel_commit(struct channel *channel, enum channel_stream stream, size_t size) {
	struct channel_chunk *chunk = channel->spare;
	if (!size)
		return;
	channel->spare = chunk->next;
	chunk->next = NULL;
	channel->streams[stream].sent += size;
	size_t packed = compress_chunk(channel, chunk, size);
	chunk_append(channel, chunk, stream, packed ? FRAME_COMPRESSED : 0, packed ? packed : size);
}

void channel_message(struct channel *channel, const struct buffer *message) {
	struct channel_chunk *chunk = chunk_new(channel, message->size);
	memcpy(chunk->bytes + FRAME_HEADER, message->data, message->size);
	chunk_append(channel, chunk, STREAM_CONTROL, 0, message->size);
}

void channel_urgent(struct channel *channel, enum frame_type type, const void *payload, size_t size) {
	frame_append(&channel->urgent, type, 0, channel->expected, payload, (uint32_t)size);
}

const uint8_t *channel_output(struct channel *channel, size_t *size) {
	if (channel->at && channel->at_written) {
		*size = channel->at->size - channel->at_written;
		return channel->at->bytes + channel->at_written;
	}
	*size = channel->urgent.size - channel->urgent_written;
	if (*size)
		return channel->urgent.data + channel->urgent_written;
	if (!channel->at || channel->paused)
		return NULL;
	*size = channel->at->size;
	return channel->at->bytes;
}

void channel_wrote(struct channel *channel, size_t size) {
	bool urgent = !(channel->at && channel->at_written) && channel->urgent.size > channel->urgent_written;
	if (urgent) {
		channel->urgent_written += size;
		if (channel->urgent_written == channel->urgent.size)
			channel->urgent.size = channel->urgent_written = 0;
		return;
	}
	channel->at_written += size;
	if (channel->at_written == channel->at->size) {
		channel->at = channel->at->next;
		channel->at_written = 0;
	}
}

// ---- receiving ----

// All below `expected` has arrived there. A chunk of which a part is written goes out as a whole first:
// only a peer that makes no sense acknowledges it before.
static bool take_expected(struct channel *channel, uint64_t expected) {
	if (expected < channel->acked || expected > channel->next)
		return false;
	while (channel->first && channel->first->number < expected) {
		struct channel_chunk *chunk = channel->first;
		if (chunk == channel->at)
			return false;
		channel->first = chunk->next;
		if (!channel->first)
			channel->last = NULL;
		chunk_retire(channel, chunk);
	}
	channel->acked = expected;
	return true;
}

static bool take_ack(struct channel *channel, const struct frame *frame) {
	struct cursor limits = cursor_of(frame->payload, frame->size);
	while (cursor_left(&limits)) {
		uint32_t stream = cursor_u32(&limits);
		uint64_t limit = cursor_u64(&limits);
		if (limits.failed || stream >= STREAM_COUNT)
			return false;
		// Old ones may come again after a connection was lost: limits only grow.
		channel->streams[stream].sent_limit = MAX(channel->streams[stream].sent_limit, limit);
	}
	return take_expected(channel, frame->sequence);
}

static bool unpack(struct channel *channel, struct frame *frame) {
	if (!(frame->flags & FRAME_COMPRESSED))
		return true;
#ifdef HAVE_ZSTD
	struct cursor cursor = cursor_of(frame->payload, frame->size);
	uint32_t size = cursor_u32(&cursor);
	if (cursor.failed || !size || size > FRAME_PAYLOAD_MOST)
		return false;
	if (!channel->unpacker)
		channel->unpacker = ZSTD_createDCtx();
	channel->unpacked.size = 0;
	uint8_t *out = buffer_room(&channel->unpacked, size);
	if (ZSTD_decompressDCtx(channel->unpacker, out, size, cursor.at, cursor_left(&cursor)) != size)
		return false;
	frame->payload = out;
	frame->size = size;
	return true;
#else
	return false;
#endif
}

// A chunk in its turn. False: it is for nobody.
static bool take_data(struct channel *channel, struct frame *frame) {
	if (frame->sequence < channel->expected)
		return false; // again, after a connection was lost
	if (frame->sequence > channel->expected) {
		frame->type = FRAME_RESYNC;
		return true;
	}
	if (frame->stream >= STREAM_COUNT || !unpack(channel, frame) ||
	    (frame->stream == STREAM_CONTROL && frame->size > CHANNEL_MESSAGE_MOST)) {
		channel->broken = "a chunk that cannot be";
		return false;
	}
	channel->expected++;
	channel->since_ack += frame->size;
	uint64_t *received = &channel->streams[frame->stream].received;
	*received += frame->size;
	if (frame->stream != STREAM_CONTROL && *received > channel->streams[frame->stream].receive_limit) {
		channel->broken = "more than it was allowed to send";
		return false;
	}
	return true;
}

bool channel_next(struct channel *channel, struct frame *frame) {
	while (!channel->broken && channel->decoder && frame_decoder_next(channel->decoder, frame)) {
		if (frame->type == FRAME_DATA) {
			if (take_data(channel, frame))
				return true;
		} else if (frame->type != FRAME_ACK) {
			return true;
		} else if (!take_ack(channel, frame)) {
			channel->broken = "an acknowledgement that cannot be";
		}
	}
	return false;
}

void channel_consumed(struct channel *channel, enum channel_stream stream, size_t size) {
	channel->streams[stream].consumed += size;
	uint64_t limit = channel->streams[stream].consumed + CHANNEL_WINDOW;
	if (limit - channel->streams[stream].receive_limit >= CHANNEL_WINDOW / 4)
		channel->limits_due = true;
}

void channel_acknowledge(struct channel *channel) {
	struct buffer limits = {0};
	if (channel->expected == channel->expected_told && !channel->limits_due)
		return;
	for (uint32_t stream = STREAM_STDIN; stream < STREAM_COUNT; stream++) {
		uint64_t limit = channel->streams[stream].consumed + CHANNEL_WINDOW;
		if (limit <= channel->streams[stream].receive_limit)
			continue;
		channel->streams[stream].receive_limit = limit;
		buffer_append(&limits, &stream, 4);
		buffer_append(&limits, &limit, 8);
	}
	channel_urgent(channel, FRAME_ACK, limits.data, limits.size);
	channel->expected_told = channel->expected;
	channel->since_ack = 0;
	channel->limits_due = false;
	buffer_free(&limits);
}

// ---- another connection ----

void channel_pause(struct channel *channel) {
	channel->at = channel->first;
	channel->at_written = 0;
	channel->urgent.size = channel->urgent_written = 0;
	channel->paused = true;
}

bool channel_resume(struct channel *channel, uint64_t expected, const struct hello *hello) {
	struct buffer payload = {0};
	channel_pause(channel);
	channel->at = NULL;
	if (!take_expected(channel, expected))
		return false;
	channel->at = channel->first;
	channel->paused = false;
	if (hello) {
		// Whatever half of a frame the host is waiting for ends in these.
		size_t padding = hello->flags & HELLO_PADDED ? channel->chunk_size : 0;
		memset(buffer_room(&channel->urgent, padding + 1), 0, padding);
		channel->urgent.size = padding;
		hello_encode(hello, &payload);
		channel_urgent(channel, FRAME_HELLO, payload.data, payload.size);
		payload.size = 0;
	}
	// The last word on limits may have been lost.
	for (uint32_t stream = STREAM_STDIN; stream < STREAM_COUNT; stream++) {
		buffer_append(&payload, &stream, 4);
		buffer_append(&payload, &channel->streams[stream].receive_limit, 8);
	}
	channel_urgent(channel, FRAME_ACK, payload.data, payload.size);
	buffer_free(&payload);
	return true;
}
