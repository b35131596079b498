// CPU samples: perf events that run on_sample() on every CPU, and what that program needs to know
// about code: mappings as processes make them, and each file's unwind table, compiled by a separate
// thread.
#pragma once

#include "capture/delivery.h"
#include "capture/spool.h"

#include <sys/types.h>

struct tracelet; // the skeleton
struct sampling;
struct sample_event;

struct sampling_options {
	unsigned frequency;               // 0 if none; the programs need the code for something else
	bool cycles;                      // sample on CPU cycles, else on the CPU clock
	const struct sample_event *event; // sample at its overflow; NULL to sample by time
	bool by_tables;                   // walk stacks with unwind tables
	bool rare;                        // look at no file before a stack needs one; there may be none
	bool all;                         // all processes are of interest, including existing ones
	const pid_t *processes;           // if not all: the existing ones to follow
	size_t process_count;
};

// 0 or -errno. Call after loading the programs, before the test starts.
int sampling_start(struct sampling **sampling, struct tracelet *programs,
		   const struct sampling_options *options);

// The code that existed at the start is known and its tables are made.
bool sampling_is_settled(struct sampling *sampling);

// Hands over the mappings seen so far. Returns the time up to which they are complete, `now` at the latest.
uint64_t sampling_collect(struct sampling *sampling, struct spool *spool, uint64_t now);
// Stops sampling and hands over the rest. Both arguments may be NULL.
void sampling_stop(struct sampling *sampling, struct spool *spool);
// Call after stopping: for an event's overflows; all zero without one.
struct sample_delivery sampling_delivery(const struct sampling *sampling);
// Waits for tables still on their way into the kernel, which nothing needs any more: 10 ms and
// more.
void sampling_free(struct sampling *sampling);
