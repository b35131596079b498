// Keeps the events that a reader pushes, for a test to inspect.
#pragma once

#include "aside.h"

#include "event/event.h"
#include "read/reader.h"

#include <stdio.h>

struct keeper {
	struct sink sink;
	ARRAY(struct event) events;
	struct tables tables;
	uint64_t time; // of the last event, if they must be in order
	int error;     // of the reader
	char *said;    // its warnings
};

static inline void keep(struct keeper *keeper, const struct event *event) {
	struct event copy = *event;
	if (event->kind == EVENT_GENERIC)
		copy.generic.fields = event_fields_copy(event->generic.fields, event->generic.field_count);
	array_push(&keeper->events, copy);
}

// Reads with `push` as the sink.
static inline void keeper_read(struct keeper *keeper, struct stream *input, const struct reader *reader,
			       int (*push)(struct sink *sink, const struct event *event)) {
	*keeper = (struct keeper){.sink = {.push = push}, .tables = tables_new()};
	struct captured captured = capture_begin();
	char name[32];
	snprintf(name, sizeof(name), "a.%s", reader->extension);
	keeper->error = reader->read(input, name, &keeper->tables, &keeper->sink);
	keeper->said = capture_end(captured);
	stream_close(input);
}

static inline void keeper_free(struct keeper *keeper) {
	for (size_t i = 0; i < keeper->events.count; i++)
		if (keeper->events.items[i].kind == EVENT_GENERIC)
			free((void *)(uintptr_t)keeper->events.items[i].generic.fields);
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
