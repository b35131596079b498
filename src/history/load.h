// Did the test become slower, or was the machine busier? A wall time that grew because others had the CPUs is
// shown, but is no regression. Sessions say how long they waited for a CPU (ready_ns), so this is measured
// and not guessed.
#pragma once

#include "history/rows.h"

// What has to be read for it. Only few tests change, so it is read for those, after they were found.
enum { LOAD_WALL, LOAD_CPU, LOAD_READY, LOAD_METRICS };
extern const struct history_wish load_wish;

struct load_times {
	double wall, cpu, ready; // ns; a session that never waited has no ready_ns: 0
};

// At least half of the difference is time in which the test waited for a CPU, and its CPU time changed by
// less than half as much as its wall time. The second condition is for tests that wait for themselves: those
// with more threads than CPUs and more work than before.
bool load_explains(const struct load_times *before, const struct load_times *after);
