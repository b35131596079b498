// Finds the stacks of an ETL file before their events are pushed.
#pragma once

#include "read/etl/state.h"

// The frames at one address, innermost first: functions that are inlined, and the one they are in.
struct etl_chain {
	uint32_t first, count;
};

// An event's stack comes after it, in one part or two: a second walk runs ahead
// of the main one and collects the parts for events that are still to come.
struct etl_stacks {
	struct etl_state *state; // complete: filled by the first walk
	struct tables *tables;
	struct etl_walk ahead;
	const struct etl_record *next; // next record of the walk ahead
	uint64_t window;               // how far ahead, in ticks
	ARRAY(struct etl_part) parts;  // a ring in order of arrival
	size_t first, count;
	struct map by_event; // hash of time to index + 1 of its latest part
	struct map frames;   // (pid, address) to index + 1 of a chain
	ARRAY(struct etl_chain) chains;
	ARRAY(uint32_t) ids; // of frames
	struct buffer name;
	struct map clr_events; // tid to the time of its last event of the .NET runtime
	bool active;
	bool addresses; // frames without a name have one, instead of only their module's
};

void etl_stacks_begin(struct etl_stacks *stacks, struct etl_file *file, struct etl_state *state,
		      struct tables *tables, bool addresses);
void etl_stacks_end(struct etl_stacks *stacks);

// Collects all parts up to a window after `time`; forgets those of earlier events.
void etl_stacks_advance(struct etl_stacks *stacks, uint64_t time);

// The stack of the event with that time and thread, or 0. With `tid` ETL_NONE: any thread.
uint32_t etl_stacks_of(struct etl_stacks *stacks, uint64_t time, uint32_t tid);

// A stack of one frame.
uint32_t etl_stacks_single(struct etl_stacks *stacks, uint32_t pid, uint64_t address, unsigned pointer);

// A stack from addresses in the input, innermost first, on top of `caller`.
uint32_t etl_stacks_add(struct etl_stacks *stacks, uint32_t caller, uint32_t pid, const uint8_t *addresses,
			size_t count, unsigned pointer);

// Appends the name of the function at an address to the buffer, or "module+0x12"; false if nothing is known
// about the address.
bool etl_stacks_symbol(struct etl_stacks *stacks, uint32_t pid, uint64_t address, unsigned pointer,
		       struct buffer *out);
