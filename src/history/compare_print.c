#include "history/compare.h"
#include "base/text.h"

#include <math.h>

static const char *const kinds[] = {[COMPARED_FAILS] = "new failures",
				    [COMPARED_FIXED] = "fixed",
				    [COMPARED_NEW] = "new",
				    [COMPARED_GONE] = "gone"};
static const char *const json_kinds[] = {[COMPARED_FAILS] = "fails",
					 [COMPARED_FIXED] = "fixed",
					 [COMPARED_NEW] = "new",
					 [COMPARED_GONE] = "gone"};

static const history_tests *sorted; // qsort() has no context

static int by_name(uint64_t a, uint64_t b) {
	const struct history_test *left = question_find_test(sorted, a),
				  *right = question_find_test(sorted, b);
	if (!left || !right)
		return (a > b) - (a < b);
	int order = strcmp(left->suite, right->suite);
	order = order ? order : strcmp(left->name, right->name);
	return order ? order : (a > b) - (a < b);
}

static int by_kind(const void *a, const void *b) {
	const struct compared_test *left = a, *right = b;
	return left->kind != right->kind ? (int)left->kind - (int)right->kind
					 : by_name(left->test, right->test);
}

// The slowest first, then the fastest last.
static int by_ratio(const void *a, const void *b) {
	const struct compared_time *left = a, *right = b;
	int order = (left->ratio < right->ratio) - (left->ratio > right->ratio);
	order = order ? order : by_name(left->test, right->test);
	return order ? order : strcmp(left->metric, right->metric);
}

static const char *status_word(enum manifest_status status) {
	return status < ENDED_COUNT ? manifest_status_names[status] : "-";
}

static void title(const struct comparison *comparison, const char *words, size_t count) {
	struct history_question *question = comparison->question;
	if (question->form == HISTORY_MARKDOWN)
		buffer_printf(question->out, "**%s: %zu**\n\n", words, count);
	else
		show_line(question, "%s: %zu", words, count);
}

// ---- text and Markdown ----

static const char *run_words(const struct history_run *run, char *text, size_t size) {
	char commit[SHOW_SIZE], time[SHOW_SIZE];
	snprintf(text, size, "%.60s (%s%s%.60s, %s)", run->run, show_commit(run->commit, commit),
		 *run->branch ? " on " : "", run->branch, show_time(run->started, time));
	return text;
}

static void outcome_cells(struct show_table *table, const struct compared_test *test,
			  const history_tests *tests) {
	CLEANUP_FREE char *name = show_test(question_find_test(tests, test->test));
	show_cell(table, "  %s", name);
	show_cell(table, "%s", status_word(test->before));
	show_cell(table, "%s", status_word(test->after));
	if (table->columns < 4)
		return;
	char flaky[SHOW_SIZE] = "";
	if (test->flaky_commits)
		snprintf(flaky, sizeof(flaky), "%u of %u", test->flaky_commits, test->commits);
	show_cell(table, "%s", flaky);
}

static void print_outcomes(const struct comparison *comparison, const history_tests *tests,
			   enum compared_kind kind) {
	static const char *const headers[] = {"  test", "before", "after", "flaky commits"};
	struct show_table table = {headers, 3, {0}};
	size_t count = 0;
	for (size_t i = 0; i < comparison->outcomes.count; i++)
		if (comparison->outcomes.items[i].kind == kind && comparison->outcomes.items[i].flaky_commits)
			table.columns = 4;
	for (size_t i = 0; i < comparison->outcomes.count; i++)
		if (comparison->outcomes.items[i].kind == kind) {
			outcome_cells(&table, &comparison->outcomes.items[i], tests);
			count++;
		}
	if (!count)
		return;
	title(comparison, kinds[kind], count);
	show_table_print(&table, comparison->question->form, comparison->question->out);
}

static void print_times(const struct comparison *comparison, const history_tests *tests, bool slower) {
	static const char *const headers[] = {"  test", "metric", "usual>", "now>", "change>", ""};
	struct show_table table = {headers, ARRAY_SIZE(headers) - 1, {0}};
	size_t count = 0;
	for (size_t i = 0; i < comparison->times.count; i++)
		if (comparison->times.items[i].load && (comparison->times.items[i].ratio > 1) == slower)
			table.columns = ARRAY_SIZE(headers);
	for (size_t i = 0; i < comparison->times.count; i++) {
		const struct compared_time *time = &comparison->times.items[i];
		char usual[SHOW_SIZE], now[SHOW_SIZE], percent[SHOW_SIZE];
		if ((time->ratio > 1) != slower)
			continue;
		CLEANUP_FREE char *name = show_test(question_find_test(tests, time->test));
		show_cell(&table, "  %s", name);
		show_cell(&table, "%s", time->metric);
		show_cell(&table, "%s", show_value(time->metric, time->usual, usual));
		show_cell(&table, "%s", show_value(time->metric, time->value, now));
		show_cell(&table, "%s", show_percent(time->ratio, percent));
		if (table.columns == ARRAY_SIZE(headers))
			show_cell(&table, "%s", time->load ? "machine load" : "");
		count++;
	}
	if (!count)
		return;
	title(comparison, slower ? "slower, or more" : "faster, or less", count);
	show_table_print(&table, comparison->question->form, comparison->question->out);
}

