// markers WAY [FILE]: the cost of one mark for the test that makes it, in nanoseconds: the median over
// bursts, with pauses in which the tracer can catch up. WAY is ours, slices, counters, empty (the loop
// alone), write (one write() per mark to FILE, as with ftrace's trace_marker) or lttng (a tracepoint of
// LTTng-UST with one string).
#include <tracelet/mark.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef WITH_LTTNG
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "markers_lttng.h"
#endif

enum { ROUNDS = 60, BURST = 4000, PAUSE_NS = 5000000 };

static const char text[] = "a phase of a test";
static int file = -1;

static void mark_ours(void) {
	tl_mark(text);
}

static void mark_slices(void) {
	tl_slice_begin(text);
	tl_slice_end();
}

static void mark_counter(void) {
	tl_counter("depth", 1);
}

static void mark_nothing(void) {
	__asm__ volatile("" ::: "memory");
}

static void mark_by_write(void) {
	if (write(file, text, sizeof(text) - 1) < 0)
		exit(3);
}

static void mark_lttng(void) {
#ifdef WITH_LTTNG
	lttng_ust_tracepoint(bench, mark, text);
#else
	exit(4);
#endif
}

static double now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

// Inlined for each way, as the calls of a test would be.
static inline __attribute__((always_inline)) double burst(void (*mark)(void)) {
	double begin = now();
	for (int i = 0; i < BURST; i++) {
		mark();
		__asm__ volatile("" ::: "memory");
	}
	return (now() - begin) / BURST;
}

static int compare(const void *left, const void *right) {
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

int main(int argc, char **argv) {
	const char *way = argc > 1 ? argv[1] : "";
	double rounds[ROUNDS];
	if (argc > 2 && (file = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) < 0)
		return 5;
	for (int i = 0; i < ROUNDS; i++) {
		if (strcmp(way, "ours") == 0)
			rounds[i] = burst(mark_ours);
		else if (strcmp(way, "slices") == 0)
			rounds[i] = burst(mark_slices) / 2;
		else if (strcmp(way, "counters") == 0)
			rounds[i] = burst(mark_counter);
		else if (strcmp(way, "empty") == 0)
			rounds[i] = burst(mark_nothing);
		else if (strcmp(way, "write") == 0)
			rounds[i] = burst(mark_by_write);
		else if (strcmp(way, "lttng") == 0)
			rounds[i] = burst(mark_lttng);
		else
			return 2;
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	}
	qsort(rounds, ROUNDS, sizeof(rounds[0]), compare);
	printf("%.2f\n", rounds[ROUNDS / 2]);
	return 0;
}
