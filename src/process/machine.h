// What happened on the whole machine: how long tasks were held up for lack of a CPU, a disk or memory
// (pressure stall information), and connections that TCP did not take. A few small files of /proc.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Counts since the machine was started; 0 if the kernel does not say.
struct machine_counters {
	uint64_t cpu_stalled_ns, io_stalled_ns, memory_stalled_ns; // at least one task was held up
	uint64_t listen_overflows; // connections refused because the queue of a listener was full
	uint64_t retransmits;      // TCP segments that were sent again
	bool network;              // the last two were read
};

void machine_read(struct machine_counters *counters, const char *proc); // "/proc"

// The same in two parts: the second takes the kernel 0.1 ms.
void machine_read_pressure(struct machine_counters *counters, const char *proc);
void machine_read_network(struct machine_counters *counters, const char *proc);

// What was counted in between.
struct machine_counters machine_growth(const struct machine_counters *before,
				       const struct machine_counters *after);
