// When CPUs passed from one thread to the next. A switch ends one thread's run and begins another's on the
// same CPU, so a page has its time once, in the list of the CPU, and not in both threads: a third of the
// durations of a recording go away. A running state is then "the second turn on its CPU after this thread
// became ready".
#pragma once

#include "write/page/trace.h"

struct page_runs {
	ARRAY(struct page_turns {
		uint16_t cpu;
		ARRAY(uint64_t) times; // when a run began or ended, in order
	})
	cpus;                  // those that ran something, in the order of the threads
	struct map by_cpu;     // place in `cpus` + 1
	ARRAY(uint32_t) turns; // of the running states of all threads, in their order; see page_runs_init()
};

// Finds the turn of each running state: 1 if it begins at the first time in its CPU's list that is not before
// the state ahead of it, 2 at the time after that, and so on; it ends at the next time in the list. 0 if it
// is not so: runs overlap where a recording has gaps or where clocks differ.
void page_runs_init(struct page_runs *runs, const struct page_trace *trace);
void page_runs_free(struct page_runs *runs);

static inline bool page_state_runs(const struct page_state *state) {
	return (state->kind & PAGE_STATE_KIND) == PAGE_RUNS;
}
