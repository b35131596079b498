// Counting a program's heap from inside. heap.c stands before the allocator; behind
// it are heap_walk.c (who called), heap_area.c (the tables that the tracer shares)
// and heap_blocks.c (which blocks are live). None of it calls the allocator, and
// none of it may end the program.
#pragma once

#include "event/heap_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- locks ----

// Held for a few instructions, never over a call of the program's or the allocator's.
void heap_lock_slowly(uint32_t *lock);

static inline void heap_lock(uint32_t *lock) {
	if (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
		heap_lock_slowly(lock);
}

static inline void heap_unlock(uint32_t *lock) {
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

// ---- memory ----

// Zeroed and page-aligned, from the system. NULL: there is none.
void *heap_pages(size_t size);
void heap_pages_free(void *pages, size_t size);

// ---- blocks ----

struct heap_block {
	uint64_t address; // 0: a free slot
	uint64_t size, birth;
	uint32_t point;
	uint32_t unused;
};

// Puts a block in; what was there under its address (its end was not seen) is in `before`, which
// else has address 0. False: there is no memory for it.
bool heap_block_put(const struct heap_block *block, struct heap_block *before);
bool heap_block_take(uint64_t address, struct heap_block *block); // false: not one of ours

// ---- the shared area ----

extern struct heap_area *heap_area; // NULL: nothing is recorded

bool heap_area_open(void);
uint32_t heap_module_of(uint64_t address, struct heap_module *module); // one more than the index, or 0
uint32_t heap_frame_of(uint64_t address, uint32_t module);
// Node and point with this parent and frame; made if new.
uint32_t heap_node_of(uint32_t parent, uint32_t frame);
uint32_t heap_point_of(uint32_t node);

// ---- stacks ----

struct heap_place { // where a function was called
	uint64_t pc, sp, fp;
};

struct heap_thread; // what one thread remembers between its walks

struct heap_thread *heap_thread_new(void); // NULL: no memory
void heap_thread_free(struct heap_thread *thread);
uint32_t heap_walk(struct heap_thread *thread, const struct heap_place *from); // the point

extern uint32_t heap_generation; // of code: another one when a library was unloaded
