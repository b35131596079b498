// `history flaky --why TEST`: what is different when it fails. Every metric and every reason for waiting is
// compared between its failing and its passing sessions, since its failure rate last changed.
#include "base/json_read.h"
#include "history/series.h"
#include "history/show.h"
#include "history/statistics.h"

#include <errno.h>
#include <math.h>

enum { MOST_WAITS = 64 };

typedef ARRAY(double) sample;

// One metric, or the time that one reason for waiting took.
struct difference {
	char *name;
	bool wait;
	sample passed, failed;
	double probability, delta, when_passed, when_failed;
};

struct context {
	struct history_question *question;
	const history_tests *tests;
	const struct history_wish *wish;
	struct json json;
	size_t series;
};

struct comparison {
	ARRAY(struct difference) all;
	size_t passed, failed; // sessions
};

// ---- collecting ----

static struct difference *difference_for(struct comparison *comparison, const char *name, bool wait) {
	for (size_t i = 0; i < comparison->all.count; i++) {
		struct difference *known = &comparison->all.items[i];
		if (known->wait == wait && strcmp(known->name, name) == 0)
			return known;
	}
	if (wait && comparison->all.count > METRIC_COUNT_ALL + MOST_WAITS)
		return NULL;
	array_push(&comparison->all, (struct difference){.name = memory_string(name), .wait = wait});
	return &comparison->all.items[comparison->all.count - 1];
}

static void add_value(struct difference *difference, bool failed, double value) {
	if (failed)
		array_push(&difference->failed, value);
	else
		array_push(&difference->passed, value);
}

static void add_waits(struct comparison *comparison, const char *waits, bool failed) {
	struct json_reader reader = json_from(waits, strlen(waits));
	struct json_piece key;
	for (json_enter(&reader, '{'); *waits && json_member(&reader, &key);) {
		uint64_t values[3] = {0};
		unsigned at = 0;
		CLEANUP_FREE char *name = json_key_text(&key);
		for (json_enter(&reader, '['); json_item(&reader); at++) {
			uint64_t value = json_read_uint(&reader);
			if (at < 3)
				values[at] = value;
		}
		struct difference *difference = name ? difference_for(comparison, name, true) : NULL;
		if (difference && !reader.failed)
			add_value(difference, failed, (double)values[1]);
	}
}

// A session without this reason waited 0 for it.
static void fill_up(struct comparison *comparison) {
	for (size_t i = 0; i < comparison->all.count; i++) {
		struct difference *difference = &comparison->all.items[i];
		while (difference->wait && difference->passed.count < comparison->passed)
			array_push(&difference->passed, 0);
		while (difference->wait && difference->failed.count < comparison->failed)
			array_push(&difference->failed, 0);
	}
}

static void collect(const struct context *context, const struct series *series, size_t from,
		    struct comparison *comparison) {
	for (size_t i = series->points[from].first; i < series->session_count; i++) {
		const struct series_session *session = series->order[i];
		bool failed = HISTORY_FAILED >> session->session.status & 1;
		if (!session->session.trusted ||
		    (!failed && !(HISTORY_PASSED >> session->session.status & 1)))
			continue;
		*(failed ? &comparison->failed : &comparison->passed) += 1;
		for (size_t m = 0; m < context->wish->metric_count; m++)
			if (session->values[m] != HISTORY_NONE)
				add_value(difference_for(comparison, context->wish->metrics[m], false),
					  failed, (double)session->values[m]);
		if (session->waits)
			add_waits(comparison, session->waits, failed);
	}
	fill_up(comparison);
}

// ---- judging ----

// The first point of the last segment of equal failure rate.
static size_t last_segment(const struct series *series) {
	size_t splits[64];
	struct statistics_trial *trials = memory_alloc((series->count + 1) * sizeof(*trials));
	for (size_t i = 0; i < series->count; i++)
		trials[i] = (struct statistics_trial){series->points[i].failed,
						      series->points[i].passed + series->points[i].failed};
	size_t count = statistics_segments(trials, series->count, splits, ARRAY_SIZE(splits));
	free(trials);
	return count ? splits[count - 1] : 0;
}

static int by_delta(const void *a, const void *b) {
	const struct difference *left = a, *right = b;
	double l = fabs(left->delta), r = fabs(right->delta);
	int order = (l < r) - (l > r);
	order = order ? order
		      : (left->probability > right->probability) - (left->probability < right->probability);
	return order ? order : strcmp(left->name, right->name);
}

// Keeps those that are significant, the largest difference first.
static void judge(struct comparison *comparison) {
	double *probabilities = memory_alloc((comparison->all.count + 1) * sizeof(*probabilities));
	for (size_t i = 0; i < comparison->all.count; i++) {
		struct difference *d = &comparison->all.items[i];
		d->probability = statistics_rank_test(d->passed.items, d->passed.count, d->failed.items,
						      d->failed.count);
		d->delta = statistics_delta(d->passed.items, d->passed.count, d->failed.items,
					    d->failed.count);
		d->when_passed = statistics_median(d->passed.items, d->passed.count);
		d->when_failed = statistics_median(d->failed.items, d->failed.count);
		probabilities[i] = d->probability;
	}
	double limit = statistics_discovery_limit(probabilities, comparison->all.count, 0.05);
	free(probabilities);
	size_t kept = 0;
	for (size_t i = 0; i < comparison->all.count; i++) {
		struct difference difference = comparison->all.items[i];
		if (difference.probability > limit || difference.when_passed == difference.when_failed) {
			free(difference.name);
			array_free(&difference.passed);
			array_free(&difference.failed);
			continue;
		}
		comparison->all.items[kept++] = difference;
	}
	comparison->all.count = kept;
	if (kept)
		qsort(comparison->all.items, kept, sizeof(*comparison->all.items), by_delta);
}

