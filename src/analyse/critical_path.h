// The critical path: which thread the end of a test waited for at every moment of its time.
//
// It is walked backwards. While the thread runs or is ready, it is on the path itself. While it waits, the
// path goes to the thread that woke it and follows that one, back to where the wait began. A wait that an
// interrupt or a task outside the recording ended stays with the thread. A new thread leads to its creator.
// The pieces follow each other without a hole: together they are the whole time, to the nanosecond.
#pragma once

#include "analyse/timeline.h"
#include "analyse/wait_reason.h"

enum path_state { PATH_RUNS, PATH_READY, PATH_WAITS, PATH_UNKNOWN };

extern const char *const path_state_names[4];

struct path_piece {
	uint64_t from, to;
	uint32_t thread;
	enum path_state state;
	uint32_t moment; // that began the state; 0 if none
	uint32_t woken;  // the moment that ended a wait or began a ready state; 0 if unknown
	uint32_t runs;   // the moment that ended a ready state; 0 if unknown
	uint32_t stack;  // of a wait, or a sample; 0 if unknown
};

// A wait that the path left for its waker.
struct path_wait {
	uint32_t thread, moment; // MOMENT_WAITS, or 0
	uint32_t woken;          // the moment that ended it
	uint64_t from;           // the path comes back here
};

struct path_walk {
	const struct timeline *timeline;
	struct places *places;
	// Takes the pieces, the last one first. `waits` are those that wait for this piece, the outermost
	// first.
	void (*take)(void *context, const struct path_piece *piece, const struct path_wait *waits,
		     size_t wait_count);
	void *context;
};

// Walks from `to` back to `from`, starting in `thread`.
void critical_path(const struct path_walk *walk, uint32_t thread, uint64_t from, uint64_t to);
