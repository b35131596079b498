// A profile made from one area of the heap's memory: resolves addresses to names and merges
// equal stacks.
#pragma once

#include "event/strings.h"
#include "format/heap_format.h"
#include "heap/heap.h"
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

// The files with code that were examined, shared by many processes.
struct heap_modules {
	struct namer *namer; // NULL before the first file
	struct strings *paths;
	ARRAY(struct elf_object *) items; // by the id of the path
	int root;                         // root directory of the paths; 0 for ours
};
// Paths as seen by a process that may be in a container; also after its end.
void heap_modules_begin(struct heap_modules *modules, pid_t process);
void heap_modules_free(struct heap_modules *modules);

// How many items of its tables an area has: no more than have memory, whatever the test claims.
struct heap_extent {
	uint32_t modules, frames, nodes, points;
};
struct heap_extent heap_extent(int heap, uint32_t index, const struct heap_area *area);

// HEAP_WINDOW_END writes to the area; the others only read.
struct heap_made *heap_make(struct heap_area *area, const struct heap_extent *extent, enum heap_window window,
			    const struct heap_time *end, struct heap_modules *modules);
void heap_made_free(struct heap_made *made);
void heap_add_sums(struct heap_sums *sums, const struct heap_made *made);
