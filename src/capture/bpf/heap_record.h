// What the programs that watch a process's allocator report to their loader.
#pragma once

#include "format/heap_function.h" // its values are the programs' cookies
#include "format/record.h"

enum heap_record_kind { HEAP_RECORD_STACK = 1, HEAP_RECORD_BLOCK, HEAP_RECORD_FREE, HEAP_RECORD_EXEC };

// A stack seen for the first time, followed by its addresses, innermost first.
struct heap_stack {
	uint32_t kind, frames;
	uint64_t id;    // the hash of the addresses
	uint32_t flags; // SAMPLE_STACK_ bits
	uint32_t unused;
};

struct heap_block {
	uint32_t kind;
	uint32_t resized; // 1 if `old` became this block
	uint64_t time, address, size;
	uint64_t stack; // id
	uint64_t old;
};

struct heap_free { // or an exec, without an address
	uint32_t kind, unused;
	uint64_t time, address;
};

struct heap_counts {
	uint64_t lost;     // records dropped because the ring was full
	uint64_t unwalked; // blocks without a stack: too many threads were walking
	uint64_t crowded;  // calls dropped for lack of room for more threads or stacks
};
