// A test that marks its phases. Build it with just the header, and trace it:
//
//     cc -I include examples/phases.c -o phases
//     tracelet run -- ./phases
//
// In the trace the thread has a bar for "set up" and one for each round, with its
// steps inside; "left" is a curve that falls to zero.
#include <tracelet/mark.h>

#include <stdio.h>
#include <time.h>

enum { ROUNDS = 5 };

static void work(long milliseconds) {
	nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000}, NULL);
}

int main(void) {
	tl_slice_begin("set up");
	work(3);
	tl_slice_end();

	for (int round = 0; round < ROUNDS; round++) {
		char name[32];
		snprintf(name, sizeof(name), "round %d", round);
		tl_slice_begin(name);
		tl_slice_begin("load");
		work(1);
		tl_slice_end();
		tl_slice_begin("check");
		work(round);
		tl_slice_end();
		tl_slice_end();
		tl_counter("left", ROUNDS - 1 - round);
	}
	tl_mark("all rounds are done");
	return 0;
}
