// Sequential input of any size in bounded memory: a file or standard input,
// read in pieces. A reader asks for the bytes it needs next, looks at them in
// place, and consumes them.
#pragma once

#include "base/memory.h"

struct stream {
	uint8_t *data;
	size_t begin, end, capacity; // data[begin, end) is read and not consumed
	uint64_t offset;             // of data[begin] in the input
	uint64_t total;              // size of the input, 0 if not known
	int fd;
	int error;    // -errno of a failed read
	bool at_end;  // no more behind data[end)
	void *mapped; // by stream_map()
	size_t mapped_size, forgotten;
	// For a file that still grows, else NULL: called at its end, after `offset` bytes; waits. 1: there
	// may be more now, 0: there will not be, or -errno.
	int (*wait)(void *context, uint64_t offset);
	void *wait_context;
};

int stream_open(struct stream *stream, const char *path);                     // "-" is standard input
void stream_of_memory(struct stream *stream, const void *bytes, size_t size); // the bytes are copied
void stream_close(struct stream *stream);

// The next `size` bytes, or NULL when fewer are left (or reading failed). The
// caller has checked `size` against what its format allows.
const uint8_t *stream_need(struct stream *stream, size_t size);

// All of the input, as far as it was not consumed, in memory: mapped if it is a file, else read.
// It stays until the stream is closed. NULL and `error` if that fails; an empty one has size 0.
const uint8_t *stream_map(struct stream *stream, size_t *size);

// What stream_map() gave is not needed any more up to `pointer`: its memory may go.
void stream_forget(struct stream *stream, const uint8_t *pointer);

// The same for all of it, as long as nobody needs it: what is looked at again is read again.
void stream_forget_all(struct stream *stream);

// How many bytes are there without reading more: what is left after a NULL.
static inline size_t stream_available(const struct stream *stream) {
	return stream->end - stream->begin;
}

// Past `size` bytes that stream_need() has given.
static inline void stream_consume(struct stream *stream, size_t size) {
	stream->begin += size;
	stream->offset += size;
}

// For readers that need their input at random: from now on only stream_read_at()
// is used. What is no regular file is read into memory as a whole.
int stream_make_random(struct stream *stream);

// `size` bytes at `offset` into `out`; false when there are fewer, or reading failed.
bool stream_read_at(struct stream *stream, uint64_t offset, void *out, size_t size);
