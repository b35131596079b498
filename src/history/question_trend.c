// `history trend`: where tests changed their level, the newest first. Tests that change at the same commit
// are one entry.
#include "history/change.h"
#include "history/load.h"
#include "history/show.h"
#include "history/statistics.h"
#include "base/text.h"

#include <math.h>

enum { MOST_CHANGES = 64 };

struct finding {
	uint64_t test;
	const char *metric, *branch, *machine_class;
	const char *from, *to, *commit; // the change is after `from`, up to `to`; `commit` is the likeliest
	int64_t when;                   // of that commit's first session
	double before, after, ratio;
	size_t left, at, right; // the points that were compared, among those that have the metric
	bool alert;             // certain enough for --fail-on
	bool load;              // the machine was busier or quieter; see load.h
	bool lasting;           // no later change took it back
};

struct context {
	struct history_question *question;
	ARRAY(struct finding) findings;
	size_t series;
};

static bool is_wall(const struct finding *finding) {
	return strcmp(finding->metric, "wall_ns") == 0;
}

static void take_metric(struct context *context, const struct series *series, size_t metric) {
	const char *name = context->question->metrics[metric];
	struct change changes[MOST_CHANGES];
	size_t count, *places = memory_alloc((series->count + 1) * sizeof(*places));
	double *values = series_values(series, metric, places, &count);
	size_t found = history_metric_is_exact(name) ? change_find_exact(values, count, changes, MOST_CHANGES)
						     : change_find(values, count, changes, MOST_CHANGES);
	double least = history_metric_is_exact(name) ? 1.01 : 1.03;
	context->series += count > 0;
	context->question->seen |= (uint32_t)(count > 0) << metric;
	for (size_t i = 0; i < found; i++) {
		const struct change *change = &changes[i];
		const struct series_point *at = &series->points[places[change->at]];
		struct finding finding = {.test = series->test,
					  .metric = name,
					  .branch = series->branch,
					  .machine_class = series->machine_class,
					  .from = series->points[places[change->first - 1]].commit,
					  .to = series->points[places[change->last]].commit,
					  .commit = at->commit,
					  .when = at->started,
					  .before = change->before,
					  .after = change->after,
					  .ratio = change->ratio,
					  .alert = change->alert,
					  .left = change->from,
					  .at = change->at,
					  .right = change->to,
					  .lasting = changes[found - 1].after > change->before * least};
		array_push(&context->findings, finding);
	}
	free(values);
	free(places);
}

static void take_series(void *data, const struct series *series) {
	struct context *context = data;
	for (size_t m = 0; m < context->question->metric_count; m++)
		take_metric(context, series, m);
}

// ---- the machine, or the test? ----

// The median of a metric over some points. Those without it count as 0.
static double level(const struct series *series, size_t metric, const size_t *places, size_t count) {
	double *values = memory_alloc((count + 1) * sizeof(*values));
	for (size_t i = 0; i < count; i++) {
		double value = series->points[places[i]].values[metric];
		values[i] = isnan(value) ? 0 : value;
	}
	double median = statistics_median(values, count);
	free(values);
	return median;
}

static void take_load(void *data, const struct series *series) {
	struct context *context = data;
	size_t count, *places = memory_alloc((series->count + 1) * sizeof(*places));
	free(series_values(series, LOAD_WALL, places, &count));
	for (size_t i = 0; i < context->findings.count; i++) {
		struct finding *finding = &context->findings.items[i];
		if (finding->test != series->test || finding->branch != series->branch ||
		    finding->machine_class != series->machine_class || !is_wall(finding) ||
		    finding->right > count)
			continue;
		struct load_times times[2] = {{.wall = finding->before}, {.wall = finding->after}};
		const size_t ends[] = {finding->left, finding->at, finding->right};
		for (size_t side = 0; side < 2; side++) {
			size_t from = ends[side], points = ends[side + 1] - from;
			times[side].cpu = level(series, LOAD_CPU, places + from, points);
			times[side].ready = level(series, LOAD_READY, places + from, points);
		}
		finding->load = load_explains(&times[0], &times[1]);
	}
	free(places);
}

