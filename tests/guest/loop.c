// loop N: N rounds of two instructions each, on arm64.
#include <stdint.h>
#include <stdlib.h>

int main(int argc, char **argv) {
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
	return 0;
}
