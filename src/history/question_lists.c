// `history runs` and `history tests`: plain lists.
#include "base/text.h"
#include "history/show.h"

// A list that is being made: a table, or JSON.
struct list {
	struct history_question *question;
	struct show_table table;
	struct json json;
};

// `key` names it in JSON.
static struct list list_begin(struct history_question *question, const char *const *headers, size_t columns,
			      const char *key) {
	struct list list = {
		.question = question, .table = {headers, columns, {0}}, .json = json_into(question->out)};
	if (question->form == HISTORY_JSON) {
		json_object(&list.json, NULL);
		json_array(&list.json, key);
	}
	return list;
}

// `none`: what to say if it is empty.
static void list_end(struct list *list, const char *none) {
	struct history_question *question = list->question;
	if (question->form == HISTORY_JSON) {
		json_close_array(&list->json);
		json_close_object(&list->json);
		buffer_text(question->out, "\n");
	} else if (list->table.cells.count) {
		show_table_print(&list->table, question->form, question->out);
	} else {
		show_line(question, "%s", none);
	}
}

// ---- runs ----

static void run_cells(struct show_table *table, const struct history_run *run) {
	char text[SHOW_SIZE];
	show_cell(table, "%s", run->run);
	show_cell(table, "%s", show_time(run->started, text));
	show_cell(table, "%s", run->branch);
	show_cell(table, "%s", show_commit(run->commit, text));
	show_cell(table, "%s", run->change);
	show_cell(table, "%llu", (unsigned long long)run->sessions);
	show_cell(table, "%llu", (unsigned long long)run->failed);
	show_cell(table, "%s", run->trusted ? "" : "untrusted");
}

static void take_run(void *data, const struct history_run *run) {
	struct list *list = data;
	char time[SHOW_SIZE];
	if (list->question->form != HISTORY_JSON) {
		run_cells(&list->table, run);
		return;
	}
	struct json *json = &list->json;
	json_object(json, NULL);
	json_string(json, "run", run->run);
	if (*run->project)
		json_string(json, "project", run->project);
	json_string(json, "started", show_exact_time(run->started, time));
	json_string(json, "last", show_exact_time(run->last, time));
	json_string(json, "branch", run->branch);
	json_string(json, "commit", run->commit);
	if (*run->change)
		json_string(json, "change", run->change);
	if (*run->ci)
		json_string(json, "ci", run->ci);
	json_uint(json, "sessions", run->sessions);
	json_uint(json, "passed", run->passed);
	json_uint(json, "failed", run->failed);
	json_uint(json, "attempts", run->attempts);
	json_bool(json, "trusted", run->trusted);
	json_close_object(json);
}

int question_runs(struct history_question *question) {
	static const char *const headers[] = {"run",    "started",   "branch",  "commit",
					      "change", "sessions>", "failed>", ""};
	struct list list = list_begin(question, headers, ARRAY_SIZE(headers), "runs");
	struct history_filter filter = question_filter(question);
	int error = question->store->operations->runs(question->store, &filter, take_run, &list);
	list_end(&list, "no run");
	return error;
}

// ---- tests ----

static bool is_wanted(const struct history_question *question, const struct history_test *test) {
	if (question->since && test->last < question->since)
		return false;
	return !question->stale || test->last < question->now - question->stale;
}

static void take_test(void *data, const struct history_test *test) {
	struct list *list = data;
	char text[SHOW_SIZE];
	if (!is_wanted(list->question, test))
		return;
	if (list->question->form != HISTORY_JSON) {
		CLEANUP_FREE char *name = show_test(test);
		show_cell(&list->table, "%s", name);
		show_cell(&list->table, "%llu", (unsigned long long)test->sessions);
		show_cell(&list->table, "%s", show_day(test->first, text));
		show_cell(&list->table, "%s", show_time(test->last, text));
		show_cell(&list->table, "%s", test->project);
		return;
	}
	struct json *json = &list->json;
	json_object(json, NULL);
	show_json_test(json, test);
	json_uint(json, "sessions", test->sessions);
	json_string(json, "first", show_exact_time(test->first, text));
	json_string(json, "last", show_exact_time(test->last, text));
	json_close_object(json);
}

int question_tests(struct history_question *question) {
	static const char *const headers[] = {"test", "sessions>", "first", "last", "project"};
	struct list list = list_begin(question, headers, ARRAY_SIZE(headers), "tests");
	struct history_filter filter = {.project = question->project};
	int error = question->store->operations->tests(question->store, &filter, take_test, &list);
	list_end(&list, question->stale ? "no stale test: all have run in this time" : "no test");
	return error;
}
