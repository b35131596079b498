// Counts the events that pass through, in order of time.
#pragma once

#include "base/array.h"
#include "event/joins.h"

struct tally {
	struct sink sink;
	struct sink *next;
	uint64_t events; // without watermarks and facts about the whole trace
	uint64_t kinds[EVENT_KIND_COUNT];
	uint64_t lost[SOURCE_COUNT];
	uint64_t waits;              // samples of tasks that waited
	uint64_t at_events;          // stacks at kernel events
	uint64_t broken;             // samples with incomplete stacks
	uint64_t cut;                // samples with more frames than were kept
	uint64_t late;               // events that came too late to be put in order
	uint64_t gaps;               // places where a CPU's switches do not join because some are missing
	uint64_t first, last;        // the earliest and the latest time of those
	ARRAY(struct joins) current; // for each CPU; the first entry is for no CPU
};

// Takes ownership of `next`; the tally itself belongs to the caller.
struct sink *tally_init(struct tally *tally, struct sink *next);
