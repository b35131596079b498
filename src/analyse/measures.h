// Numbers about a whole test, to be compared over months: how long its threads were ready, blocked and
// waiting for disks and locks, how often they were switched and preempted, how many processes it had, what
// it waited for, and which functions its samples are in. A sink in front of another one.
#pragma once

#include "analyse/wait_reason.h"

struct measured_wait {
	uint64_t count, total, longest; // ns
};

struct measured_function {
	char *name;
	uint64_t self; // samples
};

struct measured_counter {
	char *name;
	double value;
};

struct measures {
	bool switches_seen;
	uint64_t ready_ns, blocked_ns, io_ns, lock_ns;
	uint64_t switches, preempted, processes;
	uint64_t syscalls;                         // that were recorded
	ARRAY(struct measured_counter) counters;   // of a PMU, for the test
	struct measured_wait waits[REASON_COUNT];  // those that are long enough to have a stack
	uint64_t samples;                          // of the CPU
	ARRAY(struct measured_function) functions; // the largest first; small ones are left out
};

// Takes ownership of `next`. `measures` is filled in when the sink is finished.
struct sink *measures_open(void *measures, struct tables *tables, struct sink *next);
void measures_free(struct measures *measures);

// {"mutex":[count, total, longest]}: reasons with 1 % of the wall time or more, at most 12, the largest
// first. To be freed; NULL if there are none.
char *measures_waits(const struct measures *measures, double wall_seconds);
// {"samples":n,"self":{"function":n}}. To be freed; NULL if there are none.
char *measures_functions(const struct measures *measures);
