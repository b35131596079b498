// What the events of a recording say about the test as a whole: the CPU time of all its tasks, including
// those that it did not wait for, and which of its processes were still running at the end. Also the facts
// that the tracer wrote at the beginning, for a recording whose tracer is gone.
#pragma once

#include "base/array.h"
#include "flow/pipeline.h"

struct census_process {
	uint32_t pid;
	char *name;
};

// Means something only for a recording of one test; in one of the whole system every task counts.
struct census {
	uint64_t cpu_time;                  // nanoseconds
	ARRAY(struct census_process) alive; // processes that began and did not end, by their ids
	char *backend, *scope;              // NULL if unknown
};

struct tap census_tap(struct census *census);
void census_free(struct census *census);
