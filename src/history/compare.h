// What a comparison of two runs found, and its text, JSON and Markdown (compare_print.c).
#pragma once

#include "history/show.h"

enum compared_kind { COMPARED_FAILS, COMPARED_FIXED, COMPARED_NEW, COMPARED_GONE, COMPARED_SAME };

struct compared_test {
	uint64_t test;
	enum compared_kind kind;
	enum manifest_status before, after; // ENDED_COUNT: it is not in this run
	uint32_t commits, flaky_commits;    // of the baseline; those that both passed and failed
};

struct compared_time {
	uint64_t test;
	const char *metric, *machine_class;
	double usual, value, ratio, probability;
	bool large; // enough to be reported
	bool load;  // the machine was busier or quieter; see load.h
};

struct comparison {
	struct history_question *question;
	struct history_run old_run, new_run;
	ARRAY(struct compared_test) outcomes;
	ARRAY(struct compared_time) times;
	uint64_t tests, without_baseline; // tests of the new run; those without enough earlier commits
};

void compare_print(struct comparison *comparison, const history_tests *tests); // sorts it
