// Stacks of an ETL file, found before their events are pushed.
#pragma once

#include "read/etl_state.h"

// The stack of an event comes after it, in one part or two: a second walk runs
// ahead of the first and collects the parts of the events that are still to come.
struct etl_stacks {
	struct etl_state *state; // complete
	struct tables *tables;
	struct etl_walk ahead;
	const struct etl_record *next; // that the walk ahead has reached
	uint64_t window;               // how far ahead, in ticks
	ARRAY(struct etl_part) parts;  // a ring in the order in which they came
	size_t first, count;
	struct map by_event; // hash of time to index + 1 of its latest part
	struct map frames;   // (pid, address) to frame + 1
	struct buffer name;
	bool active;
};

void etl_stacks_begin(struct etl_stacks *stacks, struct etl_file *file, struct etl_state *state,
		      struct tables *tables);
void etl_stacks_end(struct etl_stacks *stacks);

// Makes known all parts that came up to a window after `time`, forgets those of earlier events.
void etl_stacks_advance(struct etl_stacks *stacks, uint64_t time);

// The stack of the event of that time and thread; 0: it has none. `tid` ETL_NONE: of whichever thread.
uint32_t etl_stacks_of(struct etl_stacks *stacks, uint64_t time, uint32_t tid);

// A stack of one frame.
uint32_t etl_stacks_single(struct etl_stacks *stacks, uint32_t pid, uint64_t address, unsigned pointer);

// A stack from addresses in the input, innermost first, on top of `caller`.
uint32_t etl_stacks_add(struct etl_stacks *stacks, uint32_t caller, uint32_t pid, const uint8_t *addresses,
			size_t count, unsigned pointer);

// "module+0x12", or a method's name, into the buffer; false: nothing is known there.
bool etl_stacks_symbol(struct etl_state *state, uint32_t pid, uint64_t address, unsigned pointer,
		       struct buffer *out);
