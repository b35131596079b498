/*
 * Prints the frequency of this machine's time stamp counter in kHz. An emulated guest reads the host's
 * counter, and without being told its frequency it measures it against an emulated timer, sometimes several
 * times wrong.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define MEASURE_NS 50000000

static uint64_t now(void) {
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

int main(void) {
	uint64_t start = now(), start_ticks = __rdtsc(), elapsed;

	do
		elapsed = now() - start;
	while (elapsed < MEASURE_NS);
	printf("%.0f\n", (double)(__rdtsc() - start_ticks) * 1e6 / (double)elapsed);
	return 0;
}
