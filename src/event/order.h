// Puts events of several CPUs into one order of time, with memory for the
// events between two watermarks only.
#pragma once

#include "event/event.h"

// Takes over `next`. Takes runs of records too. Events before a watermark that has passed are pushed on at
// once and counted as late.
struct sink *order_new(struct sink *next);
uint64_t order_late(const struct sink *order);
