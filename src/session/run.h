// One traced test, from start to exit status.
#pragma once

#include "session/artifact.h"
#include "session/settings.h"

// Runs the command and returns its exit status as a shell gives it, whatever
// became of the trace; with settings->strict, EXIT_NO_TRACE (125) without
// running it when no trace can be made.
int session_run(const struct settings *settings);

// What the test and its artifacts are called, in `name`, which is returned.
const char *session_test_name(const struct settings *settings, char name[ARTIFACT_NAME_SIZE]);
