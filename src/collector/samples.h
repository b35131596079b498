// Stacks on their way to a client (capture/bpf/stacks.bpf.c makes them). In the ring they have addresses of
// the kernel, and after them whatever the programs' memory had in it before. A client gets neither: kernel
// functions become numbers, which are not addresses of anything, and each is named once to each client. Root
// with all its rights gets the whole kernel stack. Others get of a wait the function
// that waited, which /proc/PID/wchan shows them, too, and of every stack the one that says what the
// task was in the kernel for, such as a page fault.
#pragma once

#include "format/collector_wire.h"

#include <stdbool.h>
#include <stddef.h>

struct samples;
struct session;

enum { SAMPLES_MOST_NAMES = 8192 };

// How to name a kernel address; false if it has no name.
typedef bool samples_resolve(void *context, uint64_t address, char name[COLLECTOR_NAME_SIZE],
			     uint64_t *start);

struct samples *samples_new(samples_resolve *resolve, void *context);
void samples_free(struct samples *samples);

bool samples_are_in(const struct batch *batch); // a sample is alone in its batch

// The names that a client has been told.
struct samples_told {
	uint8_t bits[SAMPLES_MOST_NAMES / 8];
};

// Sends a name; false if there is no room for it now.
typedef bool samples_tell(void *context, struct collector_name *name);

enum { SAMPLES_MOST_BATCH = 48 * 1024, SAMPLES_MORE = 16 };

// Writes the batch as its client gets it: its size; 0 if a name could not be told; it is to be tried again.
// `whole`: the client may see kernel stacks. It needs SAMPLES_MOST_BATCH bytes at most, and no more than
// SAMPLES_MORE bytes beyond the size of what is in the ring.
size_t samples_rewrite(struct samples *samples, const struct batch *batch, bool whole,
		       struct samples_told *told, samples_tell *tell, void *context, uint8_t *out);
