// Preloaded into a program (LD_PRELOAD), this counts its heap: what is allocated where, how
// much of it is live now, at most and at the peak of the whole, and for how long.
// It intercepts the calls of whatever allocator comes next and changes none of its blocks.
//
// Each function has a fast path, for blocks that are not sampled (door.c has those of the first
// four), and a slow one that it jumps to, so that the caller of the slow one is the program too.
// The fast path checks only the thread's countdown and a count by the block's address; until
// everything is initialised, both select the slow path.
//
// Child processes are counted on request. A page that the kernel wipes at a fork detects new
// processes, even those forked without libc.
#include "heap/preload/heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PUBLIC HEAP_PUBLIC
#define CALLER HEAP_CALLER

struct heap_next heap_next;

static bool *on; // on a page that is wiped in a child; NULL if nothing is recorded
static bool begun;
static pthread_key_t thread_key;
static bool has_key;

// ---- the beginning ----

// dlsym() itself may allocate before we know the next allocator. That memory is never freed.
static char first_memory[1 << 14];
static size_t first_used;

static void *from_first_memory(size_t size, size_t alignment) {
	size_t at = (first_used + alignment - 1) & ~(alignment - 1);
	if (at > sizeof(first_memory) || size > sizeof(first_memory) - at)
		return NULL;
	first_used = at + size;
	return first_memory + at;
}

static bool in_first_memory(const void *block) {
	return (const char *)block >= first_memory &&
	       (const char *)block < first_memory + sizeof(first_memory);
}

// Like musl's calloc(), which calls malloc(): that would be ours, and the block would be counted
// twice.
static void *calloc_of_musl(size_t count, size_t size) {
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	void *block = heap_next.malloc(bytes);
	return block ? memset(block, 0, bytes) : NULL;
}

// pthread_atfork() is statically linked from glibc, and musl would not load a library that needs
// the function behind it; whether that exists tells the two apart.
extern int __register_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void),
			     void *library) __attribute__((weak));
extern void *__dso_handle;

static void find_next(void) {
	struct {
		const char *name;
		void *function;
	} const wanted[] = {
		{"malloc", &heap_next.malloc},
		{"free", &heap_next.free},
		{"calloc", &heap_next.calloc},
		{"realloc", &heap_next.realloc},
		{"memalign", &heap_next.memalign},
		{"posix_memalign", &heap_next.posix_memalign},
		{"aligned_alloc", &heap_next.aligned_alloc},
		{"valloc", &heap_next.valloc},
		{"pvalloc", &heap_next.pvalloc},
		{"malloc_usable_size", &heap_next.usable_size},
		{"dlclose", &heap_next.dlclose},
	};
	struct heap_visit visit, *before = heap_self.visit;
	struct heap_quiet quiet;
	heap_quiet_begin(&quiet);
	heap_enter(&visit);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		*(void **)wanted[i].function = dlsym(RTLD_NEXT, wanted[i].name);
	if (!__register_atfork)
		heap_next.calloc = calloc_of_musl;
	heap_exec_begin();
	heap_self.visit = before;
	heap_quiet_end(&quiet);
}

// Check every block when it is freed; or none, if nothing is counted; or only marked ones.
static void begin_marks(bool every) {
	memset(heap_marks, every ? UINT8_MAX : 0, sizeof(heap_marks));
	for (size_t i = 0; i < first_used; i += 16)
		heap_mark(first_memory + i);
}

// A thread's cache of walks is freed with the thread: in the last round of its destructors, because
// other destructors may allocate.
static void thread_ends(void *thread) {
	enum { ROUNDS = 3 };
	struct heap_visit visit;
	bool interrupted = heap_self.visit;
	heap_enter(&visit);
	if (interrupted)
		heap_recover();
	if (++heap_self.ends_seen >= ROUNDS || pthread_setspecific(thread_key, thread) != 0) {
		heap_self.thread = NULL;
		heap_self.ends_seen = ROUNDS;
		heap_thread_free(thread);
	}
	heap_leave();
}

