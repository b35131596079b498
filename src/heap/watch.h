// Records how much of a test's heap is live, from time to time, for its trace. The tracer reads
// this from the memory it shares with the test, at no cost for the test.
#pragma once

#include "capture/spool.h"

enum { HEAP_WATCH_MS = 20 };

struct heap_watch;

struct heap_watch *heap_watch_new(int heap); // NULL if there is nothing to watch
void heap_watch_turn(struct heap_watch *watch, struct spool *spool, bool last); // records changes
void heap_watch_free(struct heap_watch *watch);
