// One traced test, from start to exit status.
#pragma once

#include "artifact/artifact.h"
#include "session/finish.h"

// Judges a test by more than its exit status: sets end->verdict and end->accepted. Called before the manifest
// is written and before it is decided whether the trace is kept. `status`: as in a shell.
struct run_judge {
	void (*judge)(void *context, int status, struct test_end *end);
	void *context;
};

// Runs the command and returns its exit status as a shell does, whatever happened to
// the trace. With settings->strict, returns EXIT_NO_TRACE (125) without running it if
// no trace can be made. `judge` may be NULL if the exit status says whether the test passed.
int session_run(const struct settings *settings, const struct run_judge *judge);

// Writes the name of the test and its artifacts to `name` and returns it.
const char *session_test_name(const struct settings *settings, char name[ARTIFACT_NAME_SIZE]);
