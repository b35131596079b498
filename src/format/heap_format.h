// What the library that is preloaded into a test (src/heap/preload/) counts about its
// heap, in memory shared with the tracer: the counts survive whatever happens to the test.
// Everything is counted in place and nothing is logged, so the area does not grow with the
// number of allocations; its tables are sparse and filled from the beginning.
#pragma once

#include <stdint.h>

#define HEAP_VARIABLE "TRACELET_HEAP" // names the area's file for the test

enum {
	HEAP_VERSION = 4,
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

// A file with code. Its addresses are those in the file plus `bias`.
struct heap_module {
	uint64_t bias, begin, end;
	uint64_t eh_header, eh_header_size; // .eh_frame_hdr in memory
	char path[HEAP_PATH_SIZE];
};

// A place in the code, inside the calling instruction.
struct heap_frame {
	uint64_t address;
	uint32_t module; // index + 1; 0 if none
	uint32_t unused;
};

// Stacks are a tree. Node 0 is its root and has no frame; a parent is before its children.
struct heap_node {
	uint32_t parent, frame;
	uint32_t point; // 0 if nothing was allocated here
	uint32_t unused;
};

// What was allocated from one stack. Point 0 is for what did not fit into the tables.
struct heap_point {
	uint32_t lock, node;
	uint64_t total_bytes, total_blocks;
	uint64_t bytes, blocks;           // now
	uint64_t most_bytes, most_blocks; // when this point held most bytes
	uint64_t peak_bytes, peak_blocks; // when the whole process held most bytes, as of
	uint64_t peak;                    // this peak; at a newer peak it held `bytes`
	uint64_t life;                    // of all freed blocks, minus the births of the live ones
	// What there was when a window began, written by the observer outside; fills two cache lines.
	uint64_t since_bytes, since_blocks, since_most, since_life;
};

// Of the blocks that a point has left, those that the program could still reach when it ended.
struct heap_reached {
	uint64_t bytes, blocks;
};

// What one process has allocated.
struct heap_area {
	uint32_t owner; // the process
	uint32_t parent;
	uint64_t begin_ticks, begin_ns; // the processor's clock and CLOCK_BOOTTIME
	uint64_t missed;                // blocks not recorded for lack of memory
	uint64_t interrupted;           // times that a signal handler did not return to us
	uint64_t broken;                // tables whose lock was never released: no longer used
	uint32_t module_count, frame_count, node_count, point_count;
	// When the last window began, and at which peak; 0 if there was none.
	uint64_t since_ticks, since_ns, since_peak;
	uint32_t is_left;     // by exec of a program that does not count
	uint32_t is_searched; // `reached` is filled: the program ended by itself, with all blocks counted
	uint32_t unused[2];
	// Changed by every allocation, on a separate cache line.
	uint64_t bytes, most_bytes;
	uint64_t peak; // number of peaks so far
	uint64_t peak_ticks;
	uint64_t unused_too[4];
	char command[HEAP_COMMAND_SIZE]; // its arguments, each with its NUL
	char program[HEAP_PATH_SIZE];    // its file
	struct heap_module modules[HEAP_MOST_MODULES];
	struct heap_frame frames[HEAP_MOST_FRAMES];
	struct heap_node nodes[HEAP_MOST_NODES];
	struct heap_point points[HEAP_MOST_POINTS];
	struct heap_reached reached[HEAP_MOST_POINTS];
};

// The head of the file: the tracer's options, and the owners of the areas that follow.
struct heap_head {
	uint64_t magic;
	uint32_t version;
	uint32_t most;     // number of areas that fit
	uint64_t sample;   // average bytes between two sampled blocks; 0 for every block
	uint32_t children; // children of the first process get an area, too
	uint32_t usable;   // count the sizes that the allocator really gave
	uint32_t count;    // areas in use
	uint32_t refused;  // processes that found no free area
	uint32_t first;    // the test: the only one counted, unless children are; 0 for the first to come
	uint32_t leaks;    // find out at the end which blocks can still be reached
	struct heap_owner {
		uint64_t start; // start time of the process, as in /proc
		uint32_t pid;   // 0 if it has not started yet
		uint32_t unused;
	} owners[HEAP_MOST_PROCESSES];
};

// Each area begins on a new page.
#define HEAP_AREA_SIZE                                                                                       \
	((sizeof(struct heap_area) + HEAP_HEAD_SIZE - 1) / HEAP_HEAD_SIZE * (uint64_t)HEAP_HEAD_SIZE)

static inline uint64_t heap_area_offset(uint32_t index) {
	return HEAP_HEAD_SIZE + index * HEAP_AREA_SIZE;
}

static inline uint64_t heap_file_size(uint32_t most) {
	return heap_area_offset(most);
}

// Cheaper than any system clock; the tracer computes the length of a tick at the end.
static inline uint64_t heap_ticks(void) {
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}
