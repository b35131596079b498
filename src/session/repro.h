// Runs a failed test again with a richer profile, to show why it failed.
#pragma once

#include "process/test.h"
#include "session/tracer.h"

// Whether a test with this exit status (as in a shell) is to be run again: not if a signal ended
// it on request, nor if it could not be started.
bool repro_wanted(const struct settings *settings, int status);

// Runs it again after the first run. It gets no input, and its output becomes an artifact.
void repro_run(const struct settings *settings, const char *name, const struct test *test,
	       const struct tracer *tracer);