// "### Tests: 1 new failure, 2 slower": what a reader of a pull request looks for first.
static void print_headline(const struct comparison *comparison) {
	struct buffer *out = comparison->question->out;
	size_t counts[COMPARED_SAME] = {0}, slower = 0, load = 0, said = 0;
	for (size_t i = 0; i < comparison->outcomes.count; i++)
		counts[comparison->outcomes.items[i].kind]++;
	for (size_t i = 0; i < comparison->times.count; i++)
		if (comparison->times.items[i].load)
			load++;
		else
			slower += comparison->times.items[i].ratio > 1;
	const struct {
		const char *one, *more;
		size_t count;
	} parts[] = {{"new failure", "new failures", counts[COMPARED_FAILS]},
		     {"slower", "slower", slower},
		     {"fixed", "fixed", counts[COMPARED_FIXED]},
		     {"faster", "faster", comparison->times.count - slower - load},
		     {"changed by machine load", "changed by machine load", load},
		     {"new", "new", counts[COMPARED_NEW]},
		     {"gone", "gone", counts[COMPARED_GONE]}};
	buffer_text(out, "### Tests: ");
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].count)
			buffer_printf(out, "%s%zu %s", said++ ? ", " : "", parts[i].count,
				      parts[i].count == 1 ? parts[i].one : parts[i].more);
	buffer_text(out, said ? "\n\n" : "nothing changed\n\n");
}

static void print_text(const struct comparison *comparison, const history_tests *tests) {
	struct history_question *question = comparison->question;
	char old_words[256], new_words[256];
	if (question->form == HISTORY_MARKDOWN)
		print_headline(comparison);
	show_line(question, "%s against %s", run_words(&comparison->new_run, new_words, sizeof(new_words)),
		  run_words(&comparison->old_run, old_words, sizeof(old_words)));
	if (question->form == HISTORY_MARKDOWN)
		buffer_text(question->out, "\n");
	print_outcomes(comparison, tests, COMPARED_FAILS);
	print_times(comparison, tests, true);
	print_outcomes(comparison, tests, COMPARED_FIXED);
	print_times(comparison, tests, false);
	print_outcomes(comparison, tests, COMPARED_NEW);
	print_outcomes(comparison, tests, COMPARED_GONE);
	if (!comparison->outcomes.count && !comparison->times.count)
		show_line(question, "nothing changed in %llu test%s", (unsigned long long)comparison->tests,
			  plural(comparison->tests));
	if (comparison->without_baseline)
		show_line(question, "no baseline yet (fewer than 8 earlier commits): %llu of %llu test%s",
			  (unsigned long long)comparison->without_baseline,
			  (unsigned long long)comparison->tests, plural(comparison->tests));
	if (question->confirmed)
		show_line(question, "suspects were run %u more time%s", question->confirmed,
			  plural(question->confirmed));
}

// ---- JSON ----

static void json_run(struct json *json, const char *key, const struct history_run *run) {
	char time[SHOW_SIZE];
	json_object(json, key);
	json_string(json, "run", run->run);
	json_string(json, "commit", run->commit);
	json_string(json, "branch", run->branch);
	json_string(json, "started", show_exact_time(run->started, time));
	json_close_object(json);
}

static void print_json(const struct comparison *comparison, const history_tests *tests) {
	struct json json = json_into(comparison->question->out);
	json_object(&json, NULL);
	json_run(&json, "old", &comparison->old_run);
	json_run(&json, "new", &comparison->new_run);
	json_uint(&json, "tests", comparison->tests);
	json_uint(&json, "without_baseline", comparison->without_baseline);
	json_array(&json, "outcomes");
	for (size_t i = 0; i < comparison->outcomes.count; i++) {
		const struct compared_test *test = &comparison->outcomes.items[i];
		json_object(&json, NULL);
		show_json_test(&json, question_find_test(tests, test->test));
		json_string(&json, "kind", json_kinds[test->kind]);
		if (test->before < ENDED_COUNT)
			json_string(&json, "before", manifest_status_names[test->before]);
		if (test->after < ENDED_COUNT)
			json_string(&json, "after", manifest_status_names[test->after]);
		if (test->flaky_commits) {
			json_uint(&json, "flaky_commits", test->flaky_commits);
			json_uint(&json, "commits", test->commits);
		}
		json_close_object(&json);
	}
	json_close_array(&json);
	json_array(&json, "times");
	for (size_t i = 0; i < comparison->times.count; i++) {
		const struct compared_time *time = &comparison->times.items[i];
		json_object(&json, NULL);
		show_json_test(&json, question_find_test(tests, time->test));
		json_string(&json, "metric", time->metric);
		json_string(&json, "machine_class", time->machine_class);
		json_double(&json, "usual", time->usual);
		json_double(&json, "now", time->value);
		json_double(&json, "ratio", time->ratio);
		json_double(&json, "probability", time->probability);
		if (time->load)
			json_bool(&json, "load", true);
		json_close_object(&json);
	}
	json_close_array(&json);
	json_close_object(&json);
	buffer_text(comparison->question->out, "\n");
}

void compare_print(struct comparison *comparison, const history_tests *tests) {
	sorted = tests;
	if (comparison->outcomes.count)
		qsort(comparison->outcomes.items, comparison->outcomes.count,
		      sizeof(*comparison->outcomes.items), by_kind);
	if (comparison->times.count)
		qsort(comparison->times.items, comparison->times.count, sizeof(*comparison->times.items),
		      by_ratio);
	if (comparison->question->form == HISTORY_JSON)
		print_json(comparison, tests);
	else
		print_text(comparison, tests);
}
