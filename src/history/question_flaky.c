// `history flaky`: which tests pass and fail with the same commit, how much time that costs, and since when.
// The days tell which tests can be meant; only the sessions of those are read.
#include "base/text.h"
#include "history/series.h"
#include "history/show.h"
#include "history/statistics.h"

#include <math.h>

enum { WEEK_MS = 7 * HISTORY_DAY_MS, FEW_VERDICTS = 100, MOST_SPLITS = 64 };

struct flaky_test {
	uint64_t test;
	const char *machine_class, *branch;
	const char *state; // "broken" or "flaky"
	uint64_t runs, failed, verdicts, flaky;
	double typical, rank, rate; // rate: of failures, in the last segment
	int64_t since;              // when the last segment began
	const char *since_commit;
	int64_t window; // ms
};

struct context {
	struct history_question *question;
	history_keys candidates;
	uint64_t candidate_failed, candidate;
	ARRAY(struct flaky_test) found;
};

// ---- candidates ----

// Two failures are needed, whatever the rule.
static void end_candidate(struct context *context) {
	if (context->candidate_failed >= 2)
		array_push(&context->candidates, context->candidate);
	context->candidate_failed = 0;
}

static void take_day(void *data, const struct history_day *row) {
	struct context *context = data;
	if (row->test != context->candidate)
		end_candidate(context);
	context->candidate = row->test;
	context->candidate_failed += row->failed;
}

// ---- verdicts ----

struct window {
	uint64_t runs, failed, verdicts, flaky;
	double walls[1024]; // of the passed ones; enough for a median
	size_t wall_count;
};

static void look(const struct series *series, int64_t since, int64_t until, struct window *window) {
	*window = (struct window){0};
	for (size_t i = 0; i < series->count; i++) {
		const struct series_point *point = &series->points[i];
		if (point->started < since || (until && point->started >= until) ||
		    point->passed + point->failed == 0)
			continue;
		window->runs += point->passed + point->failed;
		window->failed += point->failed;
		window->verdicts++;
		window->flaky += point->passed && point->failed;
		if (!isnan(point->values[0]) && window->wall_count < ARRAY_SIZE(window->walls))
			window->walls[window->wall_count++] = point->values[0];
	}
}

// The last segment of equal failure rate.
static void find_segment(const struct series *series, struct flaky_test *test, uint64_t *runs) {
	size_t splits[MOST_SPLITS], count = 0, *places = memory_alloc((series->count + 1) * sizeof(*places));
	struct statistics_trial *trials = memory_alloc((series->count + 1) * sizeof(*trials));
	for (size_t i = 0; i < series->count; i++) {
		const struct series_point *point = &series->points[i];
		if (point->passed + point->failed == 0)
			continue;
		places[count] = i;
		trials[count++] = (struct statistics_trial){point->failed, point->passed + point->failed};
	}
	size_t found = statistics_segments(trials, count, splits, ARRAY_SIZE(splits));
	size_t from = found ? splits[found - 1] : 0;
	uint64_t failed = 0;
	*runs = 0;
	for (size_t i = from; i < count; i++) {
		failed += trials[i].hits;
		*runs += trials[i].count;
	}
	test->rate = *runs ? (double)failed / (double)*runs : 0;
	test->since = count ? series->points[places[from]].started : 0;
	test->since_commit = count ? series->points[places[from]].commit : "";
	free(places);
	free(trials);
}

static void take_series(void *data, const struct series *series) {
	struct context *context = data;
	const struct history_question *question = context->question;
	int64_t until = question->until ? question->until : question->now;
	static struct window window; // large
	struct flaky_test test = {.test = series->test,
				  .machine_class = series->machine_class,
				  .branch = series->branch,
				  .window = question->since ? until - question->since : WEEK_MS};
	uint64_t segment;
	look(series, until - test.window, question->until, &window);
	if (!question->since && window.verdicts < FEW_VERDICTS) {
		test.window *= 2;
		look(series, until - test.window, question->until, &window);
	}
	if (!window.failed)
		return;
	find_segment(series, &test, &segment);
	test.runs = window.runs;
	test.failed = window.failed;
	test.verdicts = window.verdicts;
	test.flaky = window.flaky;
	if (test.rate >= 0.8 && segment >= 3)
		test.state = "broken";
	else if (window.flaky >= 2 && window.flaky * 100 >= window.verdicts)
		test.state = "flaky";
	else
		return;
	test.typical = window.wall_count ? statistics_median(window.walls, window.wall_count) : 0;
	test.rank = statistics_wilson(test.failed, test.runs) * (double)test.runs *
		    ((double)WEEK_MS / (double)MAX(test.window, 1)) * test.typical;
	array_push(&context->found, test);
}

