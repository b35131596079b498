// The results of a recording, as members of the manifest's record.
#pragma once

#include "analyse/measures.h"
#include "event/tally.h"
#include "flow/case_traces.h"
#include "capture/spool.h"
#include "format/manifest_record.h"
#include "process/control_group.h"
#include "process/machine.h"
#include "flow/explain.h"
#include "heap/heap.h"
#include "session/census.h"
#include "session/crash.h"
#include "session/finish.h"

#include <sys/resource.h>

// A recording that stopped before the test did.
struct recording_cut {
	const char *why; // the option that caused it, or "disk"; NULL if it did not stop early
	double after;    // seconds from its beginning
	uint64_t at;     // CLOCK_BOOTTIME
};

// Counted while the trace is made. `totals` is what capture counted.
void facts_put_counts(struct manifest_record *record, const struct tally *tally,
		      const struct capture_totals *totals);
void facts_put_no_counts(struct manifest_record *record); // for a recording without a trace
void facts_put_cut(struct manifest_record *record, const struct recording_cut *cut);

double facts_own_cpu_seconds(void); // of this process, until now
void facts_put_cost(struct manifest_record *record, const struct capture_totals *totals,
		    double tracer_cpu_seconds);

// What is 0 is left out. The name must live as long as the record.
void facts_put_metric(struct manifest_record *record, const char *name, uint64_t value);
// Counters by the names of their events, which must live as long as the record.
void facts_put_counters(struct manifest_record *record, const manifest_counts *counters);
void facts_put_heap(struct manifest_record *record, const struct heap_sums *sums);
// What the kernel counted for a test that has ended.
void usage_put(struct test_end *end, const struct rusage *usage);
void facts_put_usage(struct manifest_record *record, const struct test_usage *usage);
// Metrics, waits and functions for the history.
void facts_put_measures(struct manifest_record *record, const struct measures *measures,
			const struct test_end *end);
// CPU time, and with `alive` the processes that outlived the test.
void facts_put_census(struct manifest_record *record, const struct census *census, bool alive);

// The texts live as long as the reports and the traces.
void facts_put_explanation(struct manifest_record *record, const struct explanation *explanation,
			   bool passed);
void facts_put_crashes(struct manifest_record *record, const struct crash_reports *crashes);
// A case belongs to the session of its program, which is its suite.
void facts_put_parent(struct manifest_record *record, const struct settings *settings, const char *session);
// Writes the line of a case.
void facts_note_case(const struct settings *settings, const char *backend, const struct case_trace *test,
		     const char *session);
void facts_put_cases(struct manifest_record *record, const struct case_traces *cases);

// A session that left numbers and no trace: `stat` and `heap`.
struct measured {
	const char *kind; // "stat" or "heap"
	const char *name; // of the test; NULL for what the settings say
	struct test_end end;
	manifest_counts counters;     // by the names of the events, which must live as long as the call
	const struct heap_sums *heap; // NULL if none
};
// Appends its line to the manifest, unless tracing is disabled. A directory that cannot be written to is no
// error: the numbers have been reported.
void facts_note_measured(const struct settings *settings, const struct measured *measured);

// The limits of the control group in which the test runs, and how the test ran into them: read before and
// after it, for the manifest and as facts of the trace.
struct limits {
	struct control_group before, after;
	char own[CONTROL_GROUP_NAMES], other[CONTROL_GROUP_NAMES]; // ours; to which the test moved, or ""
};

// The machine's counters, of a test that did not pass.
void machine_put(const struct machine_counters *before, struct spool *spool, const struct test_end *end);
void limits_begin(struct limits *limits);
void limits_look(struct limits *limits, pid_t test); // has the test moved to another group?
void limits_end(struct limits *limits, struct spool *spool, const struct test_end *end);
void limits_put(const struct limits *limits, struct manifest_record *record);

// What the threads waited for at the time limit, from the stacks that were saved then, as a fact of the
// trace.
void stuck_put(struct spool *spool, const char *stacks);
