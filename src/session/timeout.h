// The end of a test that takes too long: stacks, a core if wanted, then SIGTERM to
// all its processes and, after a while, SIGKILL to those that are left.
#pragma once

#include "session/test.h"
#include "session/tracer.h"
#include "session/tree.h"

// Fills in what `end` says of it. The test's own process may have ended already
// (`ended`, its status is in end->wait_status) and only others be left.
void timeout_end_test(const struct settings *settings, const char *name, struct test *test,
		      const struct tracer *tracer, const struct tree *tree, bool ended, struct test_end *end,
		      struct rusage *usage);
