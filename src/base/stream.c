#include "base/stream.h"
#include "base/file.h"
#include "base/system.h"

#include <errno.h>
#include <string.h>
#ifdef _WIN32
#include <io.h>
#else
#include <sys/mman.h>
#endif

enum { STREAM_PIECE = 256 * 1024 };

static int take_size(struct stream *stream) {
	struct stat status;
	int error = fstat(stream->fd, &status) ? -errno : S_ISDIR(status.st_mode) ? -EISDIR : 0;
	if (error) {
		close(stream->fd);
		return error;
	}
	if (S_ISREG(status.st_mode))
		stream->total = (uint64_t)status.st_size;
	return 0;
}

int stream_open(struct stream *stream, const char *path) {
	*stream = (struct stream){.fd = STDIN_FILENO};
	if (strcmp(path, "-") == 0)
		return 0;
	stream->fd = system_open(path, O_RDONLY | O_BINARY | O_CLOEXEC);
	return stream->fd < 0 ? -errno : take_size(stream);
}

int stream_open_regular(struct stream *stream, const char *path) {
#ifdef _WIN32
	return stream_open(stream, path);
#else
	*stream = (struct stream){.fd = file_open_regular(path, O_RDONLY | O_CLOEXEC)};
	return stream->fd < 0 ? stream->fd : take_size(stream);
#endif
}

void stream_of_memory(struct stream *stream, const void *bytes, size_t size) {
	*stream = (struct stream){.fd = -1, .at_end = true, .end = size, .capacity = size, .total = size};
	stream->data = memory_alloc(size);
	if (size)
		memcpy(stream->data, bytes, size);
}

void stream_close(struct stream *stream) {
#ifndef _WIN32
	if (stream->mapped)
		munmap(stream->mapped, stream->mapped_size);
#endif
	if (stream->fd > STDIN_FILENO)
		close(stream->fd);
	free(stream->data);
	*stream = (struct stream){.fd = -1};
}

static int wait_for_more(struct stream *stream) {
	return stream->wait ? stream->wait(stream->wait_context, stream->offset + stream_available(stream))
			    : 0;
}

// Memory grows with what has been read, never with what was asked for: a
// hostile length in a short file costs nothing.
static void read_more(struct stream *stream, size_t wanted) {
	if (stream->begin) {
		memmove(stream->data, stream->data + stream->begin, stream_available(stream));
		stream->end -= stream->begin;
		stream->begin = 0;
	}
	while (stream->end < wanted && !stream->at_end) {
		if (stream->capacity - stream->end < STREAM_PIECE) {
			size_t capacity = stream->end + stream->end / 2 + STREAM_PIECE;
			stream->data = memory_resize(stream->data, capacity);
			stream->capacity = capacity;
		}
		ssize_t got = read(stream->fd, stream->data + stream->end, STREAM_PIECE);
		if (got < 0 && errno == EINTR)
			continue;
		if (got > 0) {
			stream->end += (size_t)got;
			continue;
		}
		int more = got < 0 ? -errno : wait_for_more(stream);
		stream->error = MIN(more, 0);
		stream->at_end = more <= 0;
	}
}

const uint8_t *stream_need(struct stream *stream, size_t size) {
	if (stream_available(stream) < size)
		read_more(stream, size);
	return stream_available(stream) < size ? NULL : stream->data + stream->begin;
}

int stream_make_random(struct stream *stream) {
	struct stat status;
	bool regular = stream->fd >= 0 && fstat(stream->fd, &status) == 0 && S_ISREG(status.st_mode);
	if (regular) {
		stream->total = (uint64_t)status.st_size;
		return 0;
	}
	while (!stream->at_end && stream_available(stream) < SIZE_MAX / 4)
		read_more(stream, stream_available(stream) + STREAM_PIECE);
	stream->total = stream_available(stream);
	return stream->error;
}

bool stream_read_at(struct stream *stream, uint64_t offset, void *out, size_t size) {
	if (stream->at_end && stream_available(stream) == stream->total) {
		if (offset > stream->total || size > stream->total - offset)
			return false;
		memcpy(out, stream->data + stream->begin + offset, size);
		return true;
	}
	char *at = out;
	while (size) {
#ifdef _WIN32
		ssize_t got = _lseeki64(stream->fd, (int64_t)offset, SEEK_SET) < 0
				      ? -1
				      : read(stream->fd, at, size > (1u << 30) ? 1u << 30 : (unsigned)size);
#else
		ssize_t got = pread(stream->fd, at, size, (off_t)offset);
#endif
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			stream->error = -errno;
		if (got <= 0)
			return false;
		at += got;
		offset += (uint64_t)got;
		size -= (size_t)got;
	}
	return true;
}

const uint8_t *stream_map(struct stream *stream, size_t *size) {
#ifndef _WIN32
	if (stream->fd >= 0 && stream->total && !stream->mapped && stream->total < SIZE_MAX) {
		void *data = mmap(NULL, (size_t)stream->total, PROT_READ, MAP_PRIVATE, stream->fd, 0);
		if (data != MAP_FAILED) {
			stream->mapped = data;
			stream->mapped_size = (size_t)stream->total;
		}
	}
	if (stream->mapped && stream->offset <= stream->mapped_size) {
		*size = stream->mapped_size - (size_t)stream->offset;
		return (const uint8_t *)stream->mapped + stream->offset;
	}
#endif
	read_more(stream, SIZE_MAX);
	*size = stream_available(stream);
	static const uint8_t nothing[1];
	return stream->error ? NULL : *size ? stream->data + stream->begin : nothing;
}

void stream_forget(struct stream *stream, const uint8_t *pointer) {
#ifndef _WIN32
	enum { PIECE = 16 << 20 };
	const uint8_t *begin = stream->mapped;
	if (!begin || pointer < begin || (size_t)(pointer - begin) < stream->forgotten + PIECE)
		return;
	size_t size = (size_t)(pointer - begin - stream->forgotten) / PIECE * PIECE;
	madvise((char *)stream->mapped + stream->forgotten, size, MADV_DONTNEED);
	stream->forgotten += size;
#endif
}

void stream_forget_all(struct stream *stream) {
#ifndef _WIN32
	if (stream->mapped)
		madvise(stream->mapped, stream->mapped_size, MADV_DONTNEED);
#endif
}
