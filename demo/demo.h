// Shared by the demo tests: a clock, a piece of work, and the result line.
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double now_ms(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static inline void sleep_ms(long milliseconds) {
	struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) != 0)
		;
}

// Keeps a CPU busy. It counts rounds, not time, so that a disturbed run takes longer and shows it.
static inline uint64_t work(unsigned rounds) {
	uint64_t value = 88172645463325252u;
	for (unsigned i = 0; i < rounds * 1000; i++) {
		value ^= value << 13;
		value ^= value >> 7;
		value ^= value << 17;
		__asm__ volatile("" : "+r"(value));
	}
	return value;
}

// The test's result: one line on stdout and the exit status.
__attribute__((format(printf, 2, 3))) static inline int result(bool good, const char *format, ...) {
	va_list arguments;
	va_start(arguments, format);
	fputs(good ? "ok - " : "not ok - ", stdout);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

// For failures that are not the test's subject: no thread, no file, no memory.
static inline void require(bool condition, const char *what) {
	if (!condition) {
		perror(what);
		exit(99);
	}
}
