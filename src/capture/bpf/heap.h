// Watches what a running process allocates and frees, by programs at the beginning and the
// end of its allocator's functions (heap.bpf.c). The process is never stopped, and nothing
// of this stays when we end, however we do.
#pragma once

#include "base/memory.h"
#include "capture/bpf/heap_record.h"

#include <sys/types.h>

struct tracelet; // the skeleton
struct heap_probes;

// A function of the allocator: where it is in its file, and how it is called.
struct heap_place {
	const char *path;
	uint64_t offset;
	enum heap_function function;
};

enum { HEAP_WHY_SIZE = 256 };

// Loads the programs and learns the process's code. 0 or -errno, and why.
int heap_probes_open(struct heap_probes **watch, pid_t process, size_t ring_size, char *why);
// Begins. 0 or -errno, and why: then nothing is attached.
int heap_probes_begin(struct heap_probes *watch, const struct heap_place *places, size_t count, char *why);
// Calls `take` with each record that is there, in the order in which things happened.
void heap_probes_drain(struct heap_probes *watch,
		       void (*take)(void *context, const void *record, size_t size), void *context);
void heap_probes_end(struct heap_probes *watch); // nothing is recorded any more; then drain once more
struct heap_counts heap_probes_counts(const struct heap_probes *watch);
void heap_probes_close(struct heap_probes *watch);

void programs_without_heap(struct tracelet *programs); // for those who load them for other reasons
