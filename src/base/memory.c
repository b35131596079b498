#include "base/memory.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// The innermost memory_try() of a thread. In a library that a program loads late, other models would
// allocate the variable at its first use, and abort if that fails.
#ifdef __linux__
#define THREAD_VARIABLE static _Thread_local __attribute__((tls_model("initial-exec")))
#else
#define THREAD_VARIABLE static _Thread_local
#endif

struct memory_guard {
	jmp_buf place;
	struct memory_guard *outer;
};

THREAD_VARIABLE struct memory_guard *innermost;

int memory_try(void (*work)(void *context), void *context) {
	struct memory_guard guard = {.outer = innermost};
	if (setjmp(guard.place)) {
		innermost = guard.outer;
		return -ENOMEM;
	}
	innermost = &guard;
	work(context);
	innermost = guard.outer;
	return 0;
}

struct memory_guard *memory_suspend_try(void) {
	struct memory_guard *guard = innermost;
	innermost = NULL;
	return guard;
}

void memory_resume_try(struct memory_guard *guard) {
	innermost = guard;
}

void memory_exhausted(void) {
	if (innermost)
		longjmp(innermost->place, 1);
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
