// `tracelet stat`: events counted while a command runs, a process goes on, or the machine does
// what it does; what becomes of the counts; and whether they are as they should be.
#pragma once

#include "base/file.h"
#include "capture/pmu/counters.h"
#include "capture/pmu/metrics.h"

#include <time.h>

enum stat_format { STAT_TABLE, STAT_JSON, STAT_CSV };

struct stat_options {
	const char *events, *metrics; // lists; NULL: not told
	const char *cpus;             // a list; NULL: all
	const char *output;           // a file, "-": standard output; NULL: stderr beside a command
	const char *baseline;         // a file that --json wrote
	double tolerance;             // of the baseline: 0.02 is 2 %
	double interval;              // seconds
	unsigned count;               // so many intervals; 0: until the end
	enum stat_format format;
	bool timeline, per_core, per_thread, per_test, system, quiet;
	const char *metric_file; // of the user's own; NULL: none
	pid_t pid;               // 0: none
	char **command;          // NULL: none
	struct {
		const char **items;
		size_t count, capacity;
	} assertions;
};

// The counts of a span of time: places x events.
struct stat_reading {
	double begin, end; // seconds since the beginning
	struct count *counts;
};

struct stat_assertion {
	const char *text;
	struct formula formula;
};

// Values of a run before.
struct stat_baseline {
	struct {
		char *name;
		double value;
	} * items;
	size_t count, capacity;
};

struct counting {
	const struct stat_options *options;
	struct stat_options as_whole; // in place of them, where threads cannot be counted by themselves
	struct metrics metrics;
	struct pmu_events events;
	ARRAY(const struct metric *) shown;
	ARRAY(struct stat_assertion) assertions;
	struct stat_baseline baseline;
	ARRAY(struct counter_place) places;
	struct counters counters;
	struct stat_threads *threads; // each of the command's by itself; NULL: not wanted, or over
	ARRAY(char *) thread_names;   // then, of each place
	struct stat_reading total;
	ARRAY(struct stat_reading) timeline;
	const char *test;   // the case of a test program that is counted now; NULL: all of the command
	int case_report;    // where its part of the report goes
	struct output file; // of options->output
	bool to_file;
	char *file_name; // options->output with its words filled in
	struct timespec begun;
	double user_seconds, system_seconds; // of the command and what it waited for
	int fd;                              // else
	int write_error;                     // the first one there, -errno
};

enum { STAT_DIFFERS = 3, STAT_USAGE = 2, STAT_NOTHING = 1, STAT_ALL_PLACES = -2 };

// Counts and tells; returns the exit status: the command's, or 3 if that is 0 and an assertion
// does not hold or the baseline is exceeded.
int session_stat(const struct stat_options *options);

// ---- cases (stat_cases.c) ----

// Counts each case of a test program by itself; `count` counts the command of `counting` and returns
// its status. Returns that of all.
int stat_each_case(struct counting *counting, int (*count)(struct counting *counting));

// ---- threads of a command (stat_threads.c) ----

// Counts from now on, for each thread that `test` will have. False: it cannot be done here, as was said.
bool stat_threads_begin(struct counting *counting, pid_t test);
// The threads are the places then, with `total`. Nothing, if it has not begun.
void stat_threads_end(struct counting *counting);

// ---- values (stat_values.c) ----

// A part of a reading: of one CPU or one thread, or STAT_ALL_PLACES.
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
// Why an event has no value: a word of the event's, or that it never counted.
const char *stat_why_not(const struct counting *counting, size_t event);
double stat_event_value(const struct stat_part *part, size_t event); // NAN: there is none
double stat_metric_value(const struct stat_part *part, const struct metric *metric);
double stat_lookup(const char *name, void *part); // as formulas want it

// ---- the report (stat_report.c, stat_table.c) ----

void stat_report_begin(struct counting *counting);
void stat_report_row(struct counting *counting, const struct stat_reading *reading); // of a timeline, at once
int stat_report_end(struct counting *counting);                                      // 0 or STAT_USAGE
void stat_report_case(struct counting *counting, int status);           // of `test`, to its own descriptor
int stat_report_cases(struct counting *counting, struct buffer *cases); // the parts of all; 0 or STAT_USAGE

// For each CPU or thread that is told of by itself.
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

// A name with {timestamp}, {class} (core, thread, test or all) and {core} filled in, to be freed.
// `core` STAT_ALL_PLACES: "all".
char *stat_file_name(const struct stat_options *options, const struct timespec *time, int core);
// A file for each core is wanted.
bool stat_wants_files(const struct stat_options *options);

// ---- checks (stat_check.c, stat_baseline.c) ----

int stat_take_assertions(struct counting *counting); // 0 or STAT_USAGE, as was said
int stat_check(const struct counting *counting);     // 0 or STAT_DIFFERS, as was said
// Of one case, if the file has cases; `test` NULL: of all of them, for the names of the events.
int stat_baseline_read(struct stat_baseline *baseline, const char *path, const char *test);
void stat_baseline_free(struct stat_baseline *baseline);
// For people: "1,234,567", "0.98".
char *stat_number(double value, char text[40]);
