// What a Stack of a profile means on Linux: at which events of the kernel stacks are taken.
#pragma once

#include "profile/plan.h"

struct system_stack {
	const char *name;
	const char *events; // as event/event_stacks.h knows them, a blank between; NULL: others record it
	int source;         // RECORD_SOURCE_*: can it be recorded on this machine?
	const char *part;   // what is special about it, in words; or NULL
};

// NULL: Linux has nothing like it.
const struct system_stack *stack_on_linux(const char *name);

// All events at which this plan wants stacks, each once, a blank between; nothing if there are none. Those
// that this machine does not have go to `missing`, unless their whole source is wanted and will be missed.
void plan_stack_events(const struct plan *plan, plan_why_not *why_not, struct buffer *events,
		       struct buffer *missing);

// Does it want them where threads wait?
bool plan_stacks_waits(const struct plan *plan);

// How many stacks it names that Linux has no event for.
unsigned plan_stacks_missing(const struct plan *plan);

// "taken at block_bio_queue", for what is shown.
void stack_describe(const char *name, plan_why_not *why_not, struct buffer *text);