// `filter` is that of the findings.
static int find_load(struct context *context, struct history_filter *filter) {
	history_keys tests = {0};
	for (size_t i = 0; i < context->findings.count; i++)
		if (is_wall(&context->findings.items[i]))
			array_push(&tests, context->findings.items[i].test);
	question_sort_keys(&tests);
	filter->tests = tests.items;
	filter->test_count = tests.count;
	int error = tests.count
			    ? series_read(context->question->store, filter, &load_wish, take_load, context)
			    : 0;
	array_free(&tests);
	return error;
}

// ---- order ----

// The newest first; those of one commit together; then by size. Nothing is left to the order of reading.
static int by_time(const void *a, const void *b) {
	const struct finding *left = a, *right = b;
	int order = (left->when < right->when) - (left->when > right->when);
	order = order ? order : strcmp(left->commit, right->commit);
	order = order ? order : strcmp(left->branch, right->branch);
	double l = fabs(log(left->ratio)), r = fabs(log(right->ratio));
	order = order ? order : (l < r) - (l > r);
	order = order ? order : (left->test > right->test) - (left->test < right->test);
	order = order ? order : strcmp(left->metric, right->metric);
	return order ? order : strcmp(left->machine_class, right->machine_class);
}

static bool same_change(const struct finding *a, const struct finding *b) {
	return *a->commit && strcmp(a->commit, b->commit) == 0 && strcmp(a->branch, b->branch) == 0;
}

// ---- text ----

static void print_head(struct history_question *question, const struct finding *first, size_t tests) {
	char commit[SHOW_SIZE], from[SHOW_SIZE], to[SHOW_SIZE], day[SHOW_SIZE];
	show_line(question, "%s%s%s  %s  %zu change%s, commits %s..%s", show_day(first->when, day),
		  *first->branch ? "  " : "", first->branch, show_commit(first->commit, commit), tests,
		  plural(tests), show_commit(first->from, from), show_commit(first->to, to));
}

static bool is_commit(const char *text) {
	return *text && strspn(text, "0123456789abcdefABCDEF") == strlen(text);
}

// One of `count` findings that a bisection can look for: something that grew.
static const struct finding *grown(const struct finding *findings, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (findings[i].ratio > 1)
			return &findings[i];
	return NULL;
}

