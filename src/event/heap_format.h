// What the library that is put into a test (src/preload/heap*.c) counts about its
// heap, in memory that the tracer shares: whatever happens to the test, the counts
// stay. All is counted in place, nothing is a log, so the area does not grow with the
// number of allocations; its tables are sparse and filled from their beginning.
#pragma once

#include <stdint.h>

#define HEAP_VARIABLE "TRACELET_HEAP" // names the area's file for the test

enum {
	HEAP_VERSION = 3,
	HEAP_MOST_PROCESSES = 1 << 10,
	HEAP_HEAD_SIZE = 1 << 16, // a multiple of any page
	HEAP_MOST_MODULES = 1 << 10,
	HEAP_MOST_FRAMES = 1 << 20,
	HEAP_MOST_NODES = 1 << 22,
	HEAP_MOST_POINTS = 1 << 20,
	HEAP_PATH_SIZE = 472,
	HEAP_COMMAND_SIZE = 512,
};

#define HEAP_MAGIC UINT64_C(0x7061656874656c74)

// A file with code. Its addresses are those of the file and `bias`.
struct heap_module {
	uint64_t bias, begin, end;
	uint64_t eh_header, eh_header_size; // .eh_frame_hdr in memory
	char path[HEAP_PATH_SIZE];
};

// A place in the code, inside of the instruction that calls.
struct heap_frame {
	uint64_t address;
	uint32_t module; // one more than the index; 0: none
	uint32_t unused;
};

// Stacks are a tree. Node 0 is its root and has no frame; a parent is before its children.
struct heap_node {
	uint32_t parent, frame;
	uint32_t point; // 0: nothing was allocated here
	uint32_t unused;
};

// What was allocated with one stack. Point 0 is for what found no room in the tables.
struct heap_point {
	uint32_t lock, node;
	uint64_t total_bytes, total_blocks;
	uint64_t bytes, blocks;           // now
	uint64_t most_bytes, most_blocks; // when this point had most bytes
	uint64_t peak_bytes, peak_blocks; // when the whole had most bytes, as of
	uint64_t peak;                    // this peak; if a newer one is known, `bytes` was so then
	uint64_t life;                    // of all blocks that have ended; less the births of the others
	// What there was when a window began, noted by who looks from outside; fills two lines of the cache.
	uint64_t since_bytes, since_blocks, since_most, since_life;
};

// What one process has allocated.
struct heap_area {
	uint32_t owner; // the process
	uint32_t parent;
	uint64_t begin_ticks, begin_ns; // the processor's clock and CLOCK_BOOTTIME
	uint64_t missed;                // blocks that were not recorded: there was no memory for them
	uint64_t interrupted;           // times that a signal's handler did not come back to us
	uint64_t broken;                // tables that somebody holds for good: they are used no more
	uint32_t module_count, frame_count, node_count, point_count;
	// When the last window began, and with which peak; 0: none has.
	uint64_t since_ticks, since_ns, since_peak;
	uint32_t is_left; // by exec, to a program that has not come to count
	uint32_t unused[3];
	// What every allocation changes, on a line of its own.
	uint64_t bytes, most_bytes;
	uint64_t peak; // counts the times that there was more than ever before
	uint64_t peak_ticks;
	uint64_t unused_too[4];
	char command[HEAP_COMMAND_SIZE]; // its words, each with its end
	char program[HEAP_PATH_SIZE];    // its file
	struct heap_module modules[HEAP_MOST_MODULES];
	struct heap_frame frames[HEAP_MOST_FRAMES];
	struct heap_node nodes[HEAP_MOST_NODES];
	struct heap_point points[HEAP_MOST_POINTS];
};

// The beginning of the file: how the tracer wants it, and whose the areas behind it are.
struct heap_head {
	uint64_t magic;
	uint32_t version;
	uint32_t most;     // areas that there is room for
	uint64_t sample;   // bytes between two blocks that are looked at, on average; 0: every block
	uint32_t children; // the children of the first process have an area, too
	uint32_t usable;   // sizes are those that the allocator really gave
	uint32_t count;    // areas that are somebody's
	uint32_t refused;  // processes that came when there was none left
	uint32_t first;    // the test: only this one is counted, unless its children are; 0: who comes first
	uint32_t unused;
	struct heap_owner {
		uint64_t start; // when the process began, as /proc has it
		uint32_t pid;   // 0: it is about to come
		uint32_t unused;
	} owners[HEAP_MOST_PROCESSES];
};

// Each area begins on a page of its own.
#define HEAP_AREA_SIZE                                                                                       \
	((sizeof(struct heap_area) + HEAP_HEAD_SIZE - 1) / HEAP_HEAD_SIZE * (uint64_t)HEAP_HEAD_SIZE)

static inline uint64_t heap_area_offset(uint32_t index) {
	return HEAP_HEAD_SIZE + index * HEAP_AREA_SIZE;
}

static inline uint64_t heap_file_size(uint32_t most) {
	return heap_area_offset(most);
}

// Cheaper than any clock of the system; the tracer knows how long a tick is when it ends.
static inline uint64_t heap_ticks(void) {
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}
