// Watches what a running process allocates and frees, with programs at entry and return of its
// allocator's functions (heap.bpf.c). The process is never stopped, and nothing of this outlives
// us, however we end.
#pragma once

#include "base/memory.h"
#include "capture/bpf/heap_record.h"

#include <sys/types.h>

struct tracelet; // the skeleton
struct heap_probes;

// An allocator function: its place in its file, and its signature.
struct heap_place {
	const char *path;
	uint64_t offset;
	enum heap_function function;
};

enum { HEAP_WHY_SIZE = 256 };

// Checks that this kernel accepts the programs and can attach them. 0, or -errno and why.
int heap_probes_check(char *why);

// Loads the programs and learns the process's code. 0, or -errno and why.
int heap_probes_open(struct heap_probes **watch, pid_t process, size_t ring_size, char *why);
// Starts recording. 0, or -errno and why; then nothing is attached.
int heap_probes_begin(struct heap_probes *watch, const struct heap_place *places, size_t count, char *why);
// Calls `take` for each record in the ring, in the order of events.
void heap_probes_drain(struct heap_probes *watch,
		       void (*take)(void *context, const void *record, size_t size), void *context);
void heap_probes_end(struct heap_probes *watch); // stops recording; drain once more afterwards
struct heap_counts heap_probes_counts(const struct heap_probes *watch);
void heap_probes_close(struct heap_probes *watch);

void programs_without_heap(struct tracelet *programs); // for callers that load them for something else
