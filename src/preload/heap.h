// Counting a program's heap from inside. heap.c and heap_door.c stand before the allocator; behind
// them are heap_count.c (what is counted), heap_walk.c (who called), heap_area.c (the tables
// that the tracer shares), heap_blocks.c (which blocks are live) and heap_visit.c (locks,
// and who does not come back). None of it calls the allocator, and none of it may end the
// program or make it wait for good.
#pragma once

#include "event/heap_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAP_COLD   __attribute__((noinline, cold))
#define HEAP_PUBLIC __attribute__((visibility("default")))
#define HEAP_SLOW   __attribute__((noinline)) static

// Where the function was called whose first lines this is in.
#define HEAP_CALLER                                                                                          \
	{                                                                                                    \
		(uint64_t) __builtin_return_address(0), (uint64_t)__builtin_frame_address(0) + 16,           \
			*(uint64_t *)__builtin_frame_address(0)                                              \
	}

// ---- visits ----

// A thread that is in here is not counted a second time, be it by a signal handler or by what we
// call ourselves. A handler may also leave for good, by siglongjmp() or with its thread: the visit
// it interrupted is then over, without having ended. Whether that is so is seen by the stack.
struct heap_visit {
	volatile uint64_t mark; // while its frame is there
};

struct heap_self {
	int64_t countdown;        // bytes until the next block is looked at; negative: this one is
	struct heap_visit *visit; // NULL: not in here
	uint32_t *held;           // the lock that is held, or about to be
	uint64_t pending;         // a block that is in the table and not counted yet
	struct heap_thread *thread;
	uint64_t random;
	uint32_t id;             // the thread's; 0: not known yet
	bool drawn;              // the countdown is one
	const void *aligned;     // what memalign() and its like gave last
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

// With a visit of this thread's: is it over though it has not ended? `frame` is of a function that
// was called now. If it is over, what it has left behind is put in order.
bool heap_visit_is_over(const void *frame);
void heap_recover(void);

// No handler comes between these two.
struct heap_quiet {
	uint64_t signals;
};
void heap_quiet_begin(struct heap_quiet *quiet);
void heap_quiet_end(const struct heap_quiet *quiet);

// ---- locks ----

// Held for a few instructions, never over a call of the program's or the allocator's, and one at a
// time. A lock says who holds it. False: somebody holds it for good, and the table is lost.
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

// Zeroed and page-aligned, from the system. NULL: there is none.
void *heap_pages(size_t size);
void heap_pages_free(void *pages, size_t size);

// ---- blocks ----

struct heap_block {
	uint64_t address; // 0: a free slot
	uint64_t size, birth;
	uint32_t point;
	uint32_t weight; // how many blocks it stands for
};

// Puts a block in; what was there under its address (its end was not seen) is in `before`, which
// else has address 0. False: there is no memory for it.
bool heap_block_put(const struct heap_block *block, struct heap_block *before);
bool heap_block_take(uint64_t address, struct heap_block *block); // false: not one of ours
void heap_blocks_repair(const uint32_t *lock); // whose holder will not come back; it may be another one's
void heap_blocks_forget(void);                 // in a new process

// ---- the shared area ----

extern struct heap_area *heap_area; // NULL: nothing is recorded

// What the tracer wants.
extern struct heap_wishes {
	uint64_t sample;
	bool children, usable;
} heap_wishes;

bool heap_area_open(void); // also by a new process, if it is wanted
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
void heap_thread_forget(struct heap_thread *thread);  // in a new process
void heap_thread_recover(struct heap_thread *thread); // after a walk that did not end
uint32_t heap_walk(struct heap_thread *thread, const struct heap_place *from); // the point
bool heap_same_stack(const struct heap_thread *thread, uint64_t one, uint64_t other);

extern uint32_t heap_generation; // of code: another one when a library was unloaded

// ---- the allocator, and the doors before it ----

// Whoever comes after us.
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

// For blocks that may be looked at. A door jumps to these, so they were called by the program.
void *heap_malloc_slowly(size_t size);
void heap_free_slowly(void *block);
void *heap_calloc_slowly(size_t count, size_t size);
void *heap_realloc_slowly(void *old, size_t size);

void heap_doors_lead(void); // straight to the allocator, which is known now
// ---- other ways into the allocator ----

void heap_exec_begin(void);       // before anybody calls exec
const void *heap_allocator(void); // its malloc(); NULL: it is not known yet
// A block that it gave, or is about to take back, by a function that asks none of ours but those for
// aligned blocks: whether it did is in heap_self.aligned. `frame` is of the
// function that was called.
void heap_made(void *block, size_t size, const struct heap_place *caller, const void *frame);
void heap_gone(void *block, const void *frame);

// ---- counting ----

// A visit is going on.
void heap_count_begin(void *address, size_t size, const struct heap_place *caller);
void heap_count_end(void *address);
// Before and after the allocator resizes: the block is out of the table while its address may be
// given to others.
bool heap_count_resize(void *old, struct heap_block *block);
void heap_count_resized(struct heap_block *block, void *resized, size_t size);

// Only blocks whose place here is not 0 may be known: with samples, few of them. UINT8_MAX stays.
enum { HEAP_MARKS = 1 << 14 };
extern uint8_t heap_marks[HEAP_MARKS];

static inline uint8_t *heap_mark_of(const void *block) {
	return &heap_marks[(uint64_t)block >> 4 & (HEAP_MARKS - 1)];
}
void heap_mark(const void *block);
int64_t heap_draw(void); // a new countdown
