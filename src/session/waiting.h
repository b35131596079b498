// How long to wait for a test: --timeout and --wait-tree, the same on every system.
#pragma once

#include "session/finish.h"

// How the system waits. 0 seconds: no limit. False if the time ran out or (for the tree)
// we were asked to end.
struct waiting {
	void *context;
	bool (*test)(void *context, double seconds);
	bool (*tree)(void *context, double seconds); // waits for everything that the test has started
	double (*elapsed)(void *context);            // seconds since the test began
};

// Waits for the test and, if asked, for everything that it has started. False if the time limit was reached
// and processes are left to be ended; `test_ended` says whether the test itself has ended.
bool waiting_for_end(const struct settings *settings, const struct waiting *waiting, struct test_end *end,
		     bool *test_ended);

// Reports that a test reached its time limit. True if `what` is to be saved.
bool waiting_is_over(const struct settings *settings, const char *test, const char *what, size_t processes);
