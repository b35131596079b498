// Turns records into events: the second of the reader's two walks.
#pragma once

#include "read/etl/inputs.h"
#include "read/etl/stacks.h"
#include "read/reader.h"

// A thread that waits.
struct etl_wait {
	uint64_t since, ready; // in nanoseconds; 0 if unknown or not yet
};

struct etl_events {
	struct etl_file file;
	struct etl_schemas schemas;
	struct etl_state state; // for the whole file, from the first walk
	struct etl_stacks stacks;
	struct etl_decoder decoder;
	struct tables *tables;
	struct sink *sink;
	const struct read_options *options;
	struct map threads;      // tid to pid + 1, updated during the second walk
	ARRAY(uint32_t) running; // thread on each CPU; ETL_NONE if unknown
	ARRAY(struct etl_wait) waits;
	struct map wait_index; // tid to index + 1
	struct map counters;   // (core, event, index) to the last value + 1
	struct buffer text;
	uint32_t sample_name, wait_name, ready_name;
	uint64_t time;       // time of the previous event, in nanoseconds
	uint64_t impossible; // events whose CPU cannot exist
	struct event_numbers numbers;
	char activity[37], related_activity[37];
	struct buffer message;
};

int etl_events_read(struct etl_events *events, const struct etl_inputs *inputs);
void etl_events_free(struct etl_events *events);

// Shared by the files that turn records into events.
int etl_push(struct etl_events *events, const struct event *event);
struct event etl_event_of(const struct etl_events *events, const struct etl_record *record,
			  enum event_kind kind);
uint32_t etl_pid_of(const struct etl_events *events, uint32_t tid);
// The stack at an event, as a sample with that event's name; nothing if there is none.
int etl_push_stack(struct etl_events *events, const struct event *event, uint32_t name, uint32_t stack);

// scheduling.c
void etl_set_running(struct etl_events *events, const struct etl_record *record, uint32_t tid);
uint32_t etl_running(const struct etl_events *events, const struct etl_record *record); // or ETL_NONE
int etl_take_switch(struct etl_events *events, const struct etl_record *record);
int etl_take_ready(struct etl_events *events, const struct etl_record *record);
