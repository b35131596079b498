// Makes the trace of a recording and the flame graphs next to it: while the test runs, if that does not slow
// the test down (follow.h), else after its end.
#pragma once

#include "flow/convert.h"
#include "session/recording.h"

// Called now and then while recording.
void make_trace_turn(struct recording *recording);

// The path of the trace, to be freed by the caller; NULL if it could not be made, after an error message.
char *make_trace(struct recording *recording, const char *spool, const char *stem, struct case_traces *cases,
		 struct conversion_result *result);

void make_trace_cancel(struct recording *recording); // discards what has been converted so far
void make_trace_tidy(struct recording *recording);   // cleans up after the trace has been reported
void make_trace_leave(struct recording *recording);  // in a child process: the parent continues
