// From records to events: the second of the reader's two walks.
#pragma once

#include "read/etl_stacks.h"
#include "read/reader.h"

struct etl_events {
	struct etl_file file;
	struct etl_schemas schemas;
	struct etl_state state; // of the whole file, from the first walk
	struct etl_stacks stacks;
	struct etl_decoder decoder;
	struct tables *tables;
	struct sink *sink;
	const struct read_options *options;
	struct map threads;      // tid to pid + 1, as the second walk goes
	ARRAY(uint32_t) running; // thread of each CPU; ETL_NONE: not known
	struct map counters;     // (core, event, index) to the last value + 1
	struct buffer text;
	uint32_t sample_name;
	uint64_t time; // of the event before, in nanoseconds
	struct event_numbers numbers;
	char activity[37], related_activity[37];
};

int etl_events_read(struct etl_events *events, struct stream *input, const char *name);
void etl_events_free(struct etl_events *events);
