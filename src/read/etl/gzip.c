// ETL files that gzip packed (.etl.gz, .etlgz): unpacked into a temporary file, because
// the reader walks through a file twice.
#include "base/log.h"
#include "base/unpack_limit.h"
#include "read/etl/etl.h"
#include "read/etl/inputs.h"

#ifdef HAVE_ZLIB
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { PIECE = 65536, HEAD = 4096, GZIP = MAX_WBITS + 16 };

static bool is_gzip(const uint8_t *head, size_t size) {
	return size > 18 && head[0] == 0x1f && head[1] == 0x8b;
}

// Whether its first bytes unpack to the beginning of an ETL file.
bool etl_gzip_probe(const uint8_t *head, size_t size) {
	uint8_t unpacked[HEAD];
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)head,
			   .avail_in = (uInt)size,
			   .next_out = unpacked,
			   .avail_out = sizeof(unpacked)};
	if (!is_gzip(head, size) || inflateInit2(&stream, GZIP) != Z_OK)
		return false;
	inflate(&stream, Z_SYNC_FLUSH);
	inflateEnd(&stream);
	return etl_file_probe(unpacked, sizeof(unpacked) - stream.avail_out);
}

struct unpacking {
	struct stream *input;
	uint64_t at, written;
	z_stream stream;
	uint8_t in[PIECE], out[PIECE];
};

// Gets more input if there is none; false at the end.
static bool refill(struct unpacking *unpacking) {
	uint64_t left = unpacking->input->total - unpacking->at;
	size_t piece = (size_t)MIN(left, (uint64_t)PIECE);
	if (unpacking->stream.avail_in)
		return true;
	if (!piece || !stream_read_at(unpacking->input, unpacking->at, unpacking->in, piece))
		return false;
	unpacking->at += piece;
	unpacking->stream.next_in = unpacking->in;
	unpacking->stream.avail_in = (uInt)piece;
	return true;
}

// Files may be several in a row; zlib checks the sum of each.
static int unpack(struct unpacking *unpacking, FILE *out) {
	int status = Z_OK;
	while (refill(unpacking)) {
		if (status == Z_STREAM_END && inflateReset(&unpacking->stream) != Z_OK)
			return -EINVAL;
		unpacking->stream.next_out = unpacking->out;
		unpacking->stream.avail_out = PIECE;
		status = inflate(&unpacking->stream, Z_NO_FLUSH);
		size_t got = PIECE - unpacking->stream.avail_out;
		unpacking->written += got;
		if (status != Z_OK && status != Z_STREAM_END)
			return -EINVAL;
		if (unpack_limit_exceeded(unpacking->written, unpacking->input->total))
			return -EFBIG;
		if (fwrite(unpacking->out, 1, got, out) != got)
			return errno ? -errno : -EIO;
	}
	if (fflush(out))
		return errno ? -errno : -EIO;
	return status == Z_STREAM_END ? 0 : -EINVAL;
}

static int unpack_into(struct stream *input, FILE *out) {
	struct unpacking *unpacking = memory_alloc(sizeof(*unpacking));
	unpacking->input = input;
	int error = stream_make_random(input);
	if (!error && inflateInit2(&unpacking->stream, GZIP) != Z_OK)
		error = -ENOMEM;
	if (!error)
		error = unpack(unpacking, out);
	inflateEnd(&unpacking->stream);
	free(unpacking);
	return error;
}

int etl_unpack_gzip(struct etl_inputs *inputs, struct stream *input, const char *name) {
	FILE *file = tmpfile();
	int error = file ? unpack_into(input, file) : -errno;
	if (error == -EFBIG)
		unpack_limit_report(name, input->total);
	else if (error)
		log_error("%s: cannot be unpacked: %s", name,
			  error == -EINVAL ? "the gzip file is damaged" : strerror(-error));
	if (error && file)
		fclose(file);
	return error ? error : etl_inputs_add_file(inputs, file, name);
}

#else

bool etl_gzip_probe(const uint8_t *head, size_t size) {
	return false;
}

int etl_unpack_gzip(struct etl_inputs *inputs, struct stream *input, const char *name) {
	return -ENOTSUP;
}

#endif
