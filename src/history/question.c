// What the questions share: filters, names of tests, names of runs.
#include "history/question.h"
#include "base/log.h"
#include "base/near.h"
#include "base/text.h"
#include "history/show.h"

#include <errno.h>
#include <stdio.h>

struct history_filter question_filter(const struct history_question *question) {
	return (struct history_filter){.project = question->project,
				       .branch = question->branch,
				       .machine_class = question->machine_class,
				       .since = question->since,
				       .until = question->until};
}

// ---- tests ----

static void push_test(void *context, const struct history_test *row) {
	history_tests *tests = context;
	array_push(tests, *row);
}

static int by_key(const void *a, const void *b) {
	const struct history_test *left = a, *right = b;
	return (left->key > right->key) - (left->key < right->key);
}

static int by_number(const void *a, const void *b) {
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

void question_sort_keys(history_keys *keys) {
	size_t kept = 0;
	if (keys->count)
		qsort(keys->items, keys->count, sizeof(*keys->items), by_number);
	for (size_t i = 0; i < keys->count; i++)
		if (!kept || keys->items[i] != keys->items[kept - 1])
			keys->items[kept++] = keys->items[i];
	keys->count = kept;
}

int question_read_tests(struct history_question *question, const history_keys *keys, history_tests *tests) {
	struct history_filter filter = {.project = question->project, .names = true};
	if (keys && !keys->count)
		return 0;
	if (keys) {
		filter.tests = keys->items;
		filter.test_count = keys->count;
	}
	int error = question->store->operations->tests(question->store, &filter, push_test, tests);
	if (tests->count)
		qsort(tests->items, tests->count, sizeof(*tests->items), by_key);
	return error;
}

const struct history_test *question_find_test(const history_tests *tests, uint64_t key) {
	struct history_test wanted = {.key = key};
	return tests->count ? bsearch(&wanted, tests->items, tests->count, sizeof(wanted), by_key) : NULL;
}

static void push_key(void *context, const struct history_test *row) {
	history_keys *keys = context;
	array_push(keys, row->key);
}

// By "SUITE/NAME"; if there is none, says what is near.
static int find_by_path(struct history_question *question, const char *name, history_keys *keys) {
	history_tests tests = {0};
	struct near_name near = {.wanted = name};
	char words[128];
	int error = question_read_tests(question, NULL, &tests);
	for (size_t i = 0; i < tests.count; i++) {
		CLEANUP_FREE char *path = show_test(&tests.items[i]);
		if (strcmp(path, name) == 0)
			array_push(keys, tests.items[i].key);
		near_offer(&near, tests.items[i].name);
		near_offer(&near, path);
	}
	array_free(&tests);
	if (error || keys->count)
		return error;
	near_words(&near, words, sizeof(words));
	CLEANUP_FREE char *plain = text_plain_copy(name);
	log_error("the history has no test '%s'%s; 'tracelet history tests' lists them", plain, words);
	return -ENOENT;
}

int question_named(struct history_question *question, const char *name, history_keys *keys) {
	struct history_filter filter = {.project = question->project, .name = name, .names = true};
	int error = question->store->operations->tests(question->store, &filter, push_key, keys);
	if (!error && !keys->count)
		error = find_by_path(question, name, keys);
	question_sort_keys(keys);
	return error;
}

// ---- runs ----

typedef ARRAY(struct history_run) run_list;

static void push_run(void *context, const struct history_run *row) {
	run_list *runs = context;
	array_push(runs, *row);
}

// branch@{n}: the run n before the last one of the branch. False if the name has another form.
static bool read_counted(const char *name, char *branch, size_t size, unsigned long *back) {
	const char *at = strstr(name, "@{");
	char *end;
	if (!at || (size_t)(at - name) >= size)
		return false;
	*back = strtoul(at + 2, &end, 10);
	snprintf(branch, size, "%.*s", (int)(at - name), name);
	return end > at + 2 && strcmp(end, "}") == 0;
}

static const struct history_run *pick_run(const run_list *runs, const char *name) {
	char branch[HISTORY_LONGEST_NAME + 1];
	unsigned long back = 0;
	size_t length = strlen(name);
	bool counted = read_counted(name, branch, sizeof(branch), &back),
	     latest = strcmp(name, "latest") == 0;
	for (size_t i = runs->count; i-- > 0;) {
		const struct history_run *run = &runs->items[i];
		if (latest || strcmp(run->run, name) == 0)
			return run;
		if (counted && strcmp(run->branch, branch) == 0 && !back--)
			return run;
		if (!counted && length >= 4 &&
		    (strncmp(run->run, name, length) == 0 || strncmp(run->commit, name, length) == 0))
			return run;
	}
	return NULL;
}

int question_run(struct history_question *question, const char *name, struct history_run *run) {
	struct history_filter filter = {.project = question->project};
	run_list runs = {0};
	int error = question->store->operations->runs(question->store, &filter, push_run, &runs);
	const struct history_run *found = pick_run(&runs, name);
	if (found) {
		*run = *found;
	} else if (!error) {
		CLEANUP_FREE char *plain = text_plain_copy(name);
		log_error("the history has no run '%s'; 'tracelet history runs' lists them", plain);
		error = -ENOENT;
	}
	array_free(&runs);
	return error;
}

// ---- how much there is ----

int question_totals(struct history_question *question) {
	struct history_totals totals;
	int error = question->store->operations->totals(question->store, &totals);
	if (error)
		return error;
	if (question->form == HISTORY_JSON) {
		struct json json = json_into(question->out);
		json_object(&json, NULL);
		json_uint(&json, "sessions", totals.sessions);
		json_uint(&json, "tests", totals.tests);
		json_uint(&json, "runs", totals.runs);
		json_uint(&json, "conflicts", totals.conflicts);
		json_uint(&json, "ignored", totals.ignored);
		json_uint(&json, "broken", totals.broken);
		json_close_object(&json);
		buffer_text(question->out, "\n");
		return 0;
	}
	show_line(question, "%llu session%s of %llu test%s in %llu run%s",
		  (unsigned long long)totals.sessions, plural(totals.sessions),
		  (unsigned long long)totals.tests, plural(totals.tests), (unsigned long long)totals.runs,
		  plural(totals.runs));
	if (totals.conflicts)
		show_line(question, "%llu line%s with the id of another session: the first was kept",
			  (unsigned long long)totals.conflicts, plural(totals.conflicts));
	if (totals.broken)
		show_line(question, "%llu line%s could not be read", (unsigned long long)totals.broken,
			  plural(totals.broken));
	return 0;
}
