#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void memory_exhausted(void) {
	fputs("tracelet: out of memory\n", stderr);
	abort();
}

static void *or_die(void *pointer) {
	if (!pointer)
		memory_exhausted();
	return pointer;
}

void *memory_alloc(size_t size) {
	return or_die(calloc(1, size ? size : 1));
}

void *memory_resize(void *pointer, size_t size) {
	return or_die(realloc(pointer, size ? size : 1));
}

void *memory_resize_items(void *pointer, size_t count, size_t item_size) {
	size_t size;
	if (__builtin_mul_overflow(count, item_size, &size))
		memory_exhausted();
	return memory_resize(pointer, size);
}

char *memory_string(const char *text) {
	size_t size = strlen(text) + 1;
	return memcpy(memory_alloc(size), text, size);
}

char *memory_format(const char *format, ...) {
	char *text = NULL;
	va_list arguments;
	va_start(arguments, format);
	int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		memory_exhausted();
	return or_die(text);
}
