// Which allocator a running process uses, and where its functions are.
#pragma once

#include "base/array.h"
#include "capture/bpf/heap.h"

#include <signal.h>

struct allocator {
	char *name;                      // the file that contains it
	ARRAY(struct heap_place) places; // without duplicates
	ARRAY(char *) paths;             // paths of the files in `places`
	ARRAY(int) files;                // which are held open
};

// 0, or -errno with the reason in `why`. Ends soon when `*stop` is set by a signal handler.
int allocator_find(struct allocator *allocator, pid_t process, const volatile sig_atomic_t *stop, char *why);

// An allocator inside a program that no preloaded library can intercept, or NULL if none is known.
const char *allocator_within(const char *program);
void allocator_free(struct allocator *allocator);
