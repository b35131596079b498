// The heap of a test: the memory that a library in the test counts in, and the profile
// that is made of it.
#pragma once

#include "event/heap_format.h"
#include "session/preload.h"

#define HEAP_LIBRARY "libtracelet-heap.so"

// The area of event/heap_format.h, of which the test is told; -1: there is none, as was said.
int heap_create(void);

// When the test has ended, for both clocks.
struct heap_time {
	uint64_t ticks, ns;
};
struct heap_time heap_time_now(void);

// Makes <stem>.dhat.json. Its path, the caller's to free; NULL: there is none, as was said.
char *heap_save(int area, const char *stem, char **command, const struct heap_time *end);

// The profile of an area as a file ("-": standard output). 0 or -errno, said in one line.
int heap_write(const struct heap_area *area, const char *path, const char *command,
	       const struct heap_time *end);
