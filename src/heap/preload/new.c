// C++'s operators new and delete. Those of libstdc++ call malloc() and free(), which are counted,
// so calls are passed on to them. But jemalloc, tcmalloc and mimalloc have their own operators,
// which call neither: these are counted here.
//
// All of them take up to three words and return at most one, so one prototype fits all.
#include "heap/preload/heap.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct function {
	const char *name;
	void *(*next)(uint64_t first, uint64_t second, uint64_t third);
	enum { UNKNOWN, PASSED_ON, COUNTED_HERE } way;
};

// ---- finding the next operator ----

// A C program may load a C++ library: its operators are then in no list that contains us.
static void *find_elsewhere(const char *name) {
	static const char *const libraries[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};
	void *found = NULL;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries) && !found; i++) {
		void *library = dlopen(libraries[i],
				       RTLD_LAZY | RTLD_NOLOAD); // stays loaded: we point into it
		found = library ? dlsym(library, name) : NULL;
	}
	return found;
}

// Used if there are no operators at all. Nothing here can throw an exception.
static void *make_plainly(uint64_t size, uint64_t second, uint64_t third) {
	void *block = malloc(size ? size : 1);
	if (!block)
		abort();
	return block;
}

static void *delete_plainly(uint64_t block, uint64_t second, uint64_t third) {
	free((void *)block); // NOLINT: an address
	return NULL;
}

static void *make_aligned(uint64_t size, uint64_t alignment, uint64_t third) {
	void *block = NULL;
	if (posix_memalign(&block, alignment, size ? size : 1))
		abort();
	return block;
}

static void find(struct function *function) {
	struct heap_visit visit, *before = heap_self.visit;
	struct heap_quiet quiet;
	const void *allocator = heap_allocator();
	Dl_info here, there;
	heap_quiet_begin(&quiet);
	heap_enter(&visit);
	void *next = dlsym(RTLD_NEXT, function->name);
	next = next ? next : find_elsewhere(function->name);
	bool own = next && allocator && dladdr(next, &here) && dladdr(allocator, &there) &&
		   here.dli_fbase == there.dli_fbase;
	heap_self.visit = before;
	heap_quiet_end(&quiet);
	if (next)
		*(void **)&function->next = next;
	else if (function->name[2] == 'd')
		function->next = delete_plainly;
	else
		function->next = strstr(function->name, "align_val_t") ? make_aligned : make_plainly;
	__atomic_store_n(&function->way, own ? COUNTED_HERE : PASSED_ON, __ATOMIC_RELEASE);
}

// ---- the operators ----

HEAP_SLOW void *make(struct function *function, size_t size, uint64_t second, uint64_t third) {
	struct heap_place caller = HEAP_CALLER;
	heap_self.aligned = NULL;
	void *block = function->next(size, second, third); // unless it throws
	if (block)
		heap_made(block, size, &caller, __builtin_frame_address(0));
	return block;
}

HEAP_SLOW void give_back(struct function *function, void *block, uint64_t second, uint64_t third) {
	if (block)
		heap_gone(block, __builtin_frame_address(0));
	function->next((uint64_t)block, second, third);
}

// Jumps, so that the target sees the program as its caller.
static inline bool is_passed_on(struct function *function) {
	if (__builtin_expect(__atomic_load_n(&function->way, __ATOMIC_ACQUIRE) == UNKNOWN, 0))
		find(function);
	return function->way == PASSED_ON;
}

#define NEW(symbol)                                                                                          \
	HEAP_PUBLIC void *symbol(size_t size, uint64_t second, uint64_t third);                              \
	void *symbol(size_t size, uint64_t second, uint64_t third) {                                         \
		static struct function self = {#symbol, NULL, UNKNOWN};                                      \
		return is_passed_on(&self) ? self.next(size, second, third)                                  \
					   : make(&self, size, second, third);                               \
	}

#define DELETE(symbol)                                                                                       \
	HEAP_PUBLIC void symbol(void *block, uint64_t second, uint64_t third);                               \
	void symbol(void *block, uint64_t second, uint64_t third) {                                          \
		static struct function self = {#symbol, NULL, UNKNOWN};                                      \
		if (is_passed_on(&self))                                                                     \
			self.next((uint64_t)block, second, third);                                           \
		else                                                                                         \
			give_back(&self, block, second, third);                                              \
	}

NEW(_Znwm)
NEW(_Znam)
NEW(_ZnwmRKSt9nothrow_t)
NEW(_ZnamRKSt9nothrow_t)
NEW(_ZnwmSt11align_val_t)
NEW(_ZnamSt11align_val_t)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm)
DELETE(_ZdaPvm)
DELETE(_ZdlPvRKSt9nothrow_t)
DELETE(_ZdaPvRKSt9nothrow_t)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdaPvSt11align_val_t)
DELETE(_ZdlPvmSt11align_val_t)
DELETE(_ZdaPvmSt11align_val_t)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)
