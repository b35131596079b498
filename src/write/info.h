// Describes a recording from its events alone, for formats without information of their own.
#pragma once

#include "base/buffer.h"
#include "event/described.h"

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

// The info belongs to the caller and outlives the sink.
struct sink *info_init(struct info *info, struct tables *tables);
void info_free(struct info *info);

void info_write(struct info *info, const char *file, const char *format, uint64_t size, bool json,
		struct buffer *out);
