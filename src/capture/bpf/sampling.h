// CPU samples: perf events that run on_sample() on every CPU, and what that program
// needs to know of the code it meets: mappings as processes make them, and the
// unwind table of each file, which a thread of its own compiles.
#pragma once

#include "capture/bpf/delivery.h"
#include "capture/spool.h"

#include <sys/types.h>

struct tracelet; // the skeleton
struct sampling;
struct sample_event;

struct sampling_options {
	unsigned frequency;               // 0: no events; the programs need to know of code for other reasons
	bool cycles;                      // the events count the CPU's cycles, else its clock
	const struct sample_event *event; // by its overflow; NULL: in time
	bool by_tables;                   // stacks are walked by tables
	bool all;                         // processes are of interest, also those that are there already
	const pid_t *processes;           // if not all: those that are there already
	size_t process_count;
};

// 0 or -errno. After the programs are loaded, before the test begins.
int sampling_start(struct sampling **sampling, struct tracelet *programs,
		   const struct sampling_options *options);

// The code that was there in the beginning is known, and its tables are made.
bool sampling_is_settled(struct sampling *sampling);

// Hands over the mappings that have been seen. Returns the time before which there are no others.
uint64_t sampling_collect(struct sampling *sampling, struct spool *spool);
// No more samples; hands over the rest. Both may be NULL.
void sampling_stop(struct sampling *sampling, struct spool *spool);
// After that: of an event's overflows; all zero if there is none.
struct sample_delivery sampling_delivery(const struct sampling *sampling);
// Waits for what nobody needs any more, tables that are on their way into the kernel: 10 ms and more.
void sampling_free(struct sampling *sampling);
