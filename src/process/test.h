// The traced test itself: started as a shell would start it, waited for, its
// signals passed on. Nothing here knows about tracing.
#pragma once

#include "process/control_group.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct test {
	pid_t pid;
	int gate;                 // a byte starts the test; if it closes without one, there is no test
	int exec_error;           // read side: an errno if the command could not be executed
	bool stopped, stop_typed; // the test was stopped; Ctrl-Z was typed
	sigset_t signals, mask_before;
	struct sigaction child_before;    // the previous action for SIGCHLD
	bool over;                        // it has ended and been waited for: its id may be reused
	bool adopts;                      // orphans of the test become our children and are reaped, except
	pid_t other;                      // this child, which is not the test's
	char groups[CONTROL_GROUP_NAMES]; // its control groups at its end; "" if unknown
};

// Forks the process that will become the test; it waits at the gate. `observable`: allow programs
// that we start to inspect it, where the kernel's Yama would not.
int test_prepare(struct test *test, char **command, bool observable);

// Undoes the changes of a failed test_prepare(), for a caller that becomes the test itself.
void test_unprepare(const struct test *test);

// Opens the gate. 0, or the errno of a failed exec (the process has ended).
int test_begin(struct test *test);

// Waits for its end and passes signals on; `usage` covers the test and the children it
// waited for. False if `seconds` (0 for no limit) passed first; time during which the terminal
// had stopped us does not count.
bool test_wait(struct test *test, double seconds, int *wait_status, struct rusage *usage);

// The parts of waiting, for callers that wait for more than the test. First: has it
// ended? Second: wait for a signal to us (which is passed on) or the end of the time.
bool test_has_ended(struct test *test, int *wait_status, struct rusage *usage);
void test_wait_signal(struct test *test, double seconds);
void test_reap_orphans(const struct test *test);
double seconds_now(void); // of CLOCK_MONOTONIC

// Waits up to `seconds` (0 for no limit) until no orphan of the test is left; `other` is a child
// of ours that is not an orphan. Needs test_adopt_orphans() before the test starts. False if
// some are left.
bool test_wait_tree(struct test *test, double seconds, pid_t other);
void test_adopt_orphans(void);

// Discards the signals that arrived while the test ended: they were for the test.
void test_forget_signals(const struct test *test);

// The exit status as in a shell: 128 + N if signal N ended the test.
int test_shell_status(int wait_status);
// Reports why the command was not started; returns the exit status for that, 126 or 127.
int test_say_not_started(const char *command, int error);
