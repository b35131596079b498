// Sleeps for longer and longer times and checks that it never wakes early. In the
// trace: a thread that is mostly off the CPU, and how late each wakeup was.
#include "demo.h"

int main(void) {
	static const long sleeps[] = {1, 2, 5, 10, 20, 50, 100, 200};
	double latest = 0;
	bool early = false;
	for (size_t i = 0; i < sizeof sleeps / sizeof *sleeps; i++) {
		double start = now_ms();
		sleep_ms(sleeps[i]);
		double late = now_ms() - start - (double)sleeps[i];
		early |= late < 0;
		if (late > latest)
			latest = late;
		work(500);
	}
	return result(!early, "never woke early, at most %.2f ms late", latest);
}
