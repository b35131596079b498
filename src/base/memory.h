// Memory that is there or the program ends: no caller of ours can do anything
// sensible without it. Sizes that come from a file are checked against the
// file before they get here. Also the cleanup helpers that let a function have
// one way out.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define NEVER_NULL __attribute__((returns_nonnull))

// The format is argument `text`, what it speaks of begins at `first`. For mingw
// "printf" would be the old C runtime's, which does not know %zu; ours is the standard's.
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

// Ends the program, as a failed allocation does: for sizes that no memory has.
__attribute__((noreturn)) void memory_exhausted(void);

static inline void memory_free_cleanup(void *pointer) {
	free(*(void **)pointer);
}
#define CLEANUP_FREE __attribute__((cleanup(memory_free_cleanup)))

#define ARRAY_SIZE(array)                   (sizeof(array) / sizeof((array)[0]))
#define CONTAINER_OF(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
#define MIN(a, b)                           ((a) < (b) ? (a) : (b))
#define MAX(a, b)                           ((a) > (b) ? (a) : (b))
