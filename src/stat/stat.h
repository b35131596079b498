// `tracelet stat`: counts events of a command, a process or the whole machine, reports the counts,
// and checks them against assertions and a baseline.
#pragma once

#include "base/file.h"
#include "capture/pmu/counters.h"
#include "capture/pmu/metrics.h"
#include "settings/settings.h"

#include <time.h>

enum stat_format { STAT_TABLE, STAT_JSON, STAT_CSV };

// An assertion as the user wrote it.
struct stat_wanted {
	const char *text;
	bool if_available; // holds where its events cannot be counted
};

struct stat_options {
	const char *events, *metrics; // lists; NULL if not given
	const char *cpus;             // a list; NULL for all
	const char *output;           // a file; "-" for standard output; NULL for standard error
	const char *baseline;         // a file written by --json
	double tolerance;             // relative to the baseline: 0.02 is 2 %
	double interval;              // seconds
	unsigned count;               // number of intervals; 0 until the end
	enum stat_format format;
	bool timeline, per_core, per_thread, per_test, system, quiet;
	const char *metric_file;         // the user's own; NULL if none
	pid_t pid;                       // 0 if none
	char **command;                  // NULL if none
	const struct settings *settings; // for the line in the manifest; NULL if there is to be none
	ARRAY(struct stat_wanted) assertions;
};

// The counts of a period of time: places x events.
struct stat_reading {
	double begin, end; // seconds since the beginning
	struct count *counts;
};

struct stat_assertion {
	const char *text;
	bool if_available;
	struct formula formula;
};

// Values of an earlier run.
struct stat_baseline {
	struct {
		char *name;
		double value;
	} * items;
	size_t count, capacity;
};

struct counting {
	const struct stat_options *options;
	struct stat_options as_whole; // used instead if threads cannot be counted separately
	struct metrics metrics;
	struct pmu_events events;
	ARRAY(const struct metric *) shown;
	ARRAY(struct stat_assertion) assertions;
	struct stat_baseline baseline;
	ARRAY(struct counter_place) places;
	struct counters counters;
	struct stat_threads *threads; // each thread of the command; NULL if not wanted, or after the end
	ARRAY(char *) thread_names;   // in that case, for each place
	struct stat_reading total;
	ARRAY(struct stat_reading) timeline;
	const char *test;                  // the test case being counted, or NULL for the whole command
	int case_report;                   // where its part of the report goes
	int case_output[2];                // where it writes, instead of standard output and standard error
	const struct case_rule *case_rule; // how it is judged
	char case_result[64];              // the verdict in words
	struct output file;                // of options->output
	bool to_file;
	char *file_name; // options->output with its words replaced
	struct timespec begun;
	double user_seconds, system_seconds; // of the command and the children it waited for
	const char *program;                 // while a case is counted: the test program
	int fd;                              // if not to a file
	int write_error;                     // the first write error, -errno
};

enum { STAT_DIFFERS = 3, STAT_USAGE = 2, STAT_NOTHING = 1, STAT_ALL_PLACES = -2 };
enum { STAT_DEEPEST = 8 }; // metrics in metrics, which may go in circles

// Counts and reports. Returns the exit status: the command's, or 3 if that is 0 and an assertion
// fails or the baseline is exceeded.
int session_stat(const struct stat_options *options);

// ---- cases (stat_cases.c) ----

// Counts each case of a test program separately; `count` counts the command of `counting` and returns
// its status. Returns the status of all.
int stat_each_case(struct counting *counting, int (*count)(struct counting *counting));
// The verdict on the case that has ended with this status, from its output, goes to `case_result`. Returns
// the status that counts: not 0 only if the case failed.
int stat_judge_case(struct counting *counting, int status);

// ---- the manifest (note.c) ----

struct rusage;
// Writes the line of a command that has ended. `accepted`: it did not fail.
void stat_note(const struct counting *counting, int wait_status, const struct rusage *usage, bool accepted);

// ---- threads of a command (stat_threads.c) ----

// Starts counting for each future thread of `test`. False if that is not possible here, after a warning.
bool stat_threads_begin(struct counting *counting, pid_t test);
// Stops; the threads are now the places, in addition to `total`. Does nothing if it was not started.
void stat_threads_end(struct counting *counting);

// ---- values (stat_values.c) ----

// A part of a reading: one CPU, one thread, or STAT_ALL_PLACES.
struct stat_part {
	const struct counting *counting;
	const struct stat_reading *reading;
	int cpu;
	pid_t thread;
	unsigned depth; // of metrics in metrics
};
struct stat_part stat_whole(const struct counting *counting, const struct stat_reading *reading);
struct count stat_count(const struct stat_part *part, size_t event);
bool stat_was_counted(const struct counting *counting, size_t event, const struct count *count);
// Why an event has no value: the event's own reason, or that it never counted.
const char *stat_why_not(const struct counting *counting, size_t event);
double stat_event_value(const struct stat_part *part, size_t event); // NAN if none
double stat_metric_value(const struct stat_part *part, const struct metric *metric);
double stat_lookup(const char *name, void *part); // callback for formulas

// ---- the report (stat_report.c, stat_table.c) ----

void stat_report_begin(struct counting *counting);
void stat_report_row(struct counting *counting, const struct stat_reading *reading); // of a timeline, at once
int stat_report_end(struct counting *counting);                                      // 0 or STAT_USAGE
void stat_report_case(struct counting *counting, int status);           // of `test`, to its own descriptor
int stat_report_cases(struct counting *counting, struct buffer *cases); // the parts of all; 0 or STAT_USAGE

// For each CPU or thread that is reported separately.
typedef void stat_part_taker(const struct stat_part *part, void *context);
void stat_each_part(const struct counting *counting, const struct stat_reading *reading,
		    stat_part_taker *take, void *context);
void stat_part_name(const struct stat_part *part, char name[64]); // "CPU 0", "thread 12 (sh)"; "" for all
void stat_table_begin(struct counting *counting, struct buffer *text);
void stat_table_row(struct counting *counting, const struct stat_reading *reading, struct buffer *text);
void stat_table_end(struct counting *counting, struct buffer *text);
void stat_table_sparks(struct counting *counting, struct buffer *text); // for a terminal
void stat_table_case(struct counting *counting, int status, struct buffer *text);

// ---- names of files (stat_name.c) ----

// A name with {timestamp}, {class} (core, thread, test or all) and {core} replaced, to be freed.
// `core` STAT_ALL_PLACES: "all".
char *stat_file_name(const struct stat_options *options, const struct timespec *time, int core);
// Whether to write one file for each core.
bool stat_wants_files(const struct stat_options *options);

// ---- checks (stat_check.c, stat_baseline.c) ----

int stat_take_assertions(struct counting *counting); // 0, or STAT_USAGE after an error message
int stat_check(const struct counting *counting);     // 0, or STAT_DIFFERS after an error message
// The values of one case, if the file has cases; if `test` is NULL, those of all, for the names of the
// events.
int stat_baseline_read(struct stat_baseline *baseline, const char *path, const char *test);
void stat_baseline_free(struct stat_baseline *baseline);
// Formats a number for people: "1,234,567", "0.98".
char *stat_number(double value, char text[40]);
