// The tracer: a process of its own, in a session of its own, that records one
// test and turns the recording into artifacts. Whatever happens to it, the test
// and its exit status are not touched: the process that waits for the test
// talks to it over a socket and goes on without it when it is gone.
#pragma once

#include "session/recording.h"

#include <sys/types.h>

struct tracer {
	pid_t pid;
	int socket;
	char spool[512]; // where it records, known when it is ready; "": nowhere
	bool leaked;     // known at the end: blocks of the test's heap were left
};

// `marks` is what marker_create() gave, `heap` what heap_create() gave: the tracer holds them under
// the same numbers.
int tracer_spawn(struct tracer *tracer, const struct settings *settings, const char *test_name, int marks,
		 int heap);

// Makes it record the process `pid`. Returns when it does, or cannot: false.
bool tracer_attach(struct tracer *tracer, pid_t pid);

// The test has ended: artifacts, manifest and summary are made. False: the
// tracer has died, and only the spool may be left.
bool tracer_finish(struct tracer *tracer, const struct test_end *end);

// There was no test after all: leaves nothing.
void tracer_cancel(struct tracer *tracer);