static void in_child(void) {
	heap_self.countdown = -1;
	heap_self.drawn = false;
}

static void hear_of_forks(void) {
	int (*register_musl)(void (*)(void), void (*)(void), void (*)(void)) = NULL;
	if (__register_atfork) {
		__register_atfork(NULL, NULL, in_child, __dso_handle);
		return;
	}
	*(void **)&register_musl = dlsym(RTLD_NEXT, "pthread_atfork");
	if (register_musl)
		register_musl(NULL, NULL, in_child);
}

__attribute__((constructor)) static void begin(void) {
	if (__atomic_exchange_n(&begun, true, __ATOMIC_ACQ_REL))
		return;
	int error = errno;
	if (!heap_next.malloc)
		find_next();
	bool *page = heap_pages((size_t)sysconf(_SC_PAGESIZE));
	if (page && madvise(page, (size_t)sysconf(_SC_PAGESIZE), MADV_WIPEONFORK) == 0 && heap_area_open()) {
		struct heap_visit visit;
		heap_enter(&visit);
		has_key = pthread_key_create(&thread_key, thread_ends) == 0;
		if (heap_wishes.children)
			hear_of_forks();
		heap_leave();
		*page = true;
		on = page;
	}
	begin_marks(on && !heap_wishes.sample);
	if (!on || heap_wishes.sample) // otherwise every block is checked
		heap_doors_lead();
	heap_self.countdown = -1; // the functions we called may have allocated, uncounted
	errno = error;
}

// The environment is available before anything except the dynamic linker allocates.
extern char **environ;

static bool know_next(void) {
	if (__builtin_expect(heap_next.malloc && begun, 1))
		return true;
	if (!heap_next.malloc && !heap_self.visit)
		find_next();
	if (environ && !heap_self.visit)
		begin();
	return heap_next.malloc;
}

// In a forked process: claims an empty area. False if it gets none.
HEAP_COLD static bool begin_in_child(void) {
	if (!heap_wishes.children)
		return false;
	int error = errno;
	struct heap_visit visit;
	struct heap_quiet quiet;
	heap_quiet_begin(&quiet);
	struct heap_self fresh = {.countdown = -1, .thread = heap_self.thread, .visit = &visit};
	heap_enter(&visit);
	heap_self = fresh;
	if (heap_self.thread)
		heap_thread_forget(heap_self.thread);
	heap_blocks_forget();
	begin_marks(!heap_wishes.sample);
	*on = heap_area_open();
	heap_wishes.children = *on;
	heap_leave();
	heap_quiet_end(&quiet);
	errno = error;
	return *on;
}

HEAP_COLD static void begin_thread(void) {
	int error = errno;
	heap_self.id = (uint32_t)syscall(SYS_gettid);
	errno = error;
}

// Whether this thread counts now. `frame` belongs to the function that was called.
static inline bool recording(const void *frame) {
	if (!on || (heap_self.visit && !heap_visit_is_over(frame)))
		return false;
	if (__builtin_expect(!*on, 0) && !begin_in_child()) {
		if (heap_marks[0] == UINT8_MAX) // the first time
			begin_marks(false);
		return false;
	}
	if (__builtin_expect(!heap_self.id, 0))
		begin_thread();
	return true;
}

// Whether a block of this size is counted; draws the countdown to the next one.
static inline bool chosen(size_t size, const void *frame) {
	if (!recording(frame)) {
		bool for_good = begun && (!on || !*on);
		heap_self.countdown = for_good ? INT64_MAX : heap_wishes.sample ? heap_draw() : -1;
		return false;
	}
	if (!heap_wishes.sample) {
		heap_self.countdown = -1;
		return true;
	}
	if (heap_self.countdown >= 0) // we are here for another reason
		return false;
	if (!heap_self.drawn) {
		heap_self.drawn = true;
		heap_self.countdown = heap_draw() - (int64_t)size - 1;
		if (heap_self.countdown >= 0)
			return false;
	}
	heap_self.countdown = heap_draw();
	return true;
}

