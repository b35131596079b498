// Which programs a test has started without our library in them: static and set-user-id
// ones, and those whose environment was not passed on.
#pragma once

#include "event/event.h"

struct heap_exec {
	uint32_t pid;
	uint64_t time; // of the process's last one
	char *file;
};

struct heap_execs {
	ARRAY(struct heap_exec) items;
};

// A sink that notes them while it hands every event on; takes over `next`.
struct sink *heap_execs_sink(struct heap_execs *execs, struct tables *tables, struct sink *next);
void heap_execs_free(struct heap_execs *execs);
