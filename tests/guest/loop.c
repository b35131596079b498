// loop N: N rounds of two instructions each, on arm64. Sleeps first, so that a tracer of its start
// on another CPU is done by then and is not counted.
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv) {
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
	return 0;
}
