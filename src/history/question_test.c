// `history TEST`: one line for each commit, and where its level changed.
#include "history/change.h"
#include "history/show.h"

#include <math.h>

enum { MOST_CHANGES = 64 };

struct context {
	struct history_question *question;
	const history_tests *tests;
	struct json json;
	size_t series;
};

// The changes of one metric, by the points of the series.
struct marks {
	struct change changes[MOST_CHANGES];
	size_t places[MOST_CHANGES]; // point after the change
	size_t first[MOST_CHANGES], last[MOST_CHANGES];
	size_t count;
};

static void find_marks(struct history_question *question, const struct series *series, size_t metric,
		       struct marks *marks) {
	const char *name = question->metrics[metric];
	size_t count, *places = memory_alloc((series->count + 1) * sizeof(*places));
	double *values = series_values(series, metric, places, &count);
	question->seen |= (uint32_t)(count > 0) << metric;
	marks->count = history_metric_is_exact(name)
			       ? change_find_exact(values, count, marks->changes, MOST_CHANGES)
			       : change_find(values, count, marks->changes, MOST_CHANGES);
	for (size_t i = 0; i < marks->count; i++) {
		marks->places[i] = places[marks->changes[i].at];
		marks->first[i] = places[marks->changes[i].first - 1];
		marks->last[i] = places[marks->changes[i].last];
	}
	free(values);
	free(places);
}

static char *outcomes_of(const struct series *series, const struct series_point *point) {
	char *strip = memory_alloc(point->count + 1);
	for (uint32_t i = 0; i < point->count; i++)
		strip[i] = show_outcome(series->order[point->first + i]->session.status);
	return strip;
}

// ---- text ----

static void print_head(struct context *context, const struct series *series) {
	struct history_question *question = context->question;
	CLEANUP_FREE char *name = show_test(question_find_test(context->tests, series->test));
	uint64_t failed = 0;
	for (size_t i = 0; i < series->count; i++)
		failed += series->points[i].failed;
	if (context->series++)
		buffer_text(question->out, "\n");
	show_line(question, "%s%s%s%s%s: %zu sessions of %zu commits, %llu failed", name,
		  *series->branch ? " on " : "", series->branch, *series->machine_class ? ", " : "",
		  series->machine_class, series->session_count, series->count, (unsigned long long)failed);
	for (size_t m = 0; m < question->metric_count; m++) {
		double *values = memory_alloc((series->count + 1) * sizeof(*values));
		for (size_t i = 0; i < series->count; i++)
			values[i] = series->points[i].values[m];
		show_line(question, "%s", question->metrics[m]);
		question->out->size--; // the end of the line
		buffer_text(question->out, "  ");
		show_sparkline(question->out, values, series->count);
		buffer_text(question->out, "\n");
		free(values);
	}
}

static void print_mark(struct history_question *question, const struct series *series, const char *metric,
		       const struct marks *marks, size_t i) {
	char before[SHOW_SIZE], after[SHOW_SIZE], percent[SHOW_SIZE], first[SHOW_SIZE], last[SHOW_SIZE];
	const struct change *change = &marks->changes[i];
	show_line(question, "-- %s %s -> %s (%s), by a commit after %s, up to %s", metric,
		  show_value(metric, change->before, before), show_value(metric, change->after, after),
		  show_percent(change->ratio, percent),
		  show_commit(series->points[marks->first[i]].commit, first),
		  show_commit(series->points[marks->last[i]].commit, last));
}

static void print_points(struct context *context, const struct series *series, const struct marks *marks) {
	struct history_question *question = context->question;
	for (size_t i = 0; i < series->count; i++) {
		const struct series_point *point = &series->points[i];
		char commit[SHOW_SIZE], time[SHOW_SIZE];
		CLEANUP_FREE char *strip = outcomes_of(series, point);
		struct buffer values = {0};
		for (size_t m = 0; m < question->metric_count; m++) {
			char value[SHOW_SIZE];
			for (size_t k = 0; k < marks[m].count; k++)
				if (marks[m].places[k] == i)
					print_mark(question, series, question->metrics[m], &marks[m], k);
			buffer_printf(&values, "  %10s",
				      show_value(question->metrics[m], point->values[m], value));
		}
		buffer_append(&values, "", 1);
		show_line(question, "%-12s  %s%s  %s",
			  show_commit(*point->commit ? point->commit : point->run, commit),
			  show_time(point->started, time), (char *)values.data, strip);
		buffer_free(&values);
	}
}

