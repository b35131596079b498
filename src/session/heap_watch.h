// How much of a test's heap is live, from time to time, for its trace: read by the tracer
// from the memory it shares with the test, which does nothing for it.
#pragma once

#include "capture/spool.h"

enum { HEAP_WATCH_MS = 20 };

struct heap_watch;

struct heap_watch *heap_watch_new(int heap); // NULL: there is nothing to watch
void heap_watch_turn(struct heap_watch *watch, struct spool *spool, bool last); // what has changed
void heap_watch_free(struct heap_watch *watch);
