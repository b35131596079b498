// One trace for each case of a test program that marks where its cases begin and end (tl_test_begin
// and tl_test_end in tracelet/mark.h), written in the same pass as the trace of the whole test: a
// sink that passes every event on, and also to the traces of the cases that are open at that
// moment.
#pragma once

#include "base/array.h"
#include "event/tally.h"
#include "flow/convert.h"

#include <time.h>

enum case_verdict { CASE_PASSED, CASE_FAILED, CASE_SKIPPED, CASE_NOT_ENDED };
extern const char *const case_verdict_words[];

struct case_trace {
	char *name, *path; // path: NULL if there is no trace, or it was not kept
	enum case_verdict verdict;
	struct timespec started; // wall clock
	double seconds;
	struct tally tally;
	uint64_t size;
	bool not_kept;
};

typedef ARRAY(struct case_trace) case_trace_array;

struct case_traces {
	const char *folder;
	const char *prefix;     // for the cases' names, or NULL
	const char *variant;    // the test's variant, or NULL
	bool failed_only;       // delete the traces of other cases
	case_trace_array ended; // in the order in which they ended
	uint64_t not_made;      // cases beyond the limit
};

// `traces` is complete when the conversion is finished.
struct tap case_traces_tap(struct case_traces *traces);
void case_traces_free(struct case_traces *traces);
