// Inside the reader of spools: counts, which come in pieces.
#pragma once

#include "base/cursor.h"
#include "event/event.h"
#include "event/spool_format.h"

struct count_event {
	uint32_t name, unit; // strings; no name: has no values
	double scale;
};

struct count_pieces { // of one CPU
	uint64_t time;
	uint32_t next; // the value that has to come
	uint64_t values[COUNTS_MOST];
};

struct counts {
	struct count_event events[COUNTERS_MOST];
	uint32_t count;
	bool per_slice;
	struct count_pieces **cpus;
	uint32_t cpu_count;
};

// False: it is damaged.
bool counts_describe(struct counts *counts, struct cursor *block, struct strings *strings);

// A record's values; when all are there, they are pushed. 0 or -errno; `bad`: it is damaged.
int counts_take(struct counts *counts, const struct record *head, struct cursor *body,
		const struct event *place, struct strings *strings, struct sink *sink, bool *bad);
void counts_free(struct counts *counts);
