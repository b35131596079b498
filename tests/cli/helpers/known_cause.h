// What the programs with one known cause each have in common (causes.c, indirect.c, strangers.c).
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

// Functions that the answers name must be there after optimization.
#define FUNCTION static __attribute__((noinline, noclone))

static inline void must(bool true_if_good) {
	if (!true_if_good) {
		perror(program_invocation_short_name);
		exit(99);
	}
}

// Names this thread.
static inline void named(const char *name) {
	pthread_setname_np(pthread_self(), name);
}

static inline pthread_t start(void *(*work)(void *)) {
	pthread_t thread;
	must(!pthread_create(&thread, NULL, work, NULL));
	return thread;
}

// Works until it has used this much CPU time, in nanoseconds, without calling a function of the program.
#define WORK(duration)                                                                                       \
	do {                                                                                                 \
		struct timespec work_begun, work_now;                                                        \
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &work_begun);                                         \
		do                                                                                           \
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &work_now);                                   \
		while ((work_now.tv_sec - work_begun.tv_sec) * 1000000000ll + work_now.tv_nsec -             \
			       work_begun.tv_nsec <                                                          \
		       (duration));                                                                          \
	} while (0)
