// Runs of many tests: manifests of several folders as one.
#include "unit.h"

#include "base/system.h"
#include "flow/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *new_folder(void) {
	char *folder = memory_string("/tmp/tracelet-report.XXXXXX");
	assert_non_null(mkdtemp(folder));
	return folder;
}

static void remove_folder(char *folder) {
	CLEANUP_FREE char *manifest = memory_format("%s/manifest.jsonl", folder);
	unlink(manifest);
	rmdir(folder);
	free(folder);
}

// A test of a run: its number, how it ended, and when.
static void write_line(const char *folder, int test, const char *session, const char *status, int second,
		       const char *commit) {
	CLEANUP_FREE char *path = memory_format("%s/manifest.jsonl", folder);
	FILE *file = fopen(path, "a");
	assert_non_null(file);
	fprintf(file,
		"{\"version\":2,\"session\":\"%s\",\"test\":\"t%d\",\"status\":\"%s\",\"result\":\"%s\","
		"\"started\":\"2026-01-01T00:00:%02d.000Z\","
		"\"wall_seconds\":1,\"source\":{\"commit\":\"%s\"},\"artifacts\":[]}\n",
		session, test, status, strcmp(status, "passed") == 0 ? "passed" : "failed: exit status 1",
		second, commit);
	fclose(file);
}

static void page_of(struct report_run *run, struct buffer *page) {
	struct report_options options = {.title = "x", .embed = EMBED_NONE};
	report_group(run);
	report_run_page(page, run, &options);
}

static void shards_are_one_run(void **state) {
	enum { SHARDS = 8, TESTS = 40 };
	char *whole = new_folder(), *shards[SHARDS];
	struct report_run one = {0}, many = {0};
	for (int i = 0; i < SHARDS; i++)
		shards[i] = new_folder();
	for (int i = 0; i < TESTS; i++) {
		char session[40];
		snprintf(session, sizeof(session), "00000000-0000-4000-8000-%012d", i);
		write_line(whole, i, session, i % 7 ? "passed" : "failed", i, "a");
		write_line(shards[i % SHARDS], i, session, i % 7 ? "passed" : "failed", i, "a");
	}
	assert_int_equal(report_add_folder(&one, whole), 0);
	for (int i = 0; i < SHARDS; i++)
		assert_int_equal(report_add_folder(&many, shards[i]), 0);
	assert_int_equal(report_add_folder(&many, whole), 0); // all of it twice
	report_group(&one);
	report_group(&many);
	assert_int_equal(one.tests.count, TESTS);
	assert_int_equal(many.tests.count, TESTS);
	assert_int_equal(many.records.count, one.records.count);
	assert_int_equal(many.duplicates, TESTS);
	for (size_t i = 0; i < many.tests.count; i++)
		assert_int_equal(many.tests.items[i].attempts.count, 1);
	report_run_free(&one);
	report_run_free(&many);
	remove_folder(whole);
	for (int i = 0; i < SHARDS; i++)
		remove_folder(shards[i]);
}

static void flaky_is_both_on_one_commit(void **state) {
	char *folder = new_folder();
	struct report_run run = {0};
	write_line(folder, 1, "a", "passed", 1, "one"); // fails on another commit
	write_line(folder, 1, "b", "failed", 2, "two");
	write_line(folder, 2, "c", "failed", 4, "one"); // passes later, though its line is the first
	write_line(folder, 2, "d", "passed", 5, "one");
	write_line(folder, 3, "e", "skipped", 1, "one");
	write_line(folder, 3, "f", "passed", 2, "one");
	assert_int_equal(report_add_folder(&run, folder), 0);
	report_group(&run);
	assert_int_equal(run.tests.count, 3);
	assert_false(run.tests.items[0].flaky);
	assert_true(run.tests.items[1].flaky);
	assert_false(run.tests.items[2].flaky);
	report_run_free(&run);
	remove_folder(folder);
}

static void the_last_pass_is_before_the_run(void **state) {
	char *folder = new_folder();
	struct report_run run = {0};
	write_line(folder, 1, "a", "passed", 1, "");
	write_line(folder, 1, "b", "passed", 3, "");
	write_line(folder, 2, "c", "passed", 4, "");
	write_line(folder, 1, "d", "failed", 5, "");
	write_line(folder, 1, "e", "passed", 6, "");
	assert_int_equal(report_add_folder(&run, folder), 0);
	assert_string_equal(report_last_pass(&run, &run.records.items[3], NULL)->record.session, "b");
	assert_null(report_last_pass(&run, &run.records.items[0], NULL));
	report_run_free(&run);
	remove_folder(folder);
}

static void only_the_end_of_a_long_manifest_is_read(void **state) {
	char *folder = new_folder();
	struct report_run run = {.most = 600};
	for (int i = 0; i < 50; i++) {
		char session[16];
		snprintf(session, sizeof(session), "s%d", i);
		write_line(folder, i, session, "passed", 1, "");
	}
	assert_int_equal(report_add_folder(&run, folder), 0);
	assert_in_range(run.records.count, 1, 5);
	assert_string_equal(run.records.items[run.records.count - 1].record.session, "s49");
	report_run_free(&run);
	remove_folder(folder);
}

static void torn_lines_and_names_do_no_harm(void **state) {
	char *folder = new_folder();
	CLEANUP_FREE char *path = memory_format("%s/manifest.jsonl", folder);
	struct report_run run = {0};
	struct buffer page = {0};
	FILE *file = fopen(path, "w");
	fprintf(file, "{\"test\":\"a<script>\",\"result\":\"failed: </td><script>\",\"status\":\"x\\\" "
		      "onload=\\\"y\",\"artifacts\":[]}\n{\"test\":\"b\n\n[]\n");
	fclose(file);
	assert_int_equal(report_add_folder(&run, folder), 0);
	assert_int_equal(run.records.count, 1);
	page_of(&run, &page);
	buffer_append(&page, "", 1);
	const char *script = strstr((char *)page.data, "<script");
	assert_non_null(script); // ours
	assert_null(strstr(script + 1, "<script"));
	assert_null(strstr((char *)page.data, "onload=\"y"));
	buffer_free(&page);
	report_run_free(&run);
	remove_folder(folder);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shards_are_one_run),
		cmocka_unit_test(flaky_is_both_on_one_commit),
		cmocka_unit_test(the_last_pass_is_before_the_run),
		cmocka_unit_test(only_the_end_of_a_long_manifest_is_read),
		cmocka_unit_test(torn_lines_and_names_do_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
