// Compressed traces: the whole file with gzip, or packets in it with deflate or
// zstd. They are unpacked into a temporary file, which is then read in place of
// the input, because a trace is walked twice and not always front to back.
#include "base/log.h"
#include "base/unpack_limit.h"
#include "read/perfetto/perfetto.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

enum { PIECE = 64 * 1024, MOST_UNPACKED = 1 << 28 }; // per packet

struct unpacking {
	FILE *out;
	uint64_t packed;    // size of the input
	uint64_t total;     // bytes unpacked so far
	bool limit_reached; // of the input as a whole
};

// ---- pieces ----

static bool put(struct unpacking *unpacking, const uint8_t *bytes, size_t size) {
	unpacking->total += size;
	if (unpack_limit_exceeded(unpacking->total, unpacking->packed))
		unpacking->limit_reached = true;
	return !unpacking->limit_reached && fwrite(bytes, 1, size, unpacking->out) == size;
}

#ifdef HAVE_ZLIB
// Inflates all of `bytes`, which may be several streams in a row. False if damaged or too large.
static bool inflate_all(struct unpacking *to, const uint8_t *bytes, size_t size, uint64_t most) {
	enum { ZLIB_OR_GZIP = MAX_WBITS + 32 };
	z_stream stream = {0};
	uint8_t unpacked[PIECE];
	uint64_t written = 0;
	int status = inflateInit2(&stream, ZLIB_OR_GZIP);
	while (status == Z_OK && (size || stream.avail_in)) {
		if (!stream.avail_in) {
			stream.next_in = (Bytef *)(uintptr_t)bytes;
			stream.avail_in = (uInt)MIN(size, (size_t)1 << 30);
			bytes += stream.avail_in;
			size -= stream.avail_in;
		}
		stream.next_out = unpacked;
		stream.avail_out = sizeof(unpacked);
		status = inflate(&stream, Z_NO_FLUSH);
		size_t got = sizeof(unpacked) - stream.avail_out;
		written += got;
		if (written > most || !put(to, unpacked, got))
			status = Z_BUF_ERROR;
		if (status == Z_STREAM_END && (size || stream.avail_in))
			status = inflateReset(&stream);
	}
	inflateEnd(&stream);
	return status == Z_STREAM_END;
}
#else
static bool inflate_all(struct unpacking *to, const uint8_t *bytes, size_t size, uint64_t most) {
	return false;
}
#endif

#ifdef HAVE_ZSTD
static bool unpack_zstd(struct unpacking *to, const uint8_t *bytes, size_t size, uint64_t most) {
	ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer in = {.src = bytes, .size = size};
	uint8_t unpacked[PIECE];
	uint64_t written = 0;
	bool good = true, full = false;
	while (good && (in.pos < in.size || full)) {
		ZSTD_outBuffer out = {.dst = unpacked, .size = sizeof(unpacked)};
		good = !ZSTD_isError(ZSTD_decompressStream(stream, &out, &in));
		full = out.pos == out.size;
		written += out.pos;
		good = good && written <= most && put(to, unpacked, out.pos);
	}
	ZSTD_freeDStream(stream);
	return good;
}
#else
static bool unpack_zstd(struct unpacking *to, const uint8_t *bytes, size_t size, uint64_t most) {
	return false;
}
#endif

size_t perfetto_peek(const uint8_t *bytes, size_t size, uint8_t *out, size_t room) {
#ifdef HAVE_ZLIB
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes,
			   .avail_in = (uInt)MIN(size, (size_t)1 << 20),
			   .next_out = out,
			   .avail_out = (uInt)room};
	if (!perfetto_is_gzip(bytes, size) || inflateInit2(&stream, MAX_WBITS + 16) != Z_OK)
		return 0;
	inflate(&stream, Z_SYNC_FLUSH);
	inflateEnd(&stream);
	return room - stream.avail_out;
#else
	return 0;
#endif
}

bool perfetto_is_gzip(const uint8_t *bytes, size_t size) {
	return size > 18 && memcmp(bytes, "\x1f\x8b\x08", 3) == 0;
}

// ---- files ----

// Copies a packet unchanged, or the packets compressed in it.
static bool copy_packet(struct unpacking *to, const uint8_t *begin, const uint8_t *bytes, size_t size) {
	struct cursor message = cursor_of(bytes, size);
	struct wire_field field;
	while (wire_each(&message, &field)) {
		if (field.wire == PROTO_BYTES && field.number == PACKET_COMPRESSED)
			return inflate_all(to, field.bytes.at, cursor_left(&field.bytes), MOST_UNPACKED);
		if (field.wire == PROTO_BYTES && field.number == PACKET_COMPRESSED_ZSTD)
			return unpack_zstd(to, field.bytes.at, cursor_left(&field.bytes), MOST_UNPACKED);
	}
	size_t whole = (size_t)(bytes + size - begin);
	return fwrite(begin, 1, whole, to->out) == whole;
}

// Skips what is damaged or truncated; false if nothing is readable.
static bool copy_packets(struct unpacking *to, const uint8_t *bytes, size_t size, uint64_t *damaged) {
	bool any = false;
	while (size && !to->limit_reached) {
		size_t head;
		uint64_t length;
		if (packet_frame(bytes, size, &head, &length) != FRAME_GOOD || length > size - head)
			break;
		bool good = copy_packet(to, bytes, bytes + head, (size_t)length);
		any |= good;
		*damaged += !good;
		bytes += head + length;
		size -= head + (size_t)length;
	}
	*damaged += size != 0;
	return any;
}

// 0 or -errno, logged.
static int fill(const char *name, const uint8_t *bytes, size_t size, FILE *file, uint64_t *damaged) {
	struct unpacking to = {.out = file, .packed = size};
	bool any;
	if (perfetto_is_gzip(bytes, size)) {
		*damaged = !inflate_all(&to, bytes, size, UINT64_MAX);
		any = to.total > 0;
	} else {
		any = copy_packets(&to, bytes, size, damaged);
	}
	if (to.limit_reached)
		return unpack_limit_report(name, size);
	if (!fflush(file) && any)
		return 0;
	log_error("%s: cannot be unpacked: it is damaged, or the disk is full", name);
	return -EBADMSG;
}

int perfetto_unpack(const char *name, const uint8_t *bytes, size_t size, struct unpacked *unpacked) {
	*unpacked = (struct unpacked){.file = tmpfile()};
	if (!unpacked->file) {
		int error = -errno;
		log_error("%s: cannot be unpacked: cannot create a temporary file: %s", name,
			  strerror(-error));
		return error;
	}
	uint64_t damaged = 0;
	int error = fill(name, bytes, size, unpacked->file, &damaged);
	if (error) {
		fclose(unpacked->file);
		unpacked->file = NULL;
		return error;
	}
	if (damaged)
		log_warning("%s: skipped a compressed part that is damaged or truncated", name);
	unpacked->stream = (struct stream){.fd = fileno(unpacked->file)};
	off_t total = lseek(unpacked->stream.fd, 0, SEEK_END);
	unpacked->stream.total = total > 0 ? (uint64_t)total : 0;
	lseek(unpacked->stream.fd, 0, SEEK_SET);
	return 0;
}

void perfetto_unpacked_free(struct unpacked *unpacked) {
	if (!unpacked->file)
		return;
	unpacked->stream.fd = -1; // owned by the file
	stream_close(&unpacked->stream);
	fclose(unpacked->file);
	unpacked->file = NULL;
}
