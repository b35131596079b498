// Sorts the events of several CPUs by time, with memory only for the events between two
// watermarks. For readers of formats with another order.
#pragma once

#include "event/event.h"

// Takes ownership of `next`. Events before a watermark that has passed are pushed at once; an EVENT_LATE at
// the end says how many. Events without a time (0) are pushed at once, too: an input without times is not
// kept in memory.
struct sink *order_new(struct sink *next);

// For readers, which do not own the next sink.
int order_flush(struct sink *order);                 // pushes all events that wait; does not finish `next`
uint64_t order_impossible(const struct sink *order); // events with an impossible CPU, pushed as CPU_NONE
void order_free(struct sink *order);                 // does not destroy `next`
