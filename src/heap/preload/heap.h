// Counts a program's heap from inside. heap.c and door.c intercept the calls of the allocator; the
// rest is count.c (what is counted), walk.c (the callers), area.c (the tables shared with the
// tracer), blocks.c (which blocks are live), reach.c (which of them can be reached at the end) and
// visit.c (locks, and calls that never return). None
// of this calls the allocator, and none of it may end the program or block it forever.
#pragma once

#include "format/heap_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAP_COLD   __attribute__((noinline, cold))
#define HEAP_PUBLIC __attribute__((visibility("default")))
#define HEAP_SLOW   __attribute__((noinline)) static

// The call site of the function that uses this in its first lines.
#define HEAP_CALLER                                                                                          \
	{                                                                                                    \
		(uint64_t) __builtin_return_address(0), (uint64_t)__builtin_frame_address(0) + 16,           \
			*(uint64_t *)__builtin_frame_address(0)                                              \
	}

// ---- visits ----

// While a thread is in here it is not counted again, whether a signal handler calls us or we call the
// allocator ourselves. A handler may also leave for good, by siglongjmp() or with its thread: the visit that
// it interrupted is then over without having ended. The stack shows whether that happened.
struct heap_visit {
	volatile uint64_t mark; // valid while its frame exists
};

struct heap_self {
	int64_t countdown;        // bytes until the next block is sampled; negative: sample this one
	struct heap_visit *visit; // NULL if not in here
	uint32_t *held;           // the lock that is held, or about to be taken
	uint64_t pending;         // a block that is in the table but not counted yet
	struct heap_thread *thread;
	uint64_t random;
	uint32_t id;             // the thread's; 0 if not known yet
	bool drawn;              // the countdown has been drawn
	const void *aligned;     // the last result of memalign() and similar functions
	unsigned char ends_seen; // see thread_ends()
};

extern __thread struct heap_self heap_self __attribute__((tls_model("initial-exec")));

enum { HEAP_MARK = 0x7665726c };

