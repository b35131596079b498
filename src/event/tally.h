// Counts what passes by, in order of time.
#pragma once

#include "base/array.h"
#include "event/event.h"

struct tally {
	struct sink sink;
	struct sink *next;
	uint64_t events; // without watermarks and facts about the whole
	uint64_t kinds[EVENT_KIND_COUNT];
	uint64_t lost[SOURCE_COUNT];
	uint64_t waits;       // samples of tasks that waited
	uint64_t at_events;   // stacks at events of the kernel
	uint64_t broken;      // samples whose stack is not whole
	uint64_t gaps;        // places where a CPU's switches do not join: one or more are missing
	uint64_t first, last; // the earliest and the latest time of those
	// Of each CPU the task that came with its last switch, plus 1; 0: not known. The first is of no CPU.
	ARRAY(uint64_t) current;
};

// Takes over `next`; the tally itself is the caller's.
struct sink *tally_init(struct tally *tally, struct sink *next);
