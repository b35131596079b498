// What is told about the cases of a test program: failures as they come, a table, JUnit.
#pragma once

#include "session/cases.h"
#include "session/child.h"
#include "session/manifest_line.h"

enum case_outcome { CASE_NOT_RUN, CASE_RUNNING, CASE_PASSED, CASE_FAILED, CASE_SKIPPED };

struct case_result {
	const struct test_case *test;
	enum case_outcome outcome;
	struct child child;
	int status;   // exit status, as a shell gives it
	double began; // CLOCK_MONOTONIC
	double seconds;
	char words[128]; // the outcome
	struct manifest_line record;
};

struct each_results {
	struct case_result *items;
	size_t count, capacity;
};

void each_results_free(struct each_results *results);

// All on standard output. `output` is the file with what the case has printed.
void each_print_failure(const struct case_result *result, const char *output);
void each_print_table(const struct each_results *results, double seconds);

// False: the file could not be written, as was said. FOLDER/N.out has the output of case N.
bool each_write_junit(const struct each_results *results, const struct framework *framework, char **command,
		      const char *path, const char *folder, double seconds);