// ---- JSON ----

static void json_changes(struct context *context, const struct series *series, const struct marks *marks) {
	struct json *json = &context->json;
	json_array(json, "changes");
	for (size_t m = 0; m < context->question->metric_count; m++)
		for (size_t i = 0; i < marks[m].count; i++) {
			const struct change *change = &marks[m].changes[i];
			json_object(json, NULL);
			json_string(json, "metric", context->question->metrics[m]);
			json_double(json, "before", change->before);
			json_double(json, "after", change->after);
			json_double(json, "ratio", change->ratio);
			json_string(json, "after_commit", series->points[marks[m].first[i]].commit);
			json_string(json, "up_to_commit", series->points[marks[m].last[i]].commit);
			json_string(json, "commit", series->points[marks[m].places[i]].commit);
			json_bool(json, "alert", change->alert);
			json_close_object(json);
		}
	json_close_array(json);
}

static void json_series(struct context *context, const struct series *series, const struct marks *marks) {
	struct json *json = &context->json;
	const struct history_question *question = context->question;
	json_object(json, NULL);
	show_json_test(json, question_find_test(context->tests, series->test));
	json_string(json, "branch", series->branch);
	json_string(json, "machine_class", series->machine_class);
	json_array(json, "commits");
	for (size_t i = 0; i < series->count; i++) {
		const struct series_point *point = &series->points[i];
		char time[SHOW_SIZE];
		CLEANUP_FREE char *strip = outcomes_of(series, point);
		json_object(json, NULL);
		json_string(json, "commit", point->commit);
		json_string(json, "run", point->run);
		json_string(json, "started", show_exact_time(point->started, time));
		json_string(json, "outcomes", strip);
		for (size_t m = 0; m < question->metric_count; m++)
			if (!isnan(point->values[m]))
				json_double(json, question->metrics[m], point->values[m]);
		json_close_object(json);
	}
	json_close_array(json);
	json_changes(context, series, marks);
	json_close_object(json);
}

// ---- both ----

static void take_series(void *data, const struct series *series) {
	struct context *context = data;
	struct history_question *question = context->question;
	struct marks *marks = memory_alloc(question->metric_count * sizeof(*marks));
	for (size_t m = 0; m < question->metric_count; m++)
		find_marks(question, series, m, &marks[m]);
	if (question->form == HISTORY_JSON) {
		json_series(context, series, marks);
	} else {
		print_head(context, series);
		print_points(context, series, marks);
	}
	free(marks);
}

int question_test(struct history_question *question) {
	history_keys keys = {0};
	history_tests tests = {0};
	struct context context = {.question = question, .tests = &tests, .json = json_into(question->out)};
	struct history_wish wish = {.metrics = question->metrics, .metric_count = question->metric_count};
	struct history_filter filter = question_filter(question);
	int error = question_named(question, question->test, &keys);
	error = error ? error : question_read_tests(question, &keys, &tests);
	if (error)
		return error;
	filter.tests = keys.items;
	filter.test_count = keys.count;
	if (question->form == HISTORY_JSON) {
		json_object(&context.json, NULL);
		json_array(&context.json, "series");
	}
	error = series_read(question->store, &filter, &wish, take_series, &context);
	if (question->form == HISTORY_JSON) {
		json_close_array(&context.json);
		json_close_object(&context.json);
		buffer_text(question->out, "\n");
	} else if (!context.series && !error) {
		show_line(question, "no sessions in this time");
	}
	array_free(&keys);
	array_free(&tests);
	return error;
}
