// `history compare`: what one run changed against another. Outcomes are compared directly. A time is
// compared with the last commits of the older run's branch, not with one measurement; all tests together
// are allowed 5 % of false alarms (Benjamini-Hochberg).
#include "base/log.h"
#include "base/text.h"
#include "history/change.h"
#include "history/compare.h"
#include "history/load.h"
#include "history/series.h"
#include "history/statistics.h"

#include <errno.h>
#include <math.h>

enum { BASELINE = 30, LEAST_BASELINE = 8, REPEATS = 4, MOST_CHANGES = 8 };

// One session of the current test, of either run or of the baseline.
struct entry {
	const char *machine_class, *branch, *commit, *run;
	enum manifest_status status;
	bool trusted;
	int64_t values[HISTORY_MOST_METRICS];
};

struct collecting {
	struct comparison *comparison;
	const struct history_wish *wish;
	const char *const *runs; // both runs and those of the baseline
	size_t run_count;
	uint64_t test;
	ARRAY(struct entry) entries;
};

// ---- one metric of one test on one class of machines ----

static bool is_good(const struct entry *entry, size_t metric) {
	return entry->trusted && HISTORY_PASSED >> entry->status & 1 && entry->values[metric] != HISTORY_NONE;
}

// Medians of the commits of the baseline, the oldest first.
static size_t baseline_of(const struct collecting *collecting, const char *class, size_t metric,
			  double values[BASELINE]) {
	const struct comparison *comparison = collecting->comparison;
	double all[4 * BASELINE], some[64];
	size_t count = 0;
	for (size_t i = 0; i < collecting->entries.count;) {
		const struct entry *first = &collecting->entries.items[i];
		size_t here = 0;
		const char *commit = *first->commit ? first->commit : first->run;
		for (; i < collecting->entries.count; i++) { // sessions of one commit stand together
			const struct entry *entry = &collecting->entries.items[i];
			if ((*entry->commit ? entry->commit : entry->run) != commit)
				break;
			if (entry->run != comparison->new_run.run &&
			    entry->branch == comparison->old_run.branch && entry->machine_class == class &&
			    is_good(entry, metric) && here < ARRAY_SIZE(some))
				some[here++] = (double)entry->values[metric];
		}
		if (here && count < ARRAY_SIZE(all))
			all[count++] = here == 1 ? some[0] : statistics_median(some, here);
	}
	size_t used = MIN(count, (size_t)BASELINE);
	memcpy(values, all + (count - used), used * sizeof(*values));
	return used;
}

// Only what was measured since the level last changed.
static size_t since_change(double *values, size_t count) {
	struct change changes[MOST_CHANGES];
	size_t found = change_find(values, count, changes, MOST_CHANGES);
	size_t from = found ? changes[found - 1].at : 0;
	memmove(values, values + from, (count - from) * sizeof(*values));
	return count - from;
}

static bool is_wall(const struct compared_time *time) {
	return strcmp(time->metric, "wall_ns") == 0;
}

static void judge(struct collecting *collecting, const char *class, size_t metric, const double *now,
		  size_t repeats) {
	struct comparison *comparison = collecting->comparison;
	const char *name = comparison->question->metrics[metric];
	double baseline[BASELINE], logarithms[BASELINE], repeated[64];
	size_t count = baseline_of(collecting, class, metric, baseline);
	double value = statistics_median(now, repeats), least = history_metric_is_exact(name) ? 0.01 : 0.05;
	if (count < LEAST_BASELINE) {
		comparison->without_baseline += metric == 0;
		return;
	}
	double usual = statistics_median(baseline, count);
	struct compared_time time = {.test = collecting->test,
				     .metric = name,
				     .machine_class = class,
				     .value = value,
				     .probability = 1};
	if (fabs(value / usual - 1) >= least) { // only these can be reported: spare the others the search
		count = since_change(baseline, count);
		usual = statistics_median(baseline, count);
	}
	for (size_t i = 0; i < count; i++)
		logarithms[i] = log(MAX(baseline[i], 1));
	for (size_t i = 0; i < repeats; i++)
		repeated[i] = log(MAX(now[i], 1));
	if (count >= LEAST_BASELINE)
		time.probability = repeats >= REPEATS
					   ? statistics_rank_test(logarithms, count, repeated, repeats)
					   : statistics_single_test(log(MAX(value, 1)), logarithms, count);
	time.usual = usual;
	time.ratio = value / usual;
	time.large = fabs(time.ratio - 1) >= least;
	array_push(&comparison->times, time);
}