// Before a block is allocated: true if it is not sampled. A negative size, which no allocator
// accepts, must not count upwards.
static inline bool passes(size_t size) {
	heap_self.countdown -= (int64_t)(size & SIZE_MAX >> 2) + 1;
	return __builtin_expect(heap_self.countdown >= 0, 1);
}

static inline bool is_marked(const void *block) {
	return *heap_mark_of(block);
}

// Ours is loaded first, so it ends among the last, when the program has freed what it wants to free.
__attribute__((destructor)) static void end(void) {
	struct heap_place caller = CALLER;
	if (!heap_wishes.leaks || heap_wishes.sample || !recording(__builtin_frame_address(0)))
		return;
	struct heap_visit visit;
	heap_enter(&visit);
	if (!heap_self.thread)
		heap_self.thread = heap_thread_new();
	heap_reach(heap_self.thread ? heap_stack_in_use(heap_self.thread, &caller) : caller.sp);
	heap_leave();
}

// ---- counting ----

HEAP_COLD static void know_thread(void) {
	int error = errno;
	struct heap_quiet quiet;
	heap_quiet_begin(&quiet);
	heap_self.thread = heap_thread_new();
	if (heap_self.thread && has_key)
		pthread_setspecific(thread_key, heap_self.thread);
	heap_quiet_end(&quiet);
	errno = error;
}

static inline void note_begin(void *block, size_t size, const struct heap_place *caller) {
	struct heap_visit visit;
	heap_enter(&visit);
	if (__builtin_expect(!heap_self.thread, 0))
		know_thread();
	if (heap_wishes.usable && heap_next.usable_size)
		size = heap_next.usable_size(block);
	heap_count_begin(block, size, caller);
	heap_leave();
}

// ---- the allocator's functions ----

void *heap_malloc_slowly(size_t size) {
	struct heap_place caller = CALLER;
	if (!know_next())
		return from_first_memory(size, 16);
	bool counted = chosen(size, __builtin_frame_address(0));
	void *block = heap_next.malloc(size);
	if (block && counted)
		note_begin(block, size, &caller);
	return block;
}

void heap_free_slowly(void *block) {
	if (!block || in_first_memory(block) || !know_next())
		return;
	if (recording(__builtin_frame_address(0))) {
		struct heap_visit visit;
		heap_enter(&visit);
		heap_count_end(block);
		heap_leave();
	}
	heap_next.free(block);
}

void *heap_calloc_slowly(size_t count, size_t size) {
	struct heap_place caller = CALLER;
	if (!know_next())
		return size && count > sizeof(first_memory) / size ? NULL
								   : from_first_memory(count * size, 16);
	bool counted = chosen(count * size, __builtin_frame_address(0));
	void *block = heap_next.calloc(count, size);
	if (block && counted)
		note_begin(block, count * size, &caller);
	return block;
}

static void *resize(void *old, size_t size, const struct heap_place *caller, bool counted) {
	struct heap_block block;
	struct heap_visit visit;
	heap_enter(&visit);
	bool ours = heap_count_resize(old, &block);
	void *resized = heap_next.realloc(old, size);
	size_t now = resized && heap_wishes.usable && heap_next.usable_size ? heap_next.usable_size(resized)
									    : size;
	if (ours)
		heap_count_resized(&block, resized, now);
	heap_leave();
	if (resized && counted && (!ours || heap_wishes.sample))
		note_begin(resized, size, caller);
	return resized;
}

static void *move_from_first_memory(void *old, size_t size) {
	void *block = know_next() ? heap_next.malloc(size) : from_first_memory(size, 16);
	size_t most = (size_t)(first_memory + sizeof(first_memory) - (char *)old);
	if (block && old)
		memcpy(block, old, size < most ? size : most);
	return block;
}