// "--suite S --name N", or what to replace: the line is for a shell, and a manifest may have any name.
static char *name_options(const struct history_test *test) {
	static const char harmless[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:-";
	if (!test || *test->name == '-' || *test->suite == '-' ||
	    strspn(test->name, harmless) < strlen(test->name) ||
	    strspn(test->suite, harmless) < strlen(test->suite))
		return memory_string("--name TEST");
	return memory_format("%s%s%s--name %s", *test->suite ? "--suite " : "", test->suite,
			     *test->suite ? " " : "", test->name);
}

// Each step has a run of its own with five repeats, so that a busy moment does not lead astray. What cannot
// be built or run is skipped (125).
static void print_bisect(struct history_question *question, const struct finding *finding,
			 const history_tests *tests) {
	if (!finding || !is_commit(finding->from) || !is_commit(finding->to) ||
	    strcmp(finding->from, finding->to) == 0)
		return;
	CLEANUP_FREE char *name = name_options(question_find_test(tests, finding->test));
	show_line(question,
		  "  git bisect start %.12s %.12s && git bisect run sh -c 'BUILD || exit 125; "
		  "run=bisect-$(git rev-parse HEAD); for i in 1 2 3 4 5; do tracelet run --run $run %s -- "
		  "COMMAND || exit 125; done; tracelet history compare %.12s $run --metric %s --fail-on "
		  "regression'",
		  finding->to, finding->from, name, finding->from, finding->metric);
}

static void print_findings(struct context *context, const history_tests *tests) {
	struct history_question *question = context->question;
	static const char *const headers[] = {"  test",  "metric", "before>", "after>",
					      "change>", "",       "machines"};
	for (size_t from = 0, to; from < context->findings.count; from = to) {
		const struct finding *first = &context->findings.items[from];
		struct show_table table = {headers, ARRAY_SIZE(headers), {0}};
		for (to = from; to < context->findings.count; to++) {
			const struct finding *finding = &context->findings.items[to];
			char before[SHOW_SIZE], after[SHOW_SIZE], percent[SHOW_SIZE];
			if (to > from && !same_change(first, finding))
				break;
			CLEANUP_FREE char *name = show_test(question_find_test(tests, finding->test));
			show_cell(&table, "  %s", name);
			show_cell(&table, "%s", finding->metric);
			show_cell(&table, "%s", show_value(finding->metric, finding->before, before));
			show_cell(&table, "%s", show_value(finding->metric, finding->after, after));
			show_cell(&table, "%s", show_percent(finding->ratio, percent));
			show_cell(&table, "%s",
				  finding->load    ? "machine load"
				  : finding->alert ? ""
						   : "uncertain");
			show_cell(&table, "%s", finding->machine_class);
		}
		print_head(question, first, to - from);
		show_table_print(&table, question->form, question->out);
		print_bisect(question, grown(first, to - from), tests);
		buffer_text(question->out, "\n");
	}
	show_line(question, "%zu change%s in %zu series", context->findings.count,
		  plural(context->findings.count), context->series);
}

// ---- JSON ----

static void json_findings(struct context *context, const history_tests *tests) {
	struct json json = json_into(context->question->out);
	json_object(&json, NULL);
	json_uint(&json, "series", context->series);
	json_array(&json, "changes");
	for (size_t i = 0; i < context->findings.count; i++) {
		const struct finding *finding = &context->findings.items[i];
		char time[SHOW_SIZE];
		json_object(&json, NULL);
		show_json_test(&json, question_find_test(tests, finding->test));
		json_string(&json, "metric", finding->metric);
		json_string(&json, "branch", finding->branch);
		json_string(&json, "machine_class", finding->machine_class);
		json_string(&json, "commit", finding->commit);
		json_string(&json, "after_commit", finding->from);
		json_string(&json, "up_to_commit", finding->to);
		json_string(&json, "started", show_exact_time(finding->when, time));
		json_double(&json, "before", finding->before);
		json_double(&json, "after", finding->after);
		json_double(&json, "ratio", finding->ratio);
		json_bool(&json, "alert", finding->alert);
		if (finding->load)
			json_bool(&json, "load", true);
		json_close_object(&json);
	}
	json_close_array(&json);
	json_close_object(&json);
	buffer_text(context->question->out, "\n");
}

static int read_names(const struct context *context, history_tests *tests) {
	history_keys keys = {0};
	for (size_t i = 0; i < context->findings.count; i++)
		array_push(&keys, context->findings.items[i].test);
	question_sort_keys(&keys);
	int error = question_read_tests(context->question, &keys, tests);
	array_free(&keys);
	return error;
}

static bool is_regression(const struct finding *finding) {
	return finding->alert && !finding->load && finding->lasting && finding->ratio > 1;
}

int question_trend(struct history_question *question) {
	history_tests tests = {0};
	struct context context = {.question = question};
	struct history_wish wish = {.metrics = question->metrics, .metric_count = question->metric_count};
	struct history_filter filter = question_filter(question);
	filter.statuses = HISTORY_PASSED;
	filter.trusted = true;
	int error = series_read(question->store, &filter, &wish, take_series, &context);
	error = error ? error : find_load(&context, &filter);
	error = error ? error : read_names(&context, &tests);
	if (context.findings.count)
		qsort(context.findings.items, context.findings.count, sizeof(*context.findings.items),
		      by_time);
	for (size_t i = 0; i < context.findings.count; i++)
		question->regression |= is_regression(&context.findings.items[i]);
	if (!error && question->form == HISTORY_JSON)
		json_findings(&context, &tests);
	else if (!error)
		print_findings(&context, &tests);
	array_free(&context.findings);
	array_free(&tests);
	return error;
}
