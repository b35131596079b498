#include "guest/wire/channel.h"
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

bool hello_decode(const struct guest_packet *packet, struct hello *hello) {
	struct cursor cursor = cursor_of(packet->payload, packet->size);
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

// A reused chunk's pages are already mapped: a new one costs a page fault every 4 KiB.
static struct channel_chunk *chunk_new(struct channel *channel, size_t payload) {
	struct channel_chunk *chunk = channel->spare;
	size_t capacity = GUEST_PACKET_HEADER + MAX(payload, channel->chunk_size);
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
	if (chunk->capacity > GUEST_PACKET_HEADER + channel->chunk_size) {
		free(chunk);
		return;
	}
	chunk->next = channel->spare;
	channel->spare = chunk;
}

// Appends it to the chunks that are kept, with its header.
static void chunk_append(struct channel *channel, struct channel_chunk *chunk, uint32_t stream,
			 uint16_t flags, size_t size) {
	chunk->number = channel->next++;
	chunk->size = GUEST_PACKET_HEADER + size;
	guest_packet_header(chunk->bytes, GUEST_PACKET_DATA, flags, stream, chunk->number,
			    chunk->bytes + GUEST_PACKET_HEADER, (uint32_t)size);
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
	return chunk->bytes + GUEST_PACKET_HEADER;
}

// The payload's size after compression; 0 if it stays as it is.
static size_t compress_chunk(struct channel *channel, struct channel_chunk *chunk, size_t size) {
	enum { TOO_SMALL = 256 };
	size_t packed = 0;
#ifdef HAVE_ZSTD
	if (!channel->compress || size < TOO_SMALL)
		return 0;
	if (!channel->compressor)
		channel->compressor = ZSTD_createCCtx();
	uint8_t *out = buffer_room(&channel->packed, size);
	packed = ZSTD_compressCCtx(channel->compressor, out, size - 4, chunk->bytes + GUEST_PACKET_HEADER,
				   size, 1);
	if (ZSTD_isError(packed))
		return 0; // usually because it would not get smaller
	uint32_t before = (uint32_t)size;
	memcpy(chunk->bytes + GUEST_PACKET_HEADER, &before, 4);
	memcpy(chunk->bytes + GUEST_PACKET_HEADER + 4, out, packed);
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
	chunk_append(channel, chunk, stream, packed ? GUEST_PACKET_COMPRESSED : 0, packed ? packed : size);
}

void channel_message(struct channel *channel, const struct buffer *message) {
	struct channel_chunk *chunk = chunk_new(channel, message->size);
	memcpy(chunk->bytes + GUEST_PACKET_HEADER, message->data, message->size);
	chunk_append(channel, chunk, STREAM_CONTROL, 0, message->size);
}

void channel_urgent(struct channel *channel, enum guest_packet_type type, const void *payload, size_t size) {
	guest_packet_append(&channel->urgent, type, 0, channel->expected, payload, (uint32_t)size);
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

// The peer has all chunks below `expected`. A partly written chunk is completed first: only a faulty peer
// acknowledges it earlier.
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

static bool take_ack(struct channel *channel, const struct guest_packet *packet) {
	struct cursor limits = cursor_of(packet->payload, packet->size);
	while (cursor_left(&limits)) {
		uint32_t stream = cursor_u32(&limits);
		uint64_t limit = cursor_u64(&limits);
		if (limits.failed || stream >= STREAM_COUNT)
			return false;
		// Old limits may come again after a lost connection; limits only grow.
		channel->streams[stream].sent_limit = MAX(channel->streams[stream].sent_limit, limit);
	}
	return take_expected(channel, packet->sequence);
}

static bool unpack(struct channel *channel, struct guest_packet *packet) {
	if (!(packet->flags & GUEST_PACKET_COMPRESSED))
		return true;
#ifdef HAVE_ZSTD
	struct cursor cursor = cursor_of(packet->payload, packet->size);
	uint32_t size = cursor_u32(&cursor);
	if (cursor.failed || !size || size > GUEST_PACKET_PAYLOAD_MOST)
		return false;
	if (!channel->unpacker)
		channel->unpacker = ZSTD_createDCtx();
	channel->unpacked.size = 0;
	uint8_t *out = buffer_room(&channel->unpacked, size);
	if (ZSTD_decompressDCtx(channel->unpacker, out, size, cursor.at, cursor_left(&cursor)) != size)
		return false;
	packet->payload = out;
	packet->size = size;
	return true;
#else
	return false;
#endif
}

// Takes the next chunk. Returns false if there is nothing to deliver.
static bool take_data(struct channel *channel, struct guest_packet *packet) {
	if (packet->sequence < channel->expected)
		return false; // sent again after a lost connection
	if (packet->sequence > channel->expected) {
		packet->type = GUEST_PACKET_RESYNC;
		return true;
	}
	if (packet->stream >= STREAM_COUNT || !unpack(channel, packet) ||
	    (packet->stream == STREAM_CONTROL && packet->size > CHANNEL_MESSAGE_MOST)) {
		channel->broken = "an invalid chunk";
		return false;
	}
	channel->expected++;
	channel->since_ack += packet->size;
	uint64_t *received = &channel->streams[packet->stream].received;
	*received += packet->size;
	if (packet->stream != STREAM_CONTROL && *received > channel->streams[packet->stream].receive_limit) {
		channel->broken = "more data than allowed";
		return false;
	}
	return true;
}

bool channel_next(struct channel *channel, struct guest_packet *packet) {
	while (!channel->broken && channel->decoder && packet_decoder_next(channel->decoder, packet)) {
		if (packet->type == GUEST_PACKET_DATA) {
			if (take_data(channel, packet))
				return true;
		} else if (packet->type != GUEST_PACKET_ACK) {
			return true;
		} else if (!take_ack(channel, packet)) {
			channel->broken = "an invalid acknowledgement";
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
	if (channel->expected == channel->expected_acknowledged && !channel->limits_due)
		return;
	for (uint32_t stream = STREAM_STDIN; stream < STREAM_COUNT; stream++) {
		uint64_t limit = channel->streams[stream].consumed + CHANNEL_WINDOW;
		if (limit <= channel->streams[stream].receive_limit)
			continue;
		channel->streams[stream].receive_limit = limit;
		buffer_append(&limits, &stream, 4);
		buffer_append(&limits, &limit, 8);
	}
	channel_urgent(channel, GUEST_PACKET_ACK, limits.data, limits.size);
	channel->expected_acknowledged = channel->expected;
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
		// Completes a packet of which the host has only a part.
		size_t padding = hello->flags & HELLO_PADDED ? channel->chunk_size : 0;
		memset(buffer_room(&channel->urgent, padding + 1), 0, padding);
		channel->urgent.size = padding;
		hello_encode(hello, &payload);
		channel_urgent(channel, GUEST_PACKET_HELLO, payload.data, payload.size);
		payload.size = 0;
	}
	// The last limits may have been lost.
	for (uint32_t stream = STREAM_STDIN; stream < STREAM_COUNT; stream++) {
		buffer_append(&payload, &stream, 4);
		buffer_append(&payload, &channel->streams[stream].receive_limit, 8);
	}
	channel_urgent(channel, GUEST_PACKET_ACK, payload.data, payload.size);
	buffer_free(&payload);
	return true;
}
