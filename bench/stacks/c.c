// A second of work with stacks typical of C: recursion, callbacks through a library, large frames,
// a thread.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int by_value(const void *left, const void *right) {
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	return (a > b) - (a < b);
}

static uint32_t walk(uint32_t *values, size_t count, unsigned depth) {
	char scratch[256];
	memset(scratch, (int)depth, sizeof(scratch));
	if (depth)
		return walk(values, count, depth - 1) + (uint32_t)scratch[depth % sizeof(scratch)];
	for (size_t i = 0; i < count; i++)
		values[i] = values[i] * 1664525u + 1013904223u;
	qsort(values, count, sizeof(*values), by_value);
	return values[count / 2];
}

static void *work(void *result) {
	static const size_t count = 4096;
	uint32_t *values = calloc(count, sizeof(*values));
	double end = seconds() + 1;
	while (values && seconds() < end)
		*(uint32_t *)result += walk(values, count, 20);
	free(values);
	return NULL;
}

int main(void) {
	uint32_t here = 0, there = 0;
	pthread_t thread;
	if (pthread_create(&thread, NULL, work, &there))
		return 1;
	work(&here);
	pthread_join(thread, NULL);
	return here + there == 1;
}
