// Whether the switches of a CPU join: each names the task that leaves, which the one before it has brought.
// Some kernels do not report every switch, and do not count those as lost.
#pragma once

#include "event/event.h"

// The task that the last switch of a CPU brought. Begins as {0}: unknown.
struct joins {
	uint64_t current; // its number plus 1, or that of all tasks that are not followed
};

// Takes the switches, execs and losses of the CPU. Returns whether a switch is missing before this one.
bool joins_miss(struct joins *cpu, const struct event *event);