// ---- the answer ----

static void print(struct context *context, const struct series *series, const struct comparison *comparison,
		  const struct series_point *since) {
	struct history_question *question = context->question;
	char day[SHOW_SIZE], commit[SHOW_SIZE], passed[SHOW_SIZE], failed[SHOW_SIZE];
	CLEANUP_FREE char *name = show_test(question_find_test(context->tests, series->test));
	show_line(question, "%s%s%s, %s: failed %zu of %zu since %s (%s)", name,
		  *series->branch ? " on " : "", series->branch, series->machine_class, comparison->failed,
		  comparison->failed + comparison->passed, show_day(since->started, day),
		  show_commit(since->commit, commit));
	for (size_t i = 0; i < comparison->all.count; i++) {
		const struct difference *d = &comparison->all.items[i];
		const char *unit = d->wait ? "wall_ns" : d->name;
		show_line(question,
			  d->wait ? "  when it fails it waits %s for %s (else %s)  [delta %+.2f]"
				  : "  when it fails it has %s %s (else %s)  [delta %+.2f]",
			  show_value(unit, d->when_failed, failed), d->name,
			  show_value(unit, d->when_passed, passed), d->delta);
	}
	if (!comparison->all.count)
		show_line(question,
			  comparison->failed && comparison->passed
				  ? "  no metric and no wait differs more than chance explains"
				  : "  it never %s in this time: nothing to compare with",
			  comparison->failed ? "passed" : "failed");
}

static void print_json(struct context *context, const struct series *series,
		       const struct comparison *comparison, const struct series_point *since) {
	struct json *json = &context->json;
	char time[SHOW_SIZE];
	json_object(json, NULL);
	show_json_test(json, question_find_test(context->tests, series->test));
	json_string(json, "branch", series->branch);
	json_string(json, "machine_class", series->machine_class);
	json_uint(json, "failed", comparison->failed);
	json_uint(json, "passed", comparison->passed);
	json_string(json, "since", show_exact_time(since->started, time));
	json_string(json, "since_commit", since->commit);
	json_array(json, "differences");
	for (size_t i = 0; i < comparison->all.count; i++) {
		const struct difference *d = &comparison->all.items[i];
		json_object(json, NULL);
		json_string(json, d->wait ? "wait" : "metric", d->name);
		json_double(json, "when_failed", d->when_failed);
		json_double(json, "when_passed", d->when_passed);
		json_double(json, "delta", d->delta);
		json_double(json, "probability", d->probability);
		json_close_object(json);
	}
	json_close_array(json);
	json_close_object(json);
}

static void take_series(void *data, const struct series *series) {
	struct context *context = data;
	struct comparison comparison = {0};
	size_t from = last_segment(series);
	context->series++;
	collect(context, series, from, &comparison);
	judge(&comparison);
	if (context->question->form == HISTORY_JSON)
		print_json(context, series, &comparison, &series->points[from]);
	else
		print(context, series, &comparison, &series->points[from]);
	for (size_t i = 0; i < comparison.all.count; i++) {
		free(comparison.all.items[i].name);
		array_free(&comparison.all.items[i].passed);
		array_free(&comparison.all.items[i].failed);
	}
	array_free(&comparison.all);
}

int question_why_flaky(struct history_question *question) {
	const char *metrics[METRIC_COUNT_ALL];
	for (int i = 0; i < METRIC_COUNT_ALL; i++)
		metrics[i] = history_metric_name(i);
	struct history_wish wish = {.metrics = metrics, .metric_count = METRIC_COUNT_ALL, .waits = true};
	history_keys keys = {0};
	history_tests tests = {0};
	struct context context = {
		.question = question, .tests = &tests, .wish = &wish, .json = json_into(question->out)};
	struct history_filter filter = question_filter(question);
	int error = question_named(question, question->test, &keys);
	error = error ? error : question_read_tests(question, &keys, &tests);
	filter.tests = keys.items;
	filter.test_count = keys.count;
	filter.statuses = HISTORY_PASSED | HISTORY_FAILED;
	filter.trusted = true;
	if (!error && question->form == HISTORY_JSON) {
		json_object(&context.json, NULL);
		json_array(&context.json, "series");
	}
	error = error ? error : series_read(question->store, &filter, &wish, take_series, &context);
	if (!error && question->form == HISTORY_JSON) {
		json_close_array(&context.json);
		json_close_object(&context.json);
		buffer_text(question->out, "\n");
	} else if (!error && !context.series) {
		show_line(question, "no sessions in this time");
	}
	array_free(&keys);
	array_free(&tests);
	return error;
}
