// What a Stack of a profile means on Linux: the kernel events at which stacks are taken.
#pragma once

#include "profile/plan.h"

struct system_stack {
	const char *name;
	const char *events; // of event/event_stacks.h, separated by blanks; NULL if recorded otherwise
	int source;         // enum event_source, to find out if this machine can record it
	const char *part;   // a remark; or NULL
};

// NULL if Linux has nothing like it.
const struct system_stack *stack_on_linux(const char *name);

// All events at which this plan asks for stacks, each once, separated by blanks; empty if none. Events that
// this machine does not have go to `missing`, unless their whole source is requested and reported missing.
void plan_stack_events(const struct plan *plan, plan_why_not *why_not, struct buffer *events,
		       struct buffer *missing);

// Whether it asks for stacks where threads wait.
bool plan_stacks_waits(const struct plan *plan);

// The number of its stacks without a Linux event.
unsigned plan_stacks_missing(const struct plan *plan);

// "taken at block_bio_queue", for display.
void stack_describe(const char *name, plan_why_not *why_not, struct buffer *text);
