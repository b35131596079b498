// The events that the spool's reader makes from a spool.
#pragma once

#include "keeper.h"

#include "capture/spool.h"

static inline int keep_all(struct sink *sink, const struct event *event) {
	keep(CONTAINER_OF(sink, struct keeper, sink), event);
	return 0;
}

static inline void read_stream(struct keeper *keeper, struct stream *input) {
	keeper_read(keeper, input, &spool_reader, keep_all);
}

static inline void read_bytes(struct keeper *keeper, const struct buffer *spool) {
	struct stream input;
	stream_of_memory(&input, spool->data, spool->size);
	read_stream(keeper, &input);
}

// ---- spools in files ----

static inline struct spool open_spool(const char *path) {
	struct spool spool;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	assert_true(fd >= 0);
	spool_open(&spool, fd, clock_boot_now());
	return spool;
}

static inline void read_file(struct keeper *keeper, const char *path) {
	struct stream input;
	assert_int_equal(stream_open(&input, path), 0);
	read_stream(keeper, &input);
}
