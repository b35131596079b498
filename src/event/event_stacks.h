// Stacks taken at kernel events: samples with that event, each of weight 1.
#pragma once

#include "event/event.h"
#include "format/record.h"

enum { NO_STACK_EVENT = -1 };

// The number of an event in a recording, from its name: a point ("page_fault_minor"), a system call on this
// machine ("sys_enter_mmap"), and a few more. NO_STACK_EVENT if there is no such event.
int stack_event_find(const char *machine, const char *name);

// The name for a number, as a string; "event" if unknown.
uint32_t stack_event_name(struct strings *strings, const char *machine, uint32_t event);

// Whether this is the name of such an event, on any machine.
bool stack_event_is(const char *name);
