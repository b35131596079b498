// The questions of `tracelet history`. Each reads rows from a store, computes its answer and appends it to
// `out` as text, JSON or Markdown. They return 0 or -errno; `found` says whether there is something that
// --fail-on may fail for.
#pragma once

#include "history/rows.h"

enum { HISTORY_MOST_METRICS = 8 }; // of one question
enum history_form { HISTORY_TEXT, HISTORY_JSON, HISTORY_MARKDOWN };

struct history_question {
	struct history_store *store;
	const char *project, *branch, *machine_class; // NULL for any
	int64_t since, until;                         // ms; 0 for no limit
	int64_t now;
	const char *metrics[HISTORY_MOST_METRICS];
	size_t metric_count; // at least 1
	enum history_form form;
	struct buffer *out;

	const char *test;     // of `history TEST` and `flaky --why`
	const char *runs[2];  // of compare; NULL if not given
	const char *baseline; // a branch: compare with its last run
	int64_t stale;        // ms: tests without a session for so long
	int64_t recent;       // ms: functions of this time against those of the time before
	unsigned confirmed;   // how often suspects were run again

	bool regression, flaky;   // found, for --fail-on
	uint32_t seen;            // 1 << place in `metrics`: a session has this one. TEST, trend, compare
	ARRAY(uint64_t) suspects; // tests that compare calls slower or newly failing
};

int question_totals(struct history_question *question);
int question_test(struct history_question *question);
int question_trend(struct history_question *question);
int question_slow(struct history_question *question);
int question_flaky(struct history_question *question);
int question_why_flaky(struct history_question *question);
int question_compare(struct history_question *question);
int question_functions(struct history_question *question);
int question_runs(struct history_question *question);
int question_tests(struct history_question *question);

// ---- what they share (question.c) ----

struct history_filter question_filter(const struct history_question *question);

typedef ARRAY(uint64_t) history_keys;        // of tests
void question_sort_keys(history_keys *keys); // ascending, each once

// The tests of the store, to name them: those with these keys, or all of them if `keys` is NULL.
typedef ARRAY(struct history_test) history_tests; // in the order of their keys
int question_read_tests(struct history_question *question, const history_keys *keys, history_tests *tests);
const struct history_test *question_find_test(const history_tests *tests, uint64_t key);

// Finds a test by its name, or "SUITE/NAME": its keys, ascending. An unknown one is reported with the names
// that are near: -ENOENT.
int question_named(struct history_question *question, const char *name, history_keys *keys);

// Finds a run: a prefix of its id (4 characters or more), a commit or the beginning of one, branch@{n},
// `latest`. Reported if there is none.
int question_run(struct history_question *question, const char *name, struct history_run *run);
