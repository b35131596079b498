// What the library that is put into a test (src/preload/heap*.c) counts about its
// heap, in memory that the tracer shares: whatever happens to the test, the counts
// stay. All is counted in place, nothing is a log, so the area does not grow with the
// number of allocations; its tables are sparse and filled from their beginning.
#pragma once

#include <stdint.h>

#define HEAP_VARIABLE "TRACELET_HEAP" // names the area's file for the test

enum {
	HEAP_VERSION = 1,
	HEAP_MOST_MODULES = 1 << 10,
	HEAP_MOST_FRAMES = 1 << 20,
	HEAP_MOST_NODES = 1 << 22,
	HEAP_MOST_POINTS = 1 << 20,
	HEAP_PATH_SIZE = 472,
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
	uint64_t unused[4];               // fills two lines of the cache
};

struct heap_area {
	uint64_t magic;
	uint32_t version;
	uint32_t owner;                 // the process that is recorded; 0: none has come
	uint64_t begin_ticks, begin_ns; // the processor's clock and CLOCK_BOOTTIME
	uint64_t missed;                // blocks that were not recorded
	uint32_t module_count, frame_count, node_count, point_count;
	uint64_t unused[8];
	// What every allocation changes, on a line of its own.
	uint64_t bytes, most_bytes;
	uint64_t peak; // counts the times that there was more than ever before
	uint64_t peak_ticks;
	uint64_t unused_too[4];
	struct heap_module modules[HEAP_MOST_MODULES];
	struct heap_frame frames[HEAP_MOST_FRAMES];
	struct heap_node nodes[HEAP_MOST_NODES];
	struct heap_point points[HEAP_MOST_POINTS];
};

// Cheaper than any clock of the system; the tracer knows how long a tick is when it ends.
static inline uint64_t heap_ticks(void) {
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}
