// Internal to the spool reader: joins counter values that come in pieces.
#pragma once

#include "base/cursor.h"
#include "event/event.h"
#include "format/spool_format.h"

struct count_event {
	uint32_t name, unit; // strings; a counter without a name has no values
	double scale;
};

struct count_pieces { // for one CPU
	uint64_t time;
	uint32_t next; // index of the next expected value
	uint64_t values[COUNTS_MOST];
};

struct counts {
	struct count_event events[COUNTERS_MOST];
	uint32_t count;
	bool per_slice;
	struct count_pieces **cpus;
	uint32_t cpu_count;
};

// False if damaged.
bool counts_describe(struct counts *counts, struct cursor *block, struct strings *strings);

// Takes a record's values and pushes them once all are there. Returns 0 or -errno; sets `bad` if
// the record is damaged.
int counts_take(struct counts *counts, const struct record *head, struct cursor *body,
		const struct event *place, struct strings *strings, struct sink *sink, bool *bad);
void counts_free(struct counts *counts);
