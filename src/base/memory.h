// Memory allocation that ends the program on failure: none of our callers could do
// anything sensible without memory. Sizes from a file are checked against the file
// before they get here. libtracelet must not end its host, so it works inside
// memory_try(). Also the cleanup helpers that let a function have one way out.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define NEVER_NULL __attribute__((returns_nonnull))

// The format is argument `text`, its values begin at `first`. With mingw, "printf" would
// mean the old C runtime's, which does not support %zu; ours is the standard one.
#ifdef __MINGW32__
#define PRINTF_LIKE(text, first) __attribute__((format(gnu_printf, text, first)))
#else
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#endif

NEVER_NULL void *memory_alloc(size_t size);                 // zeroed
NEVER_NULL void *memory_resize(void *pointer, size_t size); // realloc()
NEVER_NULL void *memory_resize_items(void *pointer, size_t count, size_t item_size);
NEVER_NULL char *memory_string(const char *text); // strdup()
NEVER_NULL char *memory_format(const char *format, ...) PRINTF_LIKE(1, 2);

// Ends the program, or the innermost memory_try(), like a failed allocation: for sizes that cannot be
// allocated.
__attribute__((noreturn)) void memory_exhausted(void);

// Calls work(context). Returns 0, or -ENOMEM if an allocation in it failed: then the work was left on the
// spot by longjmp(). Whatever it had allocated must be reachable from the context, whose owner frees it.
int memory_try(void (*work)(void *context), void *context);

// For calls out of the work into code that is not ours, which may leave it in ways of its own: in between
// no memory_try() is in force. Give the result of the first to the second.
struct memory_guard;
struct memory_guard *memory_suspend_try(void);
void memory_resume_try(struct memory_guard *guard);

static inline void memory_free_cleanup(void *pointer) {
	free(*(void **)pointer);
}
#define CLEANUP_FREE __attribute__((cleanup(memory_free_cleanup)))

#define ARRAY_SIZE(array)                   (sizeof(array) / sizeof((array)[0]))
#define CONTAINER_OF(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
#define MIN(a, b)                           ((a) < (b) ? (a) : (b))
#define MAX(a, b)                           ((a) > (b) ? (a) : (b))
