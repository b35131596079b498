// A profile made of one area of the heap's memory: names for addresses, equal stacks made
// one.
#pragma once

#include "event/heap_format.h"
#include "event/strings.h"
#include "session/heap.h"
#include "write/dhat.h"

struct heap_label {
	const char *function, *module; // module: the path of its file, or ""
};

struct heap_made {
	struct dhat_profile profile;
	ARRAY(struct heap_label) labels; // of profile.frames
	struct strings *strings;
	char *command;
};

// The files with code that were looked into: the same for many processes.
struct heap_modules {
	ARRAY(struct elf_object *) items;
	ARRAY(char *) paths;
	int root; // where paths begin; 0: as they do for us
};
// As they are for a process that may be in a container; also when it has ended.
void heap_modules_begin(struct heap_modules *modules, pid_t process);
void heap_modules_free(struct heap_modules *modules);

// HEAP_WINDOW_END writes to the area; the others only read.
struct heap_made *heap_make(struct heap_area *area, enum heap_window window, const struct heap_time *end,
			    struct heap_modules *modules);
void heap_made_free(struct heap_made *made);
