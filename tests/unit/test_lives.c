// Which tasks are alive, and what code is mapped, after various events.
#include "unit.h"

#include "event/lives.h"

#include <stdio.h>
#include <string.h>

// ---- events, with strings of their own ----

static struct strings *told; // the table for the events' string ids

static uint32_t text(const char *words) {
	return strings_add(told, words);
}

static void learn(struct lives *lives, struct event event) {
	lives_learn(lives, told, &event);
}

static void learn_task(struct lives *lives, uint32_t tid, uint32_t pid, const char *name,
		       const char *command) {
	learn(lives,
	      (struct event){.kind = EVENT_TASK,
			     .tid = tid,
			     .pid = pid,
			     .task = {.parent_pid = 1, .name = text(name), .command_line = text(command)}});
}

static void learn_fork(struct lives *lives, uint32_t from, uint32_t tid, uint32_t pid, const char *name) {
	learn(lives,
	      (struct event){
		      .kind = EVENT_FORK,
		      .tid = from,
		      .pid = from,
		      .fork = {.child_tid = tid, .child_pid = pid, .parent_pid = from, .name = text(name)}});
}

static void learn_exec(struct lives *lives, uint32_t tid, uint32_t old_tid, const char *name,
		       const char *arguments) {
	learn(lives,
	      (struct event){.kind = EVENT_EXEC,
			     .tid = tid,
			     .pid = tid,
			     .exec = {.old_tid = old_tid, .name = text(name), .arguments = text(arguments)}});
}

static void learn_exit(struct lives *lives, uint32_t tid, uint32_t pid, bool last) {
	learn(lives, (struct event){.kind = EVENT_EXIT, .tid = tid, .pid = pid, .exit = {.last = last}});
}

static void learn_mapping(struct lives *lives, uint32_t pid, uint64_t address, const char *file) {
	learn(lives, (struct event){.kind = EVENT_MAPPING,
				    .tid = pid,
				    .pid = pid,
				    .mapping = {.start = address,
						.size = 4096,
						.file = text(file),
						.build_id = text("cafe")}});
}

// ---- the result, as text ----

enum { MOST_LINES = 16 };

struct lines {
	const struct lives *lives;
	char texts[MOST_LINES][128];
	size_t count;
};

static void take_task(void *context, const struct life *life) {
	struct lines *lines = context;
	assert_true(lines->count < MOST_LINES);
	snprintf(lines->texts[lines->count++], sizeof(lines->texts[0]), "%u of %u of %u: %s (%s)\n",
		 life->tid, life->pid, life->parent_pid, strings_get(lines->lives->strings, life->name),
		 strings_get(lines->lives->strings, life->command_line));
}

static void take_mapping(void *context, uint32_t pid, const struct space_map *map) {
	struct lines *lines = context;
	assert_true(lines->count < MOST_LINES);
	snprintf(lines->texts[lines->count++], sizeof(lines->texts[0]), "%u: %s %s at %x\n", pid,
		 strings_get(lines->lives->strings, map->module),
		 strings_get(lines->lives->strings, map->build_id), (unsigned)map->begin);
}

static int compare(const void *left, const void *right) {
	return strcmp(left, right);
}

static void assert_lines(struct lines *lines, const char *expected) {
	char all[MOST_LINES * 128] = "";
	qsort(lines->texts, lines->count, sizeof(lines->texts[0]), compare);
	for (size_t i = 0; i < lines->count; i++)
		strcat(all, lines->texts[i]);
	assert_string_equal(all, expected);
}

static void assert_tasks(const struct lives *lives, const char *expected) {
	struct lines lines = {.lives = lives};
	lives_each_task(lives, take_task, &lines);
	assert_lines(&lines, expected);
}

static void assert_mappings(const struct lives *lives, const char *expected) {
	struct lines lines = {.lives = lives};
	lives_each_mapping(lives, take_mapping, &lines);
	assert_lines(&lines, expected);
}

static int begin(void **state) {
	struct lives *lives = malloc(sizeof(*lives));
	lives_init(lives);
	told = strings_new();
	*state = lives;
	return 0;
}

static int end(void **state) {
	lives_free(*state);
	strings_free(told);
	free(*state);
	return 0;
}

// ---- tasks ----

static void test_tasks_that_were_there(void **state) {
	learn_task(*state, 10, 10, "shell", "sh -c x");
	learn_task(*state, 11, 10, "helper", "sh -c x");
	assert_tasks(*state, "10 of 10 of 1: shell (sh -c x)\n11 of 10 of 1: helper (sh -c x)\n");
}

static void test_a_child_has_its_parent_s_command_line(void **state) {
	learn_task(*state, 10, 10, "shell", "sh -c x");
	learn_fork(*state, 10, 20, 20, "child");
	learn_fork(*state, 99, 30, 30, "orphan"); // its parent is unknown
	assert_tasks(*state, "10 of 10 of 1: shell (sh -c x)\n20 of 20 of 10: child (sh -c x)\n30 of 30 of "
			     "99: orphan ()\n");
}

static void test_an_exec_is_another_program(void **state) {
	learn_task(*state, 10, 10, "shell", "sh -c x");
	learn_exec(*state, 10, 10, "true", "/bin/true");
	learn_exec(*state, 40, 40, "late", "/bin/late"); // its first event
	assert_tasks(*state, "10 of 10 of 1: true (/bin/true)\n40 of 40 of 0: late (/bin/late)\n");
}

// The thread that calls exec becomes the first one.
static void test_an_exec_by_another_thread_ends_that_one(void **state) {
	learn_task(*state, 10, 10, "shell", "sh");
	learn_task(*state, 11, 10, "caller", "sh");
	learn_exec(*state, 10, 11, "true", "/bin/true");
	assert_tasks(*state, "10 of 10 of 1: true (/bin/true)\n");
}

