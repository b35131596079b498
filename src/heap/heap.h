// The heap of a test: the memory in which a library inside the test counts, and the profiles made
// from it. The memory has an area for the test and, on request, one for each of its children.
#pragma once

#include "base/array.h"
#include "format/heap_format.h"
#include "process/preload.h"

#include <sys/types.h>

#define HEAP_LIBRARY "libtracelet-heap.so"

struct heap_options {
	uint64_t sample; // average bytes between two sampled blocks; 0 to count all
	bool children;   // count child processes too
	bool usable;     // sizes as rounded up by the allocator
	bool leaks;      // find out at the end which blocks can still be reached
};

// Creates the file described in format/heap_format.h, for the test to open; -1 after a warning.
int heap_create(const struct heap_options *options);
void heap_expect(int heap, pid_t test); // sets the test's process id

// Both clocks at the same moment.
struct heap_time {
	uint64_t ticks, ns;
};
struct heap_time heap_time_now(void);

// Bytes and blocks over a whole profile.
struct heap_sums {
	uint64_t bytes, blocks; // allocated
	uint64_t peak; // bytes, at the moment with the most; of several processes, that with the most
	uint64_t left; // bytes that were not freed
	bool sampled;  // these are estimates
};

// ---- at the end of a test ----

struct heap_made;
struct heap_modules;
struct heap_execs;

struct heap_results {
	ARRAY(struct heap_result {
		struct heap_made *made; // see profile.h
		uint64_t begin;         // when counting began, CLOCK_BOOTTIME
		bool first;             // the test itself
	})
	items;
	struct heap_modules *modules;
};

// Collects the profiles of all processes that were counted; warns about missing ones.
void heap_collect(int heap, char **command, const struct heap_time *end, struct heap_results *results);
void heap_results_sum(const struct heap_results *results, struct heap_sums *sums);
void heap_results_free(struct heap_results *results);
void heap_warn_of_children(const struct heap_results *results, const struct heap_execs *execs, pid_t test);

struct heap_files {
	ARRAY(struct heap_file {
		char *path;
		bool child;
	})
	items;
};

// Writes them to files: <stem>.dhat.json, and <stem>.PID.dhat.json for each child.
void heap_save(const struct heap_results *results, const char *stem, struct heap_files *files);
void heap_files_free(struct heap_files *files);

// ---- while it runs ----

// A window covers what was allocated since the last one ended, or since the beginning.
enum heap_window { HEAP_WHOLE, HEAP_WINDOW, HEAP_WINDOW_END };

// The file and the area of a process that has our library. 0 or -errno; -ENOENT if it does not have
// it.
int heap_find(pid_t process, int *heap, uint32_t *area);

// Writes the profile of what has been counted so far to a file ("-": standard output). 0 or -errno. The test
// does not notice. `sums` may be NULL. HEAP_WINDOW_END: the next window begins here; every block is counted
// exactly once.
int heap_snapshot(int heap, uint32_t area, enum heap_window window, const char *path, struct heap_sums *sums);

// What is live in an area, as far as can be determined without stopping the process.
struct heap_live {
	uint32_t pid;
	uint64_t bytes, blocks;
};
bool heap_live_now(int heap, uint32_t index, const struct heap_area *area, struct heap_live *live);