// ---- one test ----

// What the run says about the test: its last session, as retries come later.
static const struct entry *last_of(const struct collecting *collecting, const char *run) {
	for (size_t i = collecting->entries.count; i-- > 0;)
		if (collecting->entries.items[i].run == run)
			return &collecting->entries.items[i];
	return NULL;
}

static bool has_failed(const struct entry *entry) {
	return entry && HISTORY_FAILED >> entry->status & 1;
}

static bool is_suspect(const struct history_question *question, uint64_t test) {
	for (size_t i = 0; i < question->suspects.count; i++)
		if (question->suspects.items[i] == test)
			return true;
	return false;
}

// A suspect that was run again: what most of these sessions say, so that a flaky test is no regression.
static const struct entry *confirmed_of(const struct collecting *collecting) {
	const struct comparison *comparison = collecting->comparison;
	const struct entry *ways[2] = {NULL, NULL};
	unsigned counts[2] = {0, 0}, repeats = comparison->question->confirmed;
	for (size_t i = collecting->entries.count; i-- > 0 && counts[0] + counts[1] < repeats;) {
		const struct entry *entry = &collecting->entries.items[i];
		bool failed = has_failed(entry);
		if (entry->run != comparison->new_run.run)
			continue;
		counts[failed]++;
		ways[failed] = ways[failed] ? ways[failed] : entry;
	}
	return ways[counts[1] > counts[0]];
}

// How many commits of the baseline passed and failed.
static void count_flaky(const struct collecting *collecting, struct compared_test *test) {
	for (size_t i = 0; i < collecting->entries.count;) {
		const char *commit = collecting->entries.items[i].commit;
		bool passed = false, failed = false;
		for (; i < collecting->entries.count && collecting->entries.items[i].commit == commit; i++) {
			const struct entry *entry = &collecting->entries.items[i];
			if (!entry->trusted || entry->run == collecting->comparison->new_run.run)
				continue;
			failed |= has_failed(entry);
			passed |= HISTORY_PASSED >> entry->status & 1;
		}
		test->commits += passed || failed;
		test->flaky_commits += *commit && passed && failed;
	}
}

static void judge_times(struct collecting *collecting) {
	const struct comparison *comparison = collecting->comparison;
	const struct entry *last = last_of(collecting, comparison->new_run.run);
	double now[64];
	for (size_t m = 0; last && m < comparison->question->metric_count; m++) {
		size_t repeats = 0;
		for (size_t i = 0; i < collecting->entries.count; i++) {
			const struct entry *entry = &collecting->entries.items[i];
			if (entry->run == comparison->new_run.run &&
			    entry->machine_class == last->machine_class &&
			    HISTORY_PASSED >> entry->status & 1 && entry->values[m] != HISTORY_NONE &&
			    repeats < ARRAY_SIZE(now))
				now[repeats++] = (double)entry->values[m];
		}
		comparison->question->seen |= (uint32_t)(repeats > 0) << m;
		if (repeats)
			judge(collecting, last->machine_class, m, now, repeats);
	}
}

static void finish_test(struct collecting *collecting) {
	struct comparison *comparison = collecting->comparison;
	if (!collecting->entries.count)
		return;
	const struct entry *before = last_of(collecting, comparison->old_run.run);
	const struct entry *after = comparison->question->confirmed &&
						    is_suspect(comparison->question, collecting->test)
					    ? confirmed_of(collecting)
					    : last_of(collecting, comparison->new_run.run);
	struct compared_test test = {.test = collecting->test,
				     .before = before ? before->status : ENDED_COUNT,
				     .after = after ? after->status : ENDED_COUNT};
	bool failed = has_failed(after), failed_before = has_failed(before);
	if (!before && !after) {
		collecting->entries.count = 0;
		return;
	}
	comparison->tests += after != NULL;
	test.kind = !before                                                ? COMPARED_NEW
		    : !after                                               ? COMPARED_GONE
		    : failed && !failed_before                             ? COMPARED_FAILS
		    : failed_before && HISTORY_PASSED >> after->status & 1 ? COMPARED_FIXED
									   : COMPARED_SAME;
	if (failed || failed_before)
		count_flaky(collecting, &test);
	if (test.kind != COMPARED_SAME)
		array_push(&comparison->outcomes, test);
	if (test.kind == COMPARED_NEW && failed) {
		test.kind = COMPARED_FAILS;
		array_push(&comparison->outcomes, test);
	}
	if (before)
		judge_times(collecting);
	collecting->entries.count = 0;
}

