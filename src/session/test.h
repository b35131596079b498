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
	bool over;                     // it has ended and been waited for: its id may be another's
	bool adopts;                   // orphans of the test are our children: they are reaped, but for
	pid_t other;                   // this child, which is not the test's
};

// Forks the process that will become the test; it waits at the gate. `observable`: programs
// that we start may look into it, where the kernel's Yama would not let them.
int test_prepare(struct test *test, char **command, bool observable);

// Opens the gate. 0, or the errno of a failed exec (the process has ended).
int test_begin(struct test *test);

// Waits for its end, passing signals on; `usage` is that of the test and of the
// children it waited for. False: `seconds` (0: without limit) were over before; time
// in which the terminal had stopped us does not count.
bool test_wait(struct test *test, double seconds, int *wait_status, struct rusage *usage);

// The parts of waiting, for those who have more than the test to wait for. Has it
// ended? And: until a signal comes to us (which is passed on) or the time is over.
bool test_has_ended(struct test *test, int *wait_status, struct rusage *usage);
void test_wait_signal(struct test *test, double seconds);
void test_reap_orphans(const struct test *test);
double seconds_now(void); // of CLOCK_MONOTONIC

// Waits up to `seconds` (0: without limit) until no orphan of the test is left;
// `other` is a child of ours that is none. Needs test_adopt_orphans() before the
// test began. False: some are left.
bool test_wait_tree(struct test *test, double seconds, pid_t other);
void test_adopt_orphans(void);

// The exit status as a shell gives it: 128 + N if signal N ended the test.
int test_shell_status(int wait_status);
// Says why the command was not started; returns the exit status for that, 126 or 127.
int test_say_not_started(const char *command, int error);
