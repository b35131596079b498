// `history runs` and `history tests`: plain lists.
#include "base/text.h"
#include "history/show.h"

// ---- runs ----

struct runs_context {
	struct history_question *question;
	struct show_table table;
	struct json json;
};

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
	struct runs_context *context = data;
	char time[SHOW_SIZE];
	if (context->question->form != HISTORY_JSON) {
		run_cells(&context->table, run);
		return;
	}
	struct json *json = &context->json;
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
	struct runs_context context = {.question = question,
				       .table = {headers, ARRAY_SIZE(headers), {0}},
				       .json = json_into(question->out)};
	struct history_filter filter = question_filter(question);
	if (question->form == HISTORY_JSON) {
		json_object(&context.json, NULL);
		json_array(&context.json, "runs");
	}
	int error = question->store->operations->runs(question->store, &filter, take_run, &context);
	if (question->form == HISTORY_JSON) {
		json_close_array(&context.json);
		json_close_object(&context.json);
		buffer_text(question->out, "\n");
	} else {
		show_table_print(&context.table, question->form, question->out);
	}
	return error;
}

// ---- tests ----

static bool is_wanted(const struct history_question *question, const struct history_test *test) {
	if (question->since && test->last < question->since)
		return false;
	return !question->stale || test->last < question->now - question->stale;
}

static void take_test(void *data, const struct history_test *test) {
	struct runs_context *context = data;
	char text[SHOW_SIZE];
	if (!is_wanted(context->question, test))
		return;
	if (context->question->form != HISTORY_JSON) {
		CLEANUP_FREE char *name = show_test(test);
		show_cell(&context->table, "%s", name);
		show_cell(&context->table, "%llu", (unsigned long long)test->sessions);
		show_cell(&context->table, "%s", show_day(test->first, text));
		show_cell(&context->table, "%s", show_time(test->last, text));
		show_cell(&context->table, "%s", test->project);
		return;
	}
	struct json *json = &context->json;
	json_object(json, NULL);
	show_json_test(json, test);
	json_uint(json, "sessions", test->sessions);
	json_string(json, "first", show_exact_time(test->first, text));
	json_string(json, "last", show_exact_time(test->last, text));
	json_close_object(json);
}

int question_tests(struct history_question *question) {
	static const char *const headers[] = {"test", "sessions>", "first", "last", "project"};
	struct runs_context context = {.question = question,
				       .table = {headers, ARRAY_SIZE(headers), {0}},
				       .json = json_into(question->out)};
	struct history_filter filter = {.project = question->project};
	if (question->form == HISTORY_JSON) {
		json_object(&context.json, NULL);
		json_array(&context.json, "tests");
	}
	int error = question->store->operations->tests(question->store, &filter, take_test, &context);
	if (question->form == HISTORY_JSON) {
		json_close_array(&context.json);
		json_close_object(&context.json);
		buffer_text(question->out, "\n");
	} else {
		show_table_print(&context.table, question->form, question->out);
	}
	return error;
}
