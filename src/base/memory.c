#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void *or_die(void *pointer) {
	if (!pointer) {
		fputs("tracelet: out of memory\n", stderr);
		abort();
	}
	return pointer;
}

void *memory_alloc(size_t size) {
	return or_die(calloc(1, size ? size : 1));
}

void *memory_resize(void *pointer, size_t size) {
	return or_die(realloc(pointer, size ? size : 1));
}

char *memory_string(const char *text) {
	size_t size = strlen(text) + 1;
	return memcpy(memory_alloc(size), text, size);
}

char *memory_format(const char *format, ...) {
	va_list arguments, again;
	va_start(arguments, format);
	va_copy(again, arguments);
	int length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	char *text = memory_alloc((size_t)MAX(length, 0) + 1);
	vsnprintf(text, (size_t)MAX(length, 0) + 1, format, again);
	va_end(again);
	return text;
}
