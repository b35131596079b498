// Which allocator a running process uses, and where its functions are.
#pragma once

#include "base/array.h"
#include "capture/bpf/heap.h"

struct allocator {
	char *name;                      // the file that has it
	ARRAY(struct heap_place) places; // no two the same
	ARRAY(char *) paths;             // which the places name
};

// 0 or -errno, and why.
int allocator_find(struct allocator *allocator, pid_t process, char *why);

// What a program brings along, so that no library can stand before it; NULL: nothing that is known.
const char *allocator_within(const char *program);
void allocator_free(struct allocator *allocator);
