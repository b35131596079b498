// One traced test, from start to exit status.
#pragma once

#include "session/settings.h"

// Runs the command and returns its exit status as a shell gives it, whatever
// became of the trace; with settings->strict, EXIT_NO_TRACE (125) without
// running it when no trace can be made.
int session_run(const struct settings *settings);
