// The end of a session in words: the block on stderr, and the same as JSON for
// the manifest and for --json.
#pragma once

#include "event/event.h"
#include "session/case_traces.h"
#include "session/crash.h"
#include "session/pictures.h"
#include "session/settings.h"

#include <sys/resource.h>
#include <time.h>

// A file that the session leaves beside the trace.
struct summary_file {
	const char *kind, *path;
	uint64_t size;
	char sha256[65];
};

#define SUMMARY_HEAP_OF_CHILD "heap-of-child" // one line for all of these

// A recording that stopped before the test did.
struct recording_cut {
	const char *why; // the option that made it so, or "disk"; NULL: it did not
	double after;    // seconds from its beginning
	uint64_t at;     // CLOCK_BOOTTIME
};

struct summary {
	const struct settings *settings;
	const char *test;    // the safe name
	const char *backend; // what recorded: "bpf", "perf", or NULL: nothing
	const char *missing; // what that backend cannot see
	const char *trace;   // path of the trace, or NULL
	const char *spool;   // path, when it was kept
	char sha256[65];
	uint64_t trace_size, spool_size;
	const struct buffer *heap_words;     // below the heap's file; or NULL
	ARRAY(struct summary_file) files;    // stacks, core, flame graphs, heap; the caller's to free
	const struct crash_reports *crashes; // or NULL
	const struct case_traces *cases;     // that the test has told of; or NULL
	const char *verdict;                 // of a case of a test, in words; NULL: this is a test
	int wait_status;                     // the test's, as wait() gives it
	bool timed_out;                      // and its time was over
	bool leaked;                         // which makes it fail
	bool operation;                      // there was no test
	const char *not_kept;                // why there is no trace though there could be; NULL: it was kept
	struct timespec started;             // wall clock
	double wall_seconds;
	double test_cpu_seconds; // of the test and the children it waited for
	double tracer_cpu_seconds;
	uint64_t events;
	uint64_t lost[SOURCE_COUNT];
	uint64_t samples, waits, event_stacks; // by time, of tasks that waited, at events of the kernel
	uint64_t broken;                       // of these, whose stack is not whole
	uint64_t gaps;                         // switches that the kernel did not report
	uint64_t late;                         // events that came too late to be put in order
	struct capture_totals totals;
	struct recording_cut cut;
};

void summary_print(const struct summary *summary);
void summary_json(const struct summary *summary, struct buffer *line); // one line, with its end

// "passed", "failed: exit status 3", "killed by signal 11 (Segmentation fault)"; or,
// if a time limit was over (0: it was not), "timed out: limit 3 s".
void summary_result_words(int wait_status, char *words, size_t size);
void summary_end_words(int wait_status, double limit, char *words, size_t size);

// To the descriptor or file of --json. Failures are warnings.
void summary_write_json(const struct summary *summary);

// To the CI we are in (ci.h): lines to standard output, commands to standard error.
void summary_publish(const struct summary *summary);
