// Stacks that are taken at events of the kernel: samples whose event is that one, each of weight 1.
#pragma once

#include "event/event.h"
#include "event/record.h"

enum { NO_STACK_EVENT = -1 };

// The number by which a recording knows an event, from its name: a point's ("page_fault_minor"), a system
// call's ("sys_enter_mmap") on this machine, and a few more. NO_STACK_EVENT: there is no such event.
int stack_event_find(const char *machine, const char *name);

// The other way round, as a string; of a number that nobody knows "event".
uint32_t stack_event_name(struct strings *strings, const char *machine, uint32_t event);

// Is it the name of such an event, on whatever machine?
bool stack_event_is(const char *name);
