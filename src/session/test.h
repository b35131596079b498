// The traced test itself: started as a shell would start it, waited for, its
// signals passed on. Nothing here knows about tracing.
#pragma once

#include "session/settings.h"

#include <signal.h>
#include <sys/resource.h>

struct test {
	pid_t pid;
	int gate;       // a byte lets the test begin; if it closes without one there will be no test
	int exec_error; // read side: an errno if the command could not be executed
	bool stopped, stop_typed; // the test has stopped; someone typed Ctrl-Z
	sigset_t signals, mask_before;
	struct sigaction child_before; // what SIGCHLD did
};

// Forks the process that will become the test; it waits at the gate.
int test_prepare(struct test *test, char **command);

// Opens the gate. 0, or the errno of a failed exec (the process has ended).
int test_begin(struct test *test);

// Waits for its end, passing signals on. The wait status; `usage` is that of the
// test and of the children it waited for.
int test_wait(struct test *test, struct rusage *usage);

// Waits up to `seconds` (0: without limit) until no orphan of the test is left;
// `other` is a child of ours that is none. Needs test_adopt_orphans() before the
// test began. False: some are left.
bool test_wait_tree(struct test *test, double seconds, pid_t other);
void test_adopt_orphans(void);
