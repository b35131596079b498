// The end of a session, the same on every system: the result in words, whether the trace is kept, the record
// for the manifest and --json, the limits of the output directory, the summary and the CI system.
//
//     finish_open()          settings and names
//     finish_add_file() ...  while files are saved
//     finish_end()           how the test ended
//     finish_note()          the manifest's line
//     finish_keep_limits()
//     finish_report()        --json, the summary, the CI
//     finish_free()
#pragma once

#include "format/manifest_record.h"
#include "settings/settings.h"

#include <time.h>

// What the kernel says about a test and the processes that it waited for; 0 where it is not known.
struct test_usage {
	uint64_t user_ns, system_ns;
	uint64_t faults, major_faults;
	uint64_t max_rss; // bytes
};

// What is known about a test or an operation after its end.
struct test_end {
	int status; // as the system reports it: from wait() on Linux, the exit code on Windows
	double wall_seconds, cpu_seconds;
	struct test_usage usage;
	struct timespec started;
	bool operation;   // not a test: there is no status
	bool timed_out;   // the test was ended at its time limit
	bool leaked;      // the test failed because it leaked memory
	bool abandoned;   // tracelet was killed before the test ended: the status is unknown
	bool accepted;    // with a verdict: the test did not fail
	char verdict[64]; // in words, if it differs from what the status says; otherwise ""
	// Linux: when the time limit was reached, CLOCK_BOOTTIME; paths of the files saved then, "" if none
	uint64_t time_over;
	char stacks[512], core[512];
	char groups[1024]; // Linux: its control groups when it ended; "" if unknown
};

struct finish {
	const struct settings *settings;
	struct manifest_record record;
	bool recorded;                   // report even if there is no file
	bool passed;                     // the test passed; always true for an operation
	bool timed_out;                  // the test timed out
	bool failed_cases;               // only failed cases have a trace
	double bpf_measured_seconds;     // how long the cost of BPF was measured, if it is an estimate
	const char *missing;             // what the backend cannot see, or NULL
	const struct buffer *heap_words; // printed below the heap profile's path, or NULL
	const struct buffer *leaks;      // text after the summary, or NULL
};

// ---- policy ----

bool finish_passed(const struct test_end *end);

// "passed", "failed: exit status 3", "unknown: tracelet was killed", "timed out: limit 3 s", "killed by
// signal 11 (Segmentation fault)", "crashed: access violation (c0000005)".
void finish_words(const struct settings *settings, const struct test_end *end, char *words, size_t size);

// Why the trace is not kept, or NULL if it is kept.
const char *finish_not_kept(const struct settings *settings, const struct test_end *end);

// ---- the record ----

// What the user calls the test with a command, not made safe for files; to be freed.
char *session_true_name(const struct settings *settings);

// `test` is the safe name. The settings and the name must outlive the finish.
void finish_open(struct finish *finish, const struct settings *settings, const char *test);
void finish_end(struct finish *finish, const struct test_end *end);
void finish_case(struct finish *finish, const char *result,
		 const struct test_end *end); // for one case of a test

// Adds a file if it exists; copies its path.
void finish_add_file(struct finish *finish, const char *kind, const char *path);
// Adds the trace, in front of all other files. Looks up size and checksum if `sha256` is NULL.
void finish_add_trace(struct finish *finish, const char *kind, const char *path, uint64_t size,
		      const char *sha256);
const struct manifest_artifact *finish_trace(const struct finish *finish); // NULL if none

// ---- where it goes ----

// Writes the test's page, if it is wanted, and adds it.
void finish_page(struct finish *finish);

// Writes the manifest's line, if there is anything to record.
void finish_note(const struct finish *finish);
// Applies the limits of the output directory. This may delete the trace that was just made.
void finish_keep_limits(struct finish *finish);

void finish_report(const struct finish *finish); // --json, the summary on standard error, the CI
void finish_free(struct finish *finish);
