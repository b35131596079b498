// Event counters on every CPU, which counters.bpf.c reads whenever a task of the session is
// switched in or out, and at every tick.
#pragma once

#include "capture/capture.h"

struct tracelet; // the skeleton
struct cpu_counters;

// NULL if no events are wanted, or none can be counted here. Reports those that cannot.
struct cpu_counters *cpu_counters_open(const struct counting_options *options);
// Call before the programs are loaded: selects programs and the number of events. `counters` may be
// NULL.
void cpu_counters_prepare(const struct cpu_counters *counters, struct tracelet *programs, uint32_t cpu_count,
			  uint32_t slot);
// Call after loading; returns 0 or -errno.
int cpu_counters_start(struct cpu_counters *counters, struct tracelet *programs, uint32_t cpu_count);
// Writes what the values mean, once, before the first values.
void cpu_counters_describe(struct cpu_counters *counters, struct spool *spool);
// Reports events that had to share a counter, and frees.
void cpu_counters_close(struct cpu_counters *counters);
