// The trace of a recording, and the flame graphs beside it: made while the test runs, if that can be done at
// nobody's expense (follow.h), else when it has ended.
#pragma once

#include "session/convert.h"
#include "session/recording.h"

// While it goes on, now and then.
void make_trace_turn(struct recording *recording);

// The path of the trace, the caller's to free; NULL if it could not be made (and that was said).
char *make_trace(struct recording *recording, const char *spool, const char *stem, struct case_traces *cases,
		 struct conversion_result *result);

void make_trace_cancel(struct recording *recording); // what has been made of it is not wanted
void make_trace_tidy(struct recording *recording);   // when nobody waits any more
void make_trace_leave(struct recording *recording);  // in a child: the parent goes on