static void test_a_rename_changes_the_name_only(void **state) {
	learn_task(*state, 10, 10, "shell", "sh");
	learn(*state, (struct event){.kind = EVENT_RENAME, .tid = 10, .rename = {.name = text("worker")}});
	learn(*state, (struct event){.kind = EVENT_RENAME, .tid = 11, .rename = {.name = text("unknown")}});
	assert_tasks(*state, "10 of 10 of 1: worker (sh)\n");
}

static void test_an_exited_task_is_gone(void **state) {
	learn_task(*state, 10, 10, "shell", "sh");
	learn_task(*state, 11, 10, "helper", "sh");
	learn_exit(*state, 11, 10, false);
	learn_exit(*state, 12, 12, true); // never seen
	assert_tasks(*state, "10 of 10 of 1: shell (sh)\n");
}

static void test_a_number_is_used_again(void **state) {
	learn_task(*state, 10, 10, "old", "old");
	learn_fork(*state, 99, 10, 10, "new");
	assert_tasks(*state, "10 of 10 of 99: new ()\n");
}

// ---- mappings ----

static void test_code_goes_with_the_last_thread(void **state) {
	learn_task(*state, 10, 10, "shell", "sh");
	learn_task(*state, 11, 10, "helper", "sh");
	learn_mapping(*state, 10, 0x1000, "/bin/sh");
	learn_mapping(*state, 20, 0x2000, "/bin/other");
	learn_exit(*state, 10, 10, false);
	assert_mappings(*state, "10: /bin/sh cafe at 1000\n20: /bin/other cafe at 2000\n");
	learn_exit(*state, 11, 10, true);
	assert_mappings(*state, "20: /bin/other cafe at 2000\n");
}

static void test_a_child_has_its_parent_s_code(void **state) {
	learn_mapping(*state, 10, 0x1000, "/bin/sh");
	learn_fork(*state, 10, 20, 20, "child");
	learn_fork(*state, 10, 11, 10, "thread");
	assert_mappings(*state, "10: /bin/sh cafe at 1000\n20: /bin/sh cafe at 1000\n");
}

// ---- strings ----

static void test_strings_are_its_own(void **state) {
	learn_task(*state, 10, 10, "shell", "sh");
	learn_mapping(*state, 10, 0x1000, "/bin/sh");
	strings_free(told);
	told = strings_new();
	text("something else");
	assert_tasks(*state, "10 of 10 of 1: shell (sh)\n");
	assert_mappings(*state, "10: /bin/sh cafe at 1000\n");
}

// Hours of short-lived commands: what is kept about them does not accumulate, and live tasks keep
// their strings.
static void test_strings_of_the_dead_go(void **state) {
	const struct lives *lives = *state;
	learn_task(*state, 10, 10, "shell", "sh -c x");
	learn_mapping(*state, 10, 0x1000, "/bin/sh");
	learn_mapping(*state, 10, 0x5000, "/tmp/jit-10.dump");
	size_t most = 0;
	for (uint32_t i = 0; i < 50000; i++) {
		char command[32];
		snprintf(command, sizeof(command), "command %u", i);
		learn_fork(*state, 10, 1000 + i, 1000 + i, "child");
		learn_exec(*state, 1000 + i, 1000 + i, "command", command);
		learn_exit(*state, 1000 + i, 1000 + i, true);
		most = MAX(most, lives->strings->texts.count);
	}
	assert_true(most < 10000);
	assert_tasks(*state, "10 of 10 of 1: shell (sh -c x)\n");
	assert_mappings(*state, "10: /bin/sh cafe at 1000\n10: /tmp/jit-10.dump cafe at 5000\n");
	assert_string_equal(strings_get(lives->strings, lives->spaces.spaces.items[0].jit_dump),
			    "/tmp/jit-10.dump");
}

// The same for replaced code: a compiler may write a library for each request.
static void test_strings_of_replaced_code_go(void **state) {
	const struct lives *lives = *state;
	size_t most = 0;
	for (uint32_t i = 0; i < 50000; i++) {
		char file[32];
		snprintf(file, sizeof(file), "/tmp/%u.so", i);
		learn_mapping(*state, 10, 0x1000, file);
		most = MAX(most, lives->strings->texts.count);
	}
	assert_true(most < 10000);
	assert_mappings(*state, "10: /tmp/49999.so cafe at 1000\n");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tasks_that_were_there, begin, end),
		cmocka_unit_test_setup_teardown(test_a_child_has_its_parent_s_command_line, begin, end),
		cmocka_unit_test_setup_teardown(test_an_exec_is_another_program, begin, end),
		cmocka_unit_test_setup_teardown(test_an_exec_by_another_thread_ends_that_one, begin, end),
		cmocka_unit_test_setup_teardown(test_a_rename_changes_the_name_only, begin, end),
		cmocka_unit_test_setup_teardown(test_an_exited_task_is_gone, begin, end),
		cmocka_unit_test_setup_teardown(test_a_number_is_used_again, begin, end),
		cmocka_unit_test_setup_teardown(test_code_goes_with_the_last_thread, begin, end),
		cmocka_unit_test_setup_teardown(test_a_child_has_its_parent_s_code, begin, end),
		cmocka_unit_test_setup_teardown(test_strings_are_its_own, begin, end),
		cmocka_unit_test_setup_teardown(test_strings_of_the_dead_go, begin, end),
		cmocka_unit_test_setup_teardown(test_strings_of_replaced_code_go, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
