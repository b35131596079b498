// Put into a program (LD_PRELOAD) this counts its heap: what is allocated where, how
// much of it is live now, at most and at the peak of the whole, and for how long.
// It stands before whatever allocator comes next and changes no block of it.
//
// A thread that is in here is not counted a second time, be it by a signal handler or by
// what we call ourselves. Children of the program are not counted: a page that the kernel
// wipes at a fork says who we are, also to those who fork without libc.
#include "preload/heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
#define THREAD static __thread __attribute__((tls_model("initial-exec")))

// Where the function was called whose first lines this is in.
#define CALLER                                                                                               \
	{                                                                                                    \
		(uint64_t) __builtin_return_address(0), (uint64_t)__builtin_frame_address(0) + 16,           \
			*(uint64_t *)__builtin_frame_address(0)                                              \
	}

static struct {
	void *(*malloc)(size_t size);
	void (*free)(void *block);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *block, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	int (*posix_memalign)(void **block, size_t alignment, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
	int (*dlclose)(void *library);
} next;

static bool *on; // on a page that a child finds wiped; NULL: nothing is recorded
static bool begun;
static pthread_key_t thread_key;
static bool has_key;

THREAD bool inside;
THREAD unsigned char ends_seen; // of this thread, see thread_ends()
THREAD struct heap_thread *own;

// ---- the beginning ----

// dlsym() itself may allocate before we know whom to ask. That is never given back.
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

static void find_next(void) {
	struct {
		const char *name;
		void *function;
	} const wanted[] = {
		{"malloc", &next.malloc},
		{"free", &next.free},
		{"calloc", &next.calloc},
		{"realloc", &next.realloc},
		{"memalign", &next.memalign},
		{"posix_memalign", &next.posix_memalign},
		{"aligned_alloc", &next.aligned_alloc},
		{"valloc", &next.valloc},
		{"pvalloc", &next.pvalloc},
		{"dlclose", &next.dlclose},
	};
	bool before = inside;
	inside = true;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		*(void **)wanted[i].function = dlsym(RTLD_NEXT, wanted[i].name);
	inside = before;
}

// A thread's memory of its walks goes when the thread does: in the last round of its
// destructors, as those of others may allocate.
static void thread_ends(void *thread) {
	enum { ROUNDS = 3 };
	inside = true;
	if (++ends_seen < ROUNDS && pthread_setspecific(thread_key, thread) == 0) {
		inside = false;
		return;
	}
	own = NULL;
	ends_seen = ROUNDS;
	heap_thread_free(thread);
	inside = false;
}

__attribute__((constructor)) static void begin(void) {
	if (__atomic_exchange_n(&begun, true, __ATOMIC_ACQ_REL))
		return;
	int error = errno;
	if (!next.malloc)
		find_next();
	bool *page = heap_pages((size_t)sysconf(_SC_PAGESIZE));
	if (page && madvise(page, (size_t)sysconf(_SC_PAGESIZE), MADV_WIPEONFORK) == 0 && heap_area_open()) {
		inside = true;
		has_key = pthread_key_create(&thread_key, thread_ends) == 0;
		inside = false;
		*page = true;
		on = page;
	}
	errno = error;
}

// The environment is there before anything but the dynamic linker allocates.
extern char **environ;

static bool know_next(void) {
	if (__builtin_expect(next.malloc && begun, 1))
		return true;
	if (!next.malloc && !inside)
		find_next();
	if (environ && !inside)
		begin();
	return next.malloc;
}

static inline bool recording(void) {
	return on && *on && !inside;
}

// ---- counting ----

// What a point had at the last peak is what it has until it changes.
static inline void know_peak(struct heap_point *point) {
	uint64_t peak = __atomic_load_n(&heap_area->peak, __ATOMIC_RELAXED);
	if (point->peak == peak)
		return;
	point->peak_bytes = point->bytes;
	point->peak_blocks = point->blocks;
	point->peak = peak;
}

static inline void know_most(struct heap_point *point) {
	if (point->bytes <= point->most_bytes && point->most_blocks)
		return;
	point->most_bytes = point->bytes;
	point->most_blocks = point->blocks;
}

static inline void grow_whole(uint64_t bytes, uint64_t now) {
	uint64_t all = __atomic_add_fetch(&heap_area->bytes, bytes, __ATOMIC_RELAXED);
	uint64_t most = __atomic_load_n(&heap_area->most_bytes, __ATOMIC_RELAXED);
	while (all > most)
		if (__atomic_compare_exchange_n(&heap_area->most_bytes, &most, all, true, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED)) {
			__atomic_store_n(&heap_area->peak_ticks, now, __ATOMIC_RELAXED);
			__atomic_add_fetch(&heap_area->peak, 1, __ATOMIC_RELAXED);
		}
}

static void count_end(const struct heap_block *block, uint64_t now) {
	struct heap_point *point = &heap_area->points[block->point];
	heap_lock(&point->lock);
	know_peak(point);
	point->bytes -= block->size;
	point->blocks--;
	point->life += now;
	heap_unlock(&point->lock);
	__atomic_sub_fetch(&heap_area->bytes, block->size, __ATOMIC_RELAXED);
}

static void count_begin(const struct heap_block *block) {
	struct heap_point *point = &heap_area->points[block->point];
	heap_lock(&point->lock);
	know_peak(point);
	point->total_bytes += block->size;
	point->total_blocks++;
	point->bytes += block->size;
	point->blocks++;
	point->life -= block->birth;
	know_most(point);
	grow_whole(block->size, block->birth); // before another thread changes the point again
	heap_unlock(&point->lock);
}

// As valgrind has it: a block that is resized counts once more, where it came from.
static void count_resize(const struct heap_block *block, uint64_t size, uint64_t now) {
	struct heap_point *point = &heap_area->points[block->point];
	heap_lock(&point->lock);
	know_peak(point);
	point->total_bytes += size;
	point->total_blocks++;
	point->bytes += size - block->size;
	know_most(point);
	grow_whole(size - block->size, now);
	heap_unlock(&point->lock);
}

// ---- threads ----

static struct heap_thread *thread_of_self(void) {
	if (own)
		return own;
	int error = errno;
	own = heap_thread_new();
	if (own && has_key)
		pthread_setspecific(thread_key, own);
	errno = error;
	return own;
}

// Keeps a block in the table; false: nobody will know of its end.
static bool keep(const struct heap_block *block, uint64_t now) {
	struct heap_block before;
	int error = errno;
	bool kept = heap_block_put(block, &before);
	errno = error;
	if (before.address)
		count_end(&before, now);
	if (!kept)
		__atomic_add_fetch(&heap_area->missed, 1, __ATOMIC_RELAXED);
	return kept;
}

static void note_begin(void *address, size_t size, const struct heap_place *caller) {
	inside = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	struct heap_thread *thread = thread_of_self();
	struct heap_block block = {.address = (uint64_t)address, .size = size, .birth = heap_ticks()};
	block.point = thread ? heap_walk(thread, caller) : 0;
	if (keep(&block, block.birth))
		count_begin(&block);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	inside = false;
}

static void note_end(void *address) {
	struct heap_block block;
	inside = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (heap_block_take((uint64_t)address, &block))
		count_end(&block, heap_ticks());
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	inside = false;
}

// ---- the allocator's door ----

PUBLIC void *malloc(size_t size) {
	struct heap_place caller = CALLER;
	if (!know_next())
		return from_first_memory(size, 16);
	void *block = next.malloc(size);
	if (block && recording())
		note_begin(block, size, &caller);
	return block;
}

PUBLIC void free(void *block) {
	if (!block || in_first_memory(block) || !know_next())
		return;
	if (recording())
		note_end(block);
	next.free(block);
}

PUBLIC void *calloc(size_t count, size_t size) {
	struct heap_place caller = CALLER;
	if (!know_next())
		return size && count > sizeof(first_memory) / size ? NULL
								   : from_first_memory(count * size, 16);
	void *block = next.calloc(count, size);
	if (block && recording())
		note_begin(block, count * size, &caller);
	return block;
}

// The block is out of the table while the allocator may give its address to others.
static void *resize(void *old, size_t size, const struct heap_place *caller) {
	struct heap_block block;
	inside = true;
	bool ours = heap_block_take((uint64_t)old, &block);
	void *resized = next.realloc(old, size);
	uint64_t now = heap_ticks();
	if (ours && !resized && size) {
		keep(&block, now);
	} else if (ours && !resized) {
		count_end(&block, now);
	} else if (ours) {
		struct heap_block moved = block;
		moved.address = (uint64_t)resized;
		moved.size = size;
		count_resize(&block, size, now);
		if (!keep(&moved, now))
			count_end(&moved, now);
	}
	inside = false;
	if (!ours && resized)
		note_begin(resized, size, caller);
	return resized;
}

static void *reallocate(void *old, size_t size, const struct heap_place *caller) {
	if (!know_next() || in_first_memory(old)) {
		void *block = know_next() ? next.malloc(size) : from_first_memory(size, 16);
		size_t most = (size_t)(first_memory + sizeof(first_memory) - (char *)old);
		if (block && old)
			memcpy(block, old, size < most ? size : most);
		return block;
	}
	if (old && recording())
		return resize(old, size, caller);
	void *block = next.realloc(old, size);
	if (block && !old && recording())
		note_begin(block, size, caller);
	return block;
}

PUBLIC void *realloc(void *old, size_t size) {
	struct heap_place caller = CALLER;
	return reallocate(old, size, &caller);
}

PUBLIC void *reallocarray(void *old, size_t count, size_t size) {
	struct heap_place caller = CALLER;
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return reallocate(old, bytes, &caller);
}

// What the allocator calls itself on the way is not counted.
#define COUNTED(call, block, size)                                                                           \
	do {                                                                                                 \
		bool wanted = recording();                                                                   \
		inside |= wanted;                                                                            \
		call;                                                                                        \
		inside &= !wanted;                                                                           \
		if (wanted && (block))                                                                       \
			note_begin(block, size, &caller);                                                    \
	} while (0)

PUBLIC void *memalign(size_t alignment, size_t size) {
	struct heap_place caller = CALLER;
	void *block = NULL;
	if (know_next() && next.memalign)
		COUNTED(block = next.memalign(alignment, size), block, size);
	return block;
}

PUBLIC int posix_memalign(void **block, size_t alignment, size_t size) {
	struct heap_place caller = CALLER;
	int error = ENOMEM;
	if (know_next() && next.posix_memalign)
		COUNTED(error = next.posix_memalign(block, alignment, size), error ? NULL : *block, size);
	return error;
}

PUBLIC void *aligned_alloc(size_t alignment, size_t size) {
	struct heap_place caller = CALLER;
	void *block = NULL;
	if (know_next() && next.aligned_alloc)
		COUNTED(block = next.aligned_alloc(alignment, size), block, size);
	return block;
}

PUBLIC void *valloc(size_t size) {
	struct heap_place caller = CALLER;
	void *block = NULL;
	if (know_next() && next.valloc)
		COUNTED(block = next.valloc(size), block, size);
	return block;
}

PUBLIC void *pvalloc(size_t size) {
	struct heap_place caller = CALLER;
	void *block = NULL;
	if (know_next() && next.pvalloc)
		COUNTED(block = next.pvalloc(size), block, size);
	return block;
}

PUBLIC int dlclose(void *library);
PUBLIC int dlclose(void *library) {
	int result = know_next() && next.dlclose ? next.dlclose(library) : -1;
	__atomic_add_fetch(&heap_generation, 1, __ATOMIC_RELEASE);
	return result;
}
