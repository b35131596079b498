// CPU samples: perf events that run on_sample() on every CPU, and what that program
// needs to know of the code it meets: mappings as processes make them, and the
// unwind table of each file, which a thread of its own compiles.
#pragma once

#include "capture/spool.h"

struct tracelet; // the skeleton
struct sampling;

// 0 or -errno. After the programs are loaded, before the test begins.
// frequency 0: no events; the programs need to know of code for other reasons.
int sampling_start(struct sampling **sampling, struct tracelet *programs, unsigned frequency, bool by_tables);

// Hands over the mappings that have been seen. Returns the time before which there are no others.
uint64_t sampling_collect(struct sampling *sampling, struct spool *spool);
// Hands over the rest, and frees. Both may be NULL.
void sampling_stop(struct sampling *sampling, struct spool *spool);
