// A test that failed is run once more with a richer profile, for whoever asks why.
#pragma once

#include "session/test.h"
#include "session/tracer.h"

// Whether a test that ended with this exit status, as a shell has it, is to be run again: not one
// that somebody ended, nor one that could not be started.
bool repro_wanted(const struct settings *settings, int status);

// Runs it, after the first one is over. It reads nothing, and what it prints is an artifact.
void repro_run(const struct settings *settings, const char *name, const struct test *test,
	       const struct tracer *tracer);
