// The end of a test that takes too long: stacks, a core if wanted, then SIGTERM to
// all its processes and, after a while, SIGKILL to those that are left.
#pragma once

#include "process/test.h"
#include "process/tree.h"
#include "session/tracer.h"

// Fills in the parts of `end` about it. The test's own process may have ended already
// (`ended`, with its status in end->status) while others are left.
void timeout_end_test(const struct settings *settings, const char *name, struct test *test,
		      const struct tracer *tracer, const struct tree *tree, bool ended, struct test_end *end,
		      struct rusage *usage);
