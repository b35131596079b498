// What the spool's reader makes of a spool, kept for a test to look at.
#pragma once

#include "aside.h"

#include "capture/spool.h"
#include "read/reader.h"

struct keeper {
	struct sink sink;
	ARRAY(struct event) events;
	struct tables tables;
	int error;  // of the reader
	char *said; // its warnings
};

static inline int keep_push(struct sink *sink, const struct event *event) {
	array_push(&CONTAINER_OF(sink, struct keeper, sink)->events, *event);
	return 0;
}

static inline void read_stream(struct keeper *keeper, struct stream *input) {
	*keeper = (struct keeper){.sink = {.push = keep_push}, .tables = tables_new()};
	struct captured captured = capture_begin();
	keeper->error = spool_reader.read(input, "a.spool", &keeper->tables, &keeper->sink);
	keeper->said = capture_end(captured);
	stream_close(input);
}

static inline void read_bytes(struct keeper *keeper, const struct buffer *spool) {
	struct stream input;
	stream_of_memory(&input, spool->data, spool->size);
	read_stream(keeper, &input);
}

static inline void keeper_free(struct keeper *keeper) {
	array_free(&keeper->events);
	tables_free(&keeper->tables);
	free(keeper->said);
}

static inline const struct event *nth(const struct keeper *keeper, enum event_kind kind, size_t number) {
	for (size_t i = 0; i < keeper->events.count; i++)
		if (keeper->events.items[i].kind == kind && number-- == 0)
			return &keeper->events.items[i];
	fail_msg("there is no such event of kind %d", kind);
	return NULL;
}

static inline size_t count_kind(const struct keeper *keeper, enum event_kind kind) {
	size_t count = 0;
	for (size_t i = 0; i < keeper->events.count; i++)
		count += keeper->events.items[i].kind == kind;
	return count;
}

#define TEXT(keeper, id) strings_get((keeper)->tables.strings, id)

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
