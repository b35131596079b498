// Reports about the cases of a test program: failures as they happen, a table, JUnit.
#pragma once

#include "format/manifest_record.h"
#include "process/child.h"
#include "suite/cases.h"

enum case_outcome { CASE_NOT_RUN, CASE_RUNNING, CASE_PASSED, CASE_FAILED, CASE_SKIPPED };

struct case_result {
	const struct test_case *test;
	enum case_outcome outcome;
	struct child child;
	int status;   // as in a shell
	double began; // CLOCK_MONOTONIC
	double seconds;
	char words[160];  // the result
	bool had_company; // another case ran at the same time
	bool unreported;  // failed only because the framework's report says so, or is missing
	struct manifest_record record;
};

struct each_results {
	struct case_result *items;
	size_t count, capacity;
};

void each_results_free(struct each_results *results);

// All on standard output. `output` is the file with the case's output.
void each_print_failure(const struct case_result *result, const char *output);
// Failures and the slowest cases, or `all`. `traced`: artifacts are expected.
void each_print_table(const struct each_results *results, double seconds, bool all, bool traced);

// The page of all cases in the output directory, if the settings want one.
struct settings;
void each_write_page(const struct each_results *results, const struct settings *settings, const char *folder);

// False if the file could not be written, after an error message. FOLDER/N.out has the output of case N.
bool each_write_junit(const struct each_results *results, const struct framework *framework, char **command,
		      const char *path, const char *folder, double seconds);
