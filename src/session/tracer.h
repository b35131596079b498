// The tracer: a separate process, in its own session, that records one test and turns
// the recording into artifacts. Whatever happens to it, the test and its exit status
// are not affected: the process that waits for the test talks to the tracer over a
// socket, and continues without it if it dies.
#pragma once

#include "session/recording.h"

#include <sys/types.h>

struct tracer {
	pid_t pid;
	int socket;
	char spool[512]; // where it records, known when it is ready; "" if nowhere
	bool leaked;     // known at the end: the test leaked memory
	double patience; // seconds it may take without progress; 0 for unlimited
};

enum tracer_wait {
	TRACER_ANSWERS,
	TRACER_DIED,
	TRACER_HANGS,       // it was killed
	TRACER_INTERRUPTED, // a signal interrupted the wait; the tracer continues on its own
};

// `marks` is from marker_create(), `heap` from heap_create(): the tracer keeps these descriptors under
// the same numbers.
int tracer_spawn(struct tracer *tracer, const struct settings *settings, const char *test_name, int marks,
		 int heap);

// Makes it record the process `pid`. Returns once it does; false if it cannot.
bool tracer_attach(struct tracer *tracer, pid_t pid);

// After the test: artifacts, manifest and summary are made. If the tracer died or hung, only the
// spool may be left.
enum tracer_wait tracer_finish(struct tracer *tracer, const struct test_end *end);

// The test did not start: leaves nothing.
void tracer_cancel(struct tracer *tracer);
