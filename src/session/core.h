// Core dumps: one that the kernel writes when the test crashes, if --core asks for it, and whether a core is
// whole.
#pragma once

#include "session/tracer.h"

// With --core, processes that we start between these two may leave a core of up to --core-limit
// bytes.
void core_allow(const struct settings *settings);
void core_allow_end(const struct settings *settings);

// Call after the test (process `pid`) has ended: if it or a child crashed, moves the core next to
// the trace and sets its path in `end`. If cores were enabled by the caller already, they stay
// where they are. Reports one line if a core is missing and we know why.
void core_save(const struct settings *settings, const char *name, pid_t pid, const struct tracer *tracer,
	       struct test_end *end);

// False if the file is not a core, or ends before its last segment does.
bool core_is_whole(int fd);

// The name that the session's files begin with, to be freed. If nothing is recorded there is none
// yet; then `placeholder` is a file to delete once the others are written. NULL after a warning.
char *session_stem(const struct settings *settings, const char *name, const struct tracer *tracer,
		   const char *what, char **placeholder);
