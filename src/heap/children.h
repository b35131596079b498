// Programs that a test started without libtracelet-heap.so: static and set-user-id ones, and
// those started without our environment.
#pragma once

#include "flow/convert.h"

struct heap_exec {
	uint32_t pid;
	uint64_t time; // of the process's last exec
	char *file;
};

struct heap_execs {
	ARRAY(struct heap_exec) items;
};

// Collects them while a recording is converted.
struct tap heap_execs_tap(struct heap_execs *execs);
void heap_execs_free(struct heap_execs *execs);
