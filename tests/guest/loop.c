// loop N: N rounds of two instructions each, on arm64. It rests before: a tracer of its beginning, on another
// CPU, has then done its work and is not counted with it.
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv) {
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
	return 0;
}
