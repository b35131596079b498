// Memory that is there or the program ends: no caller of ours can do anything
// sensible without it. Sizes that come from a file are checked against the
// file before they get here. Also the cleanup helpers that let a function have
// one way out.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

void *memory_alloc(size_t size);                     // zeroed
void *memory_resize(void *pointer, size_t size);     // realloc()
char *memory_string(const char *text);               // strdup()
char *memory_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline void memory_free_cleanup(void *pointer) {
	free(*(void **)pointer);
}
#define CLEANUP_FREE __attribute__((cleanup(memory_free_cleanup)))

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define CONTAINER_OF(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
