// The heap of a test: the memory that a library in the test counts in, and the profiles
// that are made of it. The memory has an area for the test and, if they are wanted, for
// each of its children.
#pragma once

#include "base/array.h"
#include "event/heap_format.h"
#include "session/preload.h"

#include <sys/types.h>

#define HEAP_LIBRARY "libtracelet-heap.so"

struct heap_options {
	uint64_t sample; // bytes between two blocks that are looked at, on average; 0: all are
	bool children;   // count these, too
	bool usable;     // sizes as the allocator rounds them up
};

// The file of event/heap_format.h, of which the test is told; -1: there is none, as was said.
int heap_create(const struct heap_options *options);
void heap_expect(int heap, pid_t test); // whose heap it is

// Both clocks at one time.
struct heap_time {
	uint64_t ticks, ns;
};
struct heap_time heap_time_now(void);

// ---- at the end of a test ----

struct heap_made;
struct heap_modules;
struct heap_execs;

struct heap_results {
	ARRAY(struct heap_result {
		struct heap_made *made; // see heap_profile.h
		uint64_t begin;         // when it began to be counted, CLOCK_BOOTTIME
		bool first;             // the test itself
	})
	items;
	struct heap_modules *modules;
};

// The profiles of all that were counted. What there is not has been said.
void heap_collect(int heap, char **command, const struct heap_time *end, struct heap_results *results);
void heap_results_free(struct heap_results *results);
void heap_warn_of_children(const struct heap_results *results, const struct heap_execs *execs, pid_t test);

struct heap_files {
	ARRAY(struct heap_file {
		char *path;
		bool child;
	})
	items;
};

// As files: <stem>.dhat.json, and <stem>.PID.dhat.json of each child.
void heap_save(const struct heap_results *results, const char *stem, struct heap_files *files);
void heap_files_free(struct heap_files *files);

// ---- while it runs ----

// A window is what was allocated since the last one ended, or since the beginning.
enum heap_window { HEAP_WHOLE, HEAP_WINDOW, HEAP_WINDOW_END };

// The file and the area of a process that our library is in. 0 or -errno; -ENOENT: it is not.
int heap_find(pid_t process, int *heap, uint32_t *area);

// The profile of what has been counted so far, as a file ("-": standard output). 0 or -errno. The test
// does not notice. HEAP_WINDOW_END: the next window begins here; nothing is counted twice or not at all.
int heap_snapshot(int heap, uint32_t area, enum heap_window window, const char *path);

// What is live in an area, as far as can be told without stopping it.
struct heap_live {
	uint32_t pid;
	uint64_t bytes, blocks;
};
bool heap_live_now(const struct heap_area *area, struct heap_live *live);
