// A sink that computes how long a task waited: a sample taken when its task left the CPU
// (SAMPLE_WAITS) is held until a switch brings that task back, then passed on with the
// time in between as its weight. Needs events in order of time.
//
// A task that has been woken does not wait any more: it is ready, and no CPU is free. That time is a second
// sample (SAMPLE_READY), whose outermost frame is FRAME_READY, so that it counts for none of the functions
// that waited.
#pragma once

#include "event/event.h"

#define FRAME_READY "[ready]"

struct sink *blocked_new(struct tables *tables, struct sink *next); // takes ownership of `next`

// The kernel function in which a task waits: the innermost one that is not the scheduler's; a string, 0 if
// unknown.
uint32_t blocked_function(const struct strings *strings, const struct stacks *stacks, uint32_t stack);
