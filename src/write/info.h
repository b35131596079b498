// What a recording holds, told from its events alone: for formats that have
// nothing of their own to tell.
#pragma once

#include "base/buffer.h"
#include "write/described.h"

struct info {
	struct sink sink;
	struct describer describer;
	struct tables *tables;
	ARRAY(struct event) facts; // EVENT_META
	struct map counts;         // (provider, name) to the number of events
	struct map processes, threads, cpus;
	uint64_t events, lost, first, last;
	uint64_t wall; // when it began
};

// The info is the caller's and lives on when the sink is destroyed.
struct sink *info_init(struct info *info, struct tables *tables);
void info_free(struct info *info);

void info_write(struct info *info, const char *file, const char *format, uint64_t size, bool json,
		struct buffer *out);
