// A trace for each case of a test program that tells where its cases begin and end
// (tl_test_begin and tl_test_end of tracelet/mark.h), made in the same pass as the
// trace of the whole: a sink that hands every event on, and also to the traces of
// the cases that are open at that moment.
#pragma once

#include "base/array.h"
#include "event/tally.h"

#include <time.h>

enum case_verdict { CASE_PASSED, CASE_FAILED, CASE_SKIPPED, CASE_NOT_ENDED };
extern const char *const case_verdict_words[];

struct case_trace {
	char *name, *path; // path: NULL if there is no trace, or it is not kept
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
	const char *prefix;     // of the cases' names, or NULL
	const char *variant;    // of the test, or NULL
	bool failed_only;       // others leave no trace
	case_trace_array ended; // in this order
	uint64_t not_made;      // cases that there was no room for
};

// Takes over `next`. What it has found is in `traces` when it has been finished.
struct sink *case_traces_sink(struct case_traces *traces, struct tables *tables, struct sink *next);
void case_traces_free(struct case_traces *traces);