static void push_entry(struct collecting *collecting, const struct history_session *row) {
	collecting->test = row->test;
	struct entry entry = {.machine_class = row->machine_class,
			      .branch = row->branch,
			      .commit = row->commit,
			      .run = row->run,
			      .status = row->status,
			      .trusted = row->trusted};
	memcpy(entry.values, row->values, collecting->wish->metric_count * sizeof(*row->values));
	array_push(&collecting->entries, entry);
}

static void take_session(void *data, const struct history_session *row) {
	struct collecting *collecting = data;
	if (collecting->test != row->test)
		finish_test(collecting);
	push_entry(collecting, row);
}

// ---- which runs ----

typedef ARRAY(struct history_run) run_list;

static void push_run(void *context, const struct history_run *row) {
	run_list *runs = context;
	array_push(runs, *row);
}

// The last trusted run of a branch, other than `not`, that began before it.
static int last_run_of(struct history_question *question, const char *branch, const struct history_run * not,
		       struct history_run *found) {
	struct history_filter filter = {.project = question->project, .branch = branch, .trusted = true};
	run_list runs = {0};
	int error = question->store->operations->runs(question->store, &filter, push_run, &runs);
	bool any = false;
	for (size_t i = 0; i < runs.count; i++)
		if (runs.items[i].run != not ->run && runs.items[i].started <= not ->started) {
			*found = runs.items[i];
			any = true;
		}
	array_free(&runs);
	if (!error && !any) {
		CLEANUP_FREE char *plain = text_plain_copy(branch);
		log_error("the history has no earlier run of the branch '%s'", plain);
		error = -ENOENT;
	}
	return error;
}

static int choose_runs(struct history_question *question, struct comparison *comparison) {
	const char *newer = question->baseline ? question->runs[0] : question->runs[1];
	int error = question_run(question, newer ? newer : "latest", &comparison->new_run);
	if (error)
		return error;
	return question->baseline
		       ? last_run_of(question, question->baseline, &comparison->new_run, &comparison->old_run)
		       : question_run(question, question->runs[0], &comparison->old_run);
}

// The older run's branch up to it, the newest BASELINE ones, and both runs.
static int choose_baseline(struct history_question *question, const struct comparison *comparison,
			   const char **names, size_t *count) {
	struct history_filter filter = {.project = question->project,
					.branch = comparison->old_run.branch,
					.until = comparison->old_run.started + 1};
	run_list runs = {0};
	int error = question->store->operations->runs(question->store, &filter, push_run, &runs);
	*count = 0;
	names[(*count)++] = comparison->old_run.run;
	if (comparison->new_run.run != comparison->old_run.run)
		names[(*count)++] = comparison->new_run.run;
	for (size_t i = runs.count; i-- > 0 && *count < BASELINE + 2;) {
		const char *run = runs.items[i].run;
		if (run != names[0] && run != comparison->new_run.run)
			names[(*count)++] = run;
	}
	array_free(&runs);
	return error;
}

// ---- all of it ----

// What is too likely to be chance is not reported.
static void discover(struct comparison *comparison) {
	double *probabilities = memory_alloc((comparison->times.count + 1) * sizeof(*probabilities));
	for (size_t i = 0; i < comparison->times.count; i++)
		probabilities[i] = comparison->times.items[i].probability;
	double limit = statistics_discovery_limit(probabilities, comparison->times.count, 0.05);
	size_t kept = 0;
	free(probabilities);
	for (size_t i = 0; i < comparison->times.count; i++)
		if (comparison->times.items[i].large && comparison->times.items[i].probability <= limit)
			comparison->times.items[kept++] = comparison->times.items[i];
	comparison->times.count = kept;
}

// ---- the machine, or the test? ----

// The median of a metric in the sessions of the new run, or of the baseline. Those without it count as 0.
static double level(const struct collecting *collecting, const char *class, size_t metric, bool new_run) {
	const struct comparison *comparison = collecting->comparison;
	double *values = memory_alloc((collecting->entries.count + 1) * sizeof(*values));
	size_t count = 0;
	for (size_t i = 0; i < collecting->entries.count; i++) {
		const struct entry *entry = &collecting->entries.items[i];
		if ((entry->run == comparison->new_run.run) == new_run && entry->machine_class == class &&
		    (new_run || (entry->trusted && entry->branch == comparison->old_run.branch)) &&
		    HISTORY_PASSED >> entry->status & 1)
			values[count++] = (double)MAX(entry->values[metric], 0);
	}
	double median = statistics_median(values, count);
	free(values);
	return median;
}