static int by_rank(const void *a, const void *b) {
	const struct flaky_test *left = a, *right = b;
	int order = strcmp(left->state, right->state); // broken before flaky
	order = order ? order : (left->rank < right->rank) - (left->rank > right->rank);
	order = order ? order : (left->failed < right->failed) - (left->failed > right->failed);
	order = order ? order : (left->test > right->test) - (left->test < right->test);
	order = order ? order : strcmp(left->machine_class, right->machine_class);
	return order ? order : strcmp(left->branch, right->branch);
}

// ---- the answer ----

static void print(struct context *context, const history_tests *tests) {
	static const char *const headers[] = {"state",       "failed>",      "of>",     "flaky>",
					      "of commits>", "lost a week>", "since",   "commit",
					      "test",        "branch",       "machines"};
	struct history_question *question = context->question;
	struct show_table table = {headers, ARRAY_SIZE(headers), {0}};
	show_line(question,
		  "Flaky: 2 or more commits that both passed and failed, and 1 %% or more of the commits, in "
		  "7 days "
		  "(14 if fewer than %d commits; --since). Broken: failed 80 %% or more since its rate last "
		  "changed.",
		  FEW_VERDICTS);
	for (size_t i = 0; i < context->found.count; i++) {
		const struct flaky_test *test = &context->found.items[i];
		char text[SHOW_SIZE];
		CLEANUP_FREE char *name = show_test(question_find_test(tests, test->test));
		show_cell(&table, "%s", test->state);
		show_cell(&table, "%llu", (unsigned long long)test->failed);
		show_cell(&table, "%llu", (unsigned long long)test->runs);
		show_cell(&table, "%llu", (unsigned long long)test->flaky);
		show_cell(&table, "%llu", (unsigned long long)test->verdicts);
		show_cell(&table, "%s", show_value("wall_ns", test->rank, text));
		show_cell(&table, "%s", show_day(test->since, text));
		show_cell(&table, "%s", show_commit(test->since_commit, text));
		show_cell(&table, "%s", name);
		show_cell(&table, "%s", test->branch);
		show_cell(&table, "%s", test->machine_class);
	}
	show_table_print(&table, question->form, question->out);
}

static void print_json(struct context *context, const history_tests *tests) {
	struct json json = json_into(context->question->out);
	json_object(&json, NULL);
	json_array(&json, "tests");
	for (size_t i = 0; i < context->found.count; i++) {
		const struct flaky_test *test = &context->found.items[i];
		char time[SHOW_SIZE];
		json_object(&json, NULL);
		show_json_test(&json, question_find_test(tests, test->test));
		json_string(&json, "state", test->state);
		json_string(&json, "branch", test->branch);
		json_string(&json, "machine_class", test->machine_class);
		json_uint(&json, "failed", test->failed);
		json_uint(&json, "runs", test->runs);
		json_uint(&json, "flaky_commits", test->flaky);
		json_uint(&json, "commits", test->verdicts);
		json_double(&json, "rate", test->rate);
		json_double(&json, "lost_ns_a_week", test->rank);
		json_string(&json, "since", show_exact_time(test->since, time));
		json_string(&json, "since_commit", test->since_commit);
		json_close_object(&json);
	}
	json_close_array(&json);
	json_close_object(&json);
	buffer_text(context->question->out, "\n");
}

int question_flaky(struct history_question *question) {
	static const char *const metrics[] = {"wall_ns"};
	struct history_wish wish = {.metrics = metrics, .metric_count = 1};
	struct history_operations const *operations = question->store->operations;
	history_tests tests = {0};
	struct context context = {.question = question};
	struct history_filter filter = question_filter(question);
	int64_t until = question->until ? question->until : question->now;
	filter.since = question->since ? question->since : until - 2 * (int64_t)WEEK_MS;
	filter.failed = true;
	int error = operations->days(question->store, &filter, take_day, &context);
	end_candidate(&context);
	filter.since = 0; // when it began may be long ago
	filter.failed = false;
	filter.tests = context.candidates.items;
	filter.test_count = context.candidates.count;
	filter.statuses = HISTORY_PASSED | HISTORY_FAILED;
	filter.trusted = true;
	if (!error && context.candidates.count)
		error = series_read(question->store, &filter, &wish, take_series, &context);
	if (context.found.count)
		qsort(context.found.items, context.found.count, sizeof(*context.found.items), by_rank);
	question->flaky = context.found.count > 0;
	error = error ? error : question_read_tests(question, &context.candidates, &tests);
	if (!error && question->form == HISTORY_JSON)
		print_json(&context, &tests);
	else if (!error)
		print(&context, &tests);
	array_free(&context.candidates);
	array_free(&context.found);
	array_free(&tests);
	return error;
}
