// Sequential input of any size in bounded memory: a file or standard input,
// read in pieces. A reader asks for the bytes it needs next, looks at them in
// place, and consumes them.
#pragma once

#include "base/memory.h"

struct stream {
	uint8_t *data;
	size_t begin, end, capacity; // data[begin, end) is read but not consumed
	uint64_t offset;             // of data[begin] in the input
	uint64_t total;              // size of the input, 0 if unknown
	int fd;
	int error;    // -errno of a failed read
	bool at_end;  // nothing follows data[end)
	void *mapped; // by stream_map()
	size_t mapped_size, forgotten;
	// For a file that still grows, otherwise NULL: called at its end, after `offset` bytes, to wait.
	// Returns 1 if there may be more now, 0 if there will not be, or -errno.
	int (*wait)(void *context, uint64_t offset);
	void *wait_context;
};

int stream_open(struct stream *stream, const char *path);                     // "-" is standard input
int stream_open_regular(struct stream *stream, const char *path);             // nothing but a regular file
void stream_of_memory(struct stream *stream, const void *bytes, size_t size); // the bytes are copied
void stream_close(struct stream *stream);

// The next `size` bytes, or NULL if fewer are left (or reading failed). The caller has
// checked `size` against the limits of its format.
const uint8_t *stream_need(struct stream *stream, size_t size);

// The whole input that is not consumed yet, in memory: mapped if it is a file, otherwise read.
// Valid until the stream is closed. NULL and `error` if that fails; empty input has size 0.
const uint8_t *stream_map(struct stream *stream, size_t *size);

// Releases the memory from stream_map() up to `pointer`.
void stream_forget(struct stream *stream, const uint8_t *pointer);

// Releases all of it; pages that are used again are read again.
void stream_forget_all(struct stream *stream);

// The number of bytes available without reading more: what is left after a NULL.
static inline size_t stream_available(const struct stream *stream) {
	return stream->end - stream->begin;
}

// Consumes `size` bytes that stream_need() returned.
static inline void stream_consume(struct stream *stream, size_t size) {
	stream->begin += size;
	stream->offset += size;
}

// For readers that need random access: from now on only stream_read_at() is used. If the
// input is not a regular file, all of it is read into memory.
int stream_make_random(struct stream *stream);

// Reads `size` bytes at `offset` into `out`. False if there are fewer, or reading failed.
bool stream_read_at(struct stream *stream, uint64_t offset, void *out, size_t size);