static void finish_load(struct collecting *collecting) {
	struct comparison *comparison = collecting->comparison;
	for (size_t i = 0; i < comparison->times.count && collecting->entries.count; i++) {
		struct compared_time *time = &comparison->times.items[i];
		if (time->test != collecting->test || !is_wall(time))
			continue;
		struct load_times times[2] = {{.wall = time->usual}, {.wall = time->value}};
		for (int side = 0; side < 2; side++) {
			times[side].cpu = level(collecting, time->machine_class, LOAD_CPU, side);
			times[side].ready = level(collecting, time->machine_class, LOAD_READY, side);
		}
		time->load = load_explains(&times[0], &times[1]);
	}
	collecting->entries.count = 0;
}

static void take_load(void *data, const struct history_session *row) {
	struct collecting *collecting = data;
	if (collecting->test != row->test)
		finish_load(collecting);
	for (size_t i = 0; i < collecting->run_count; i++)
		if (collecting->runs[i] == row->run) {
			push_entry(collecting, row);
			return;
		}
}

static int find_load(struct comparison *comparison, const char *const *runs, size_t run_count) {
	struct history_store *store = comparison->question->store;
	struct collecting collecting = {
		.comparison = comparison, .wish = &load_wish, .runs = runs, .run_count = run_count};
	history_keys tests = {0};
	for (size_t i = 0; i < comparison->times.count; i++)
		if (is_wall(&comparison->times.items[i]))
			array_push(&tests, comparison->times.items[i].test);
	question_sort_keys(&tests);
	struct history_filter filter = {
		.project = comparison->question->project, .tests = tests.items, .test_count = tests.count};
	int error = tests.count
			    ? store->operations->sessions(store, &filter, &load_wish, take_load, &collecting)
			    : 0;
	finish_load(&collecting);
	array_free(&collecting.entries);
	array_free(&tests);
	return error;
}

// ---- what --fail-on and --confirm are about ----

static bool is_regression(const struct compared_time *time) {
	return time->ratio > 1 && !time->load;
}

static void note_suspects(struct history_question *question, const struct comparison *comparison) {
	question->suspects.count = 0;
	question->regression = false;
	for (size_t i = 0; i < comparison->outcomes.count; i++)
		if (comparison->outcomes.items[i].kind == COMPARED_FAILS)
			array_push(&question->suspects, comparison->outcomes.items[i].test);
	for (size_t i = 0; i < comparison->times.count; i++)
		if (is_regression(&comparison->times.items[i]))
			array_push(&question->suspects, comparison->times.items[i].test);
	question->regression = question->suspects.count > 0;
}

// Of the tests that are listed.
static int read_names(const struct comparison *comparison, history_tests *tests) {
	history_keys keys = {0};
	for (size_t i = 0; i < comparison->outcomes.count; i++)
		array_push(&keys, comparison->outcomes.items[i].test);
	for (size_t i = 0; i < comparison->times.count; i++)
		array_push(&keys, comparison->times.items[i].test);
	question_sort_keys(&keys);
	int error = question_read_tests(comparison->question, &keys, tests);
	array_free(&keys);
	return error;
}

int question_compare(struct history_question *question) {
	struct comparison comparison = {.question = question};
	struct history_wish wish = {.metrics = question->metrics, .metric_count = question->metric_count};
	const char *names[BASELINE + 2];
	struct collecting collecting = {.comparison = &comparison, .wish = &wish};
	history_tests tests = {0};
	size_t count = 0;
	int error = choose_runs(question, &comparison);
	error = error ? error : choose_baseline(question, &comparison, names, &count);
	struct history_filter filter = {.project = question->project, .runs = names, .run_count = count};
	if (!error)
		error = question->store->operations->sessions(question->store, &filter, &wish, take_session,
							      &collecting);
	finish_test(&collecting);
	discover(&comparison);
	error = error ? error : find_load(&comparison, names, count);
	error = error ? error : read_names(&comparison, &tests);
	note_suspects(question, &comparison);
	if (!error)
		compare_print(&comparison, &tests);
	array_free(&collecting.entries);
	array_free(&comparison.outcomes);
	array_free(&comparison.times);
	array_free(&tests);
	return error;
}