static inline void heap_enter(struct heap_visit *visit) {
	visit->mark = HEAP_MARK;
	heap_self.visit = visit;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void heap_leave(void) {
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	heap_self.visit = NULL;
}

// This thread has a visit: was it abandoned? `frame` is of a function that is being called now. If so,
// repairs what the visit left unfinished.
bool heap_visit_is_over(const void *frame);
void heap_recover(void);

// No signal handler runs between these two.
struct heap_quiet {
	uint64_t signals;
};
void heap_quiet_begin(struct heap_quiet *quiet);
void heap_quiet_end(const struct heap_quiet *quiet);

// ---- locks ----

// Held for a few instructions, one at a time, and never during a call of the program or the allocator. A lock
// contains its holder. False if the holder will never release it: the table is lost.
#define HEAP_LOCK_BROKEN UINT32_MAX

bool heap_lock_slowly(uint32_t *lock);

static inline bool heap_lock(uint32_t *lock) {
	uint32_t nobody = 0;
	heap_self.held = lock;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return __atomic_compare_exchange_n(lock, &nobody, heap_self.id, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED) ||
	       heap_lock_slowly(lock);
}

static inline void heap_unlock(uint32_t *lock) {
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	heap_self.held = NULL;
}

// ---- memory ----

// Zeroed and page-aligned memory from the system, or NULL.
void *heap_pages(size_t size);
void heap_pages_free(void *pages, size_t size);

// ---- blocks ----

struct heap_block {
	uint64_t address; // 0 if the slot is free
	uint64_t size, birth;
	uint32_t point;
	uint32_t weight; // how many blocks it represents
};

// Adds a block. If the table already had one at this address (its end was not seen), that is in `before`;
// else before->address is 0. False if there is no memory for it.
bool heap_block_put(const struct heap_block *block, struct heap_block *before);
bool heap_block_take(uint64_t address, struct heap_block *block); // false if unknown
void heap_blocks_repair(const uint32_t *lock); // after its holder was lost; the lock may be another shard's
void heap_blocks_forget(void);                 // in a new process
size_t heap_blocks_count(void);
void heap_blocks_each(void); // gives all to heap_reach_take(), and the tables to heap_reach_exclude()

// ---- the end ----

// Fills the area's `reached`. The frames of the first thread begin at `stack`.
void heap_reach(uint64_t stack);
void heap_reach_take(const struct heap_block *block);
void heap_reach_exclude(const void *begin, size_t size); // memory that is no root

// ---- the shared area ----

extern struct heap_area *heap_area; // NULL if nothing is recorded

// What the tracer asks for.
extern struct heap_wishes {
	uint64_t sample;
	bool children, usable, leaks;
} heap_wishes;

bool heap_area_open(void);                                             // also for a new process, if requested
uint32_t heap_module_of(uint64_t address, struct heap_module *module); // index + 1, or 0
uint32_t heap_frame_of(uint64_t address, uint32_t module);
// The node and point with this parent and frame, created if new.
uint32_t heap_node_of(uint32_t parent, uint32_t frame);
uint32_t heap_point_of(uint32_t node);

// ---- stacks ----

struct heap_place { // where a function was called
	uint64_t pc, sp, fp;
};

struct heap_thread; // what one thread caches between its walks

struct heap_thread *heap_thread_new(void); // NULL if out of memory
void heap_thread_free(struct heap_thread *thread);
void heap_thread_forget(struct heap_thread *thread);  // in a new process
void heap_thread_recover(struct heap_thread *thread); // after a walk that did not end
uint32_t heap_walk(struct heap_thread *thread, const struct heap_place *from); // returns the point
// At the end of the program: where its stack begins. Once main() has returned, what is left of its frame is
// not in use, but may still hold pointers.
uint64_t heap_stack_in_use(struct heap_thread *thread, const struct heap_place *from);
bool heap_same_stack(const struct heap_thread *thread, uint64_t one, uint64_t other);

extern uint32_t heap_generation; // generation of the code: changes when a library is unloaded

// ---- the allocator, and the functions in front of it ----

// The next definition of each function after ours.
extern struct heap_next {
	void *(*malloc)(size_t size);
	void (*free)(void *block);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *block, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	int (*posix_memalign)(void **block, size_t alignment, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
	size_t (*usable_size)(void *block);
	int (*dlclose)(void *library);
} heap_next;

// For blocks that may be sampled. A door jumps to these, so their caller is the program.
void *heap_malloc_slowly(size_t size);
void heap_free_slowly(void *block);
void *heap_calloc_slowly(size_t count, size_t size);
void *heap_realloc_slowly(void *old, size_t size);

void heap_doors_lead(void); // patches the jumps to go straight to the allocator, once it is known
// ---- other ways into the allocator ----

void heap_exec_begin(void);       // call before the first exec
const void *heap_allocator(void); // its malloc(), or NULL if not known yet
// For functions that return or free a block without calling any of ours, except those for aligned
// blocks: heap_self.aligned shows if one was called. `frame` belongs to the function that was
// called.
void heap_made(void *block, size_t size, const struct heap_place *caller, const void *frame);
void heap_gone(void *block, const void *frame);

// ---- counting ----

// Call these during a visit.
void heap_count_begin(void *address, size_t size, const struct heap_place *caller);
void heap_count_end(void *address);
// Before and after the allocator resizes a block: the block is not in the table while its address
// may be reused.
bool heap_count_resize(void *old, struct heap_block *block);
void heap_count_resized(struct heap_block *block, void *resized, size_t size);

// Only blocks whose entry here is not 0 may be in the table: with samples, few are. UINT8_MAX is never
// decremented.
enum { HEAP_MARKS = 1 << 14 };
extern uint8_t heap_marks[HEAP_MARKS];

static inline uint8_t *heap_mark_of(const void *block) {
	return &heap_marks[(uint64_t)block >> 4 & (HEAP_MARKS - 1)];
}
void heap_mark(const void *block);
int64_t heap_draw(void); // a new countdown