static inline void *reallocate(void *old, size_t size, const struct heap_place *caller, const void *frame) {
	if (!know_next() || in_first_memory(old))
		return move_from_first_memory(old, size);
	bool counted = chosen(size, frame);
	if (old && recording(frame))
		return resize(old, size, caller, counted);
	void *block = heap_next.realloc(old, size);
	if (block && !old && counted)
		note_begin(block, size, caller);
	return block;
}

void *heap_realloc_slowly(void *old, size_t size) {
	struct heap_place caller = CALLER;
	return reallocate(old, size, &caller, __builtin_frame_address(0));
}

PUBLIC void *reallocarray(void *old, size_t count, size_t size) {
	struct heap_place caller = CALLER;
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	if (passes(bytes) && !is_marked(old))
		return heap_next.realloc(old, bytes);
	return reallocate(old, bytes, &caller, __builtin_frame_address(0));
}

// Calls that the allocator makes to itself on the way are not counted.
#define COUNTED(call, block, size)                                                                           \
	do {                                                                                                 \
		bool counted = !passes(size) && chosen(size, __builtin_frame_address(0));                    \
		struct heap_visit visit;                                                                     \
		if (counted)                                                                                 \
			heap_enter(&visit);                                                                  \
		call;                                                                                        \
		if (counted)                                                                                 \
			heap_leave();                                                                        \
		heap_self.aligned = (block);                                                                 \
		if (counted && (block))                                                                      \
			note_begin(block, size, &caller);                                                    \
	} while (0)

PUBLIC void *memalign(size_t alignment, size_t size) {
	struct heap_place caller = CALLER;
	void *block = NULL;
	if (know_next() && heap_next.memalign)
		COUNTED(block = heap_next.memalign(alignment, size), block, size);
	return block;
}

PUBLIC int posix_memalign(void **block, size_t alignment, size_t size) {
	struct heap_place caller = CALLER;
	int error = ENOMEM;
	if (know_next() && heap_next.posix_memalign)
		COUNTED(error = heap_next.posix_memalign(block, alignment, size), error ? NULL : *block,
			size);
	return error;
}

PUBLIC void *aligned_alloc(size_t alignment, size_t size) {
	struct heap_place caller = CALLER;
	void *block = NULL;
	if (know_next() && heap_next.aligned_alloc)
		COUNTED(block = heap_next.aligned_alloc(alignment, size), block, size);
	return block;
}

PUBLIC void *valloc(size_t size) {
	struct heap_place caller = CALLER;
	void *block = NULL;
	if (know_next() && heap_next.valloc)
		COUNTED(block = heap_next.valloc(size), block, size);
	return block;
}

PUBLIC void *pvalloc(size_t size) {
	struct heap_place caller = CALLER;
	void *block = NULL;
	if (know_next() && heap_next.pvalloc)
		COUNTED(block = heap_next.pvalloc(size), block, size);
	return block;
}

const void *heap_allocator(void) {
	const void *found;
	know_next();
	memcpy(&found, &heap_next.malloc, sizeof(found));
	return found;
}

void heap_made(void *block, size_t size, const struct heap_place *caller, const void *frame) {
	if (heap_self.aligned != block && !passes(size) && know_next() && chosen(size, frame))
		note_begin(block, size, caller);
}

void heap_gone(void *block, const void *frame) {
	if (!is_marked(block) || !recording(frame))
		return;
	struct heap_visit visit;
	heap_enter(&visit);
	heap_count_end(block);
	heap_leave();
}

PUBLIC int dlclose(void *library);
PUBLIC int dlclose(void *library) {
	int result = know_next() && heap_next.dlclose ? heap_next.dlclose(library) : -1;
	__atomic_add_fetch(&heap_generation, 1, __ATOMIC_RELEASE);
	return result;
}
