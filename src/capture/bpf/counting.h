// Counters of events on every CPU, which counters.bpf.c reads whenever a task of the session comes
// or leaves and at every tick.
#pragma once

#include "capture/spool.h"

struct tracelet; // the skeleton
struct cpu_counters;

struct counting_options {
	const char *events; // a list, as `stat -e` takes it; NULL: none
	uint64_t interval;  // nanoseconds between ticks
	bool per_slice;     // each slice of a thread is wanted with its counts
};

// NULL: none is wanted, or none can be counted here. What cannot is told.
struct cpu_counters *cpu_counters_open(const struct counting_options *options);
// Before the programs are loaded: which of them, and how many events. May be NULL.
void cpu_counters_prepare(const struct cpu_counters *counters, struct tracelet *programs, uint32_t cpu_count,
			  uint32_t slot);
// After that; 0 or -errno.
int cpu_counters_start(struct cpu_counters *counters, struct tracelet *programs, uint32_t cpu_count);
// What the values are: before the first of them. Once.
void cpu_counters_describe(struct cpu_counters *counters, struct spool *spool);
// Tells what had to share a counter, and frees.
void cpu_counters_close(struct cpu_counters *counters);
