// `history slow`: which tests take the most time, and what they wait for meanwhile. From the days, so it
// does not read every session.
#include "base/text.h"
#include "history/show.h"

#include <math.h>

struct slow_test {
	uint64_t test;
	const char *machine_class, *branch;
	uint64_t sessions, passed, failed;
	double typical; // the median of the days' medians
	int64_t wall, cpu, ready, blocked, io, lock;
	size_t first_day, days; // in the list of medians
};

struct context {
	struct history_question *question;
	ARRAY(struct slow_test) tests;
	ARRAY(int64_t) medians;
};

static void take_day(void *data, const struct history_day *row) {
	struct context *context = data;
	struct slow_test *last = context->tests.count ? &context->tests.items[context->tests.count - 1]
						      : NULL;
	if (!last || last->test != row->test || last->machine_class != row->machine_class ||
	    last->branch != row->branch) {
		array_push(&context->tests, (struct slow_test){.test = row->test,
							       .machine_class = row->machine_class,
							       .branch = row->branch,
							       .first_day = context->medians.count});
		last = &context->tests.items[context->tests.count - 1];
	}
	last->sessions += row->sessions;
	last->passed += row->passed;
	last->failed += row->failed;
	last->wall += row->wall_sum;
	last->cpu += row->cpu_sum;
	last->ready += row->ready_sum;
	last->blocked += row->blocked_sum;
	last->io += row->io_sum;
	last->lock += row->lock_sum;
	if (!row->passed)
		return;
	last->days++;
	array_push(&context->medians, row->wall_median);
}

static int ascending(const void *a, const void *b) {
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
	return (left > right) - (left < right);
}

static int by_time(const void *a, const void *b) {
	const struct slow_test *left = a, *right = b;
	int order = (left->typical < right->typical) - (left->typical > right->typical);
	order = order ? order : (left->test > right->test) - (left->test < right->test);
	order = order ? order : strcmp(left->machine_class, right->machine_class);
	return order ? order : strcmp(left->branch, right->branch);
}

static void rank(struct context *context) {
	size_t kept = 0;
	for (size_t i = 0; i < context->tests.count; i++) {
		struct slow_test *test = &context->tests.items[i];
		int64_t *medians = context->medians.items + test->first_day;
		if (!test->days || !test->wall) // a window of a running process has no time of its own
			continue;
		qsort(medians, test->days, sizeof(*medians), ascending);
		test->typical = (double)medians[test->days / 2];
		context->tests.items[kept++] = *test;
	}
	context->tests.count = kept;
	if (kept)
		qsort(context->tests.items, kept, sizeof(*context->tests.items), by_time);
}

static const char *part(int64_t time, int64_t wall, char text[SHOW_SIZE]) {
	if (wall <= 0 || !time)
		snprintf(text, SHOW_SIZE, "-");
	else
		snprintf(text, SHOW_SIZE, "%.0f %%", 100.0 * (double)time / (double)wall);
	return text;
}

static void print(struct context *context, const history_tests *tests) {
	if (!context->tests.count) {
		show_line(context->question, "no test passed in this time");
		return;
	}
	static const char *const headers[] = {"typical>", "runs>",  "failed>", "CPU>",   "for CPU>", "locks>",
					      "disk>",    "other>", "test",    "branch", "machines"};
	struct show_table table = {headers, ARRAY_SIZE(headers), {0}};
	for (size_t i = 0; i < context->tests.count; i++) {
		const struct slow_test *slow = &context->tests.items[i];
		int64_t other = MAX(slow->blocked - slow->lock - slow->io, 0);
		const int64_t parts[] = {slow->cpu, slow->ready, slow->lock, slow->io, other};
		char text[SHOW_SIZE];
		CLEANUP_FREE char *name = show_test(question_find_test(tests, slow->test));
		show_cell(&table, "%s", show_value("wall_ns", slow->typical, text));
		show_cell(&table, "%llu", (unsigned long long)slow->sessions);
		show_cell(&table, "%llu", (unsigned long long)slow->failed);
		for (size_t k = 0; k < ARRAY_SIZE(parts); k++)
			show_cell(&table, "%s", part(parts[k], slow->wall, text));
		show_cell(&table, "%s", name);
		show_cell(&table, "%s", slow->branch);
		show_cell(&table, "%s", slow->machine_class);
	}
	show_line(context->question, "Slowest first, by the median of the daily medians; parts of the "
				     "wall time, all threads together.");
	show_table_print(&table, context->question->form, context->question->out);
}

static void print_json(struct context *context, const history_tests *tests) {
	struct json json = json_into(context->question->out);
	json_object(&json, NULL);
	json_array(&json, "tests");
	for (size_t i = 0; i < context->tests.count; i++) {
		const struct slow_test *slow = &context->tests.items[i];
		json_object(&json, NULL);
		show_json_test(&json, question_find_test(tests, slow->test));
		json_string(&json, "branch", slow->branch);
		json_string(&json, "machine_class", slow->machine_class);
		json_uint(&json, "typical_ns", (uint64_t)slow->typical);
		json_uint(&json, "sessions", slow->sessions);
		json_uint(&json, "passed", slow->passed);
		json_uint(&json, "failed", slow->failed);
		json_int(&json, "wall_ns", slow->wall);
		json_int(&json, "cpu_ns", slow->cpu);
		json_int(&json, "ready_ns", slow->ready);
		json_int(&json, "blocked_ns", slow->blocked);
		json_int(&json, "lock_ns", slow->lock);
		json_int(&json, "io_ns", slow->io);
		json_close_object(&json);
	}
	json_close_array(&json);
	json_close_object(&json);
	buffer_text(context->question->out, "\n");
}

int question_slow(struct history_question *question) {
	history_tests tests = {0};
	struct context context = {.question = question};
	struct history_filter filter = question_filter(question);
	int error = question_read_tests(question, NULL, &tests);
	error = error ? error
		      : question->store->operations->days(question->store, &filter, take_day, &context);
	rank(&context);
	if (!error && question->form == HISTORY_JSON)
		print_json(&context, &tests);
	else if (!error)
		print(&context, &tests);
	array_free(&context.tests);
	array_free(&context.medians);
	array_free(&tests);
	return error;
}
