// How the programs that watch a process's allocator tell their loader what it does.
#pragma once

#include "event/record.h"

// How a function of an allocator is called. The value is the program's cookie.
enum heap_function {
	HEAP_CALL_NONE,
	HEAP_CALL_SIZE,         // malloc(size), and operator new
	HEAP_CALL_COUNT,        // calloc(count, size)
	HEAP_CALL_ALIGNED,      // memalign(alignment, size)
	HEAP_CALL_INTO,         // posix_memalign(pointer, alignment, size)
	HEAP_CALL_RESIZE,       // realloc(old, size)
	HEAP_CALL_RESIZE_COUNT, // reallocarray(old, count, size)
	HEAP_CALL_FREE,         // free(old), and operator delete
};

enum heap_record_kind { HEAP_RECORD_STACK = 1, HEAP_RECORD_BLOCK, HEAP_RECORD_FREE, HEAP_RECORD_EXEC };

// A stack that was not told before; behind it are its addresses, innermost first.
struct heap_stack {
	uint32_t kind, frames;
	uint64_t id;    // the hash of the addresses
	uint32_t flags; // SAMPLE_STACK_ bits
	uint32_t unused;
};

struct heap_block {
	uint32_t kind;
	uint32_t resized; // `old` has become this one
	uint64_t time, address, size;
	uint64_t stack; // id
	uint64_t old;
};

struct heap_free { // or an exec, without address
	uint32_t kind, unused;
	uint64_t time, address;
};

struct heap_counts {
	uint64_t lost;     // records that found no room in the ring
	uint64_t unwalked; // blocks whose stack was not walked: too many threads were in between
	uint64_t crowded;  // calls of more threads than there is room for, or with more stacks
};
