// What the limits of an output folder delete, and what they never do.
#include "aside.h"

#include "artifact/manifest.h"
#include "artifact/retention.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { NOW = 1800000000, DAY = 86400 };

#define SUM "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882" // SHA-256 of 0123456789

static void put_text(const char *name, const char *text) {
	put_file(in_folder(name), text, strlen(text));
}

static void note_line(const char *text) {
	struct buffer line = {0};
	buffer_printf(&line, "%s\n", text);
	assert_int_equal(manifest_append(aside_folder, &line), 0);
	buffer_free(&line);
}

// A session that ended this many days ago and left one file of ten bytes.
static void add_session(const char *name, int days, bool passed) {
	char started[32];
	time_t time = NOW - days * DAY;
	struct tm utc;
	strftime(started, sizeof(started), "%Y-%m-%dT%H:%M:%S", gmtime_r(&time, &utc));
	put_text(name, "0123456789");
	CLEANUP_FREE char *line = memory_format(
		"{\"test\":\"t\",\"result\":\"%s\",\"started\":\"%s.000Z\",\"artifacts\":[{\"kind\":"
		"\"perfetto\","
		"\"path\":\"elsewhere/%s\",\"size\":10,"
		"\"sha256\":\"" SUM "\"}]}",
		passed ? "passed" : "failed: exit status 1", started, name);
	note_line(line);
}

static bool there(const char *name) {
	struct stat status;
	return lstat(in_folder(name), &status) == 0;
}

static int keep_size(uint64_t size) {
	return retention_apply(aside_folder, &(struct retention){.max_total_size = size, .now = NOW});
}

static int keep_age(double days) {
	return retention_apply(aside_folder, &(struct retention){.max_age = days * DAY, .now = NOW});
}

static size_t manifest_lines(void) {
	struct input input;
	size_t lines = 0;
	assert_int_equal(input_open(&input, in_folder("manifest.jsonl")), 0);
	for (size_t i = 0; i < input.size; i++)
		lines += input.data[i] == '\n';
	input_close(&input);
	return lines;
}

// ---- the order ----

static void test_the_oldest_passed_goes_first_and_failed_ones_last(void **state) {
	static const char *const order[] = {"old-good", "new-good", "old-bad", "new-bad"};
	add_session("new-bad", 1, false);
	add_session("old-bad", 9, false);
	add_session("new-good", 1, true);
	add_session("old-good", 5, true);
	for (size_t gone = 0; gone < 4; gone++) {
		assert_int_equal(keep_size(40 - 10 * gone), 0);
		for (size_t i = 0; i < 4; i++)
			assert_int_equal(there(order[i]), i >= gone);
		assert_int_equal(keep_size(39 - 10 * gone ? 39 - 10 * gone : 1), 1);
	}
	assert_int_equal(manifest_lines(), 8);
}

static void test_age_takes_passed_and_failed(void **state) {
	add_session("young", 1, true);
	add_session("old-good", 8, true);
	add_session("old-bad", 9, false);
	add_session("of-tomorrow", -1, true); // a clock that was set back
	assert_int_equal(keep_age(7), 2);
	assert_true(there("young") && there("of-tomorrow") && !there("old-good") && !there("old-bad"));
	assert_int_equal(keep_age(7), 0);
}

static void test_no_limit_deletes_nothing(void **state) {
	add_session("old", 10000, true);
	assert_int_equal(keep_size(0), 0);
	assert_int_equal(keep_age(0), 0);
	assert_true(there("old"));
	assert_int_equal(manifest_lines(), 1);
}

static void test_all_files_of_a_session_go_together(void **state) {
	put_text("a.pb", "0123456789");
	put_text("a.stacks.txt", "0123456789");
	note_line("{\"test\":\"a\",\"result\":\"timed out: limit 3 "
		  "s\",\"timed_out_after\":3,\"started\":\"2020-01-01T00:00:00Z\","
		  "\"artifacts\":[{\"path\":\"a.pb\",\"size\":10,\"sha256\":\"" SUM
		  "\"},{\"path\":\"a.stacks.txt\",\"size\":10,\"sha256\":\"" SUM "\"}]}");
	add_session("good", 1, true);
	assert_int_equal(keep_size(20), 1);
	assert_true(there("a.pb") && there("a.stacks.txt") && !there("good"));
	assert_int_equal(keep_size(19), 2);
	assert_true(!there("a.pb") && !there("a.stacks.txt"));
}

static void test_a_deletion_is_noted_and_the_name_may_come_back(void **state) {
	add_session("again", 5, true);
	assert_int_equal(keep_size(1), 1);
	put_text("again", "0123456789"); // someone else's file now
	assert_int_equal(keep_size(1), 0);
	assert_true(there("again"));
	add_session("again", 1, true); // ours again
	assert_int_equal(keep_size(1), 1);
	assert_false(there("again"));
}

// ---- what is not ours ----

static void test_what_has_changed_stays(void **state) {
	add_session("longer", 5, true);
	add_session("other", 5, true);
	add_session("link", 5, true);
	add_session("folder", 5, true);
	put_text("longer", "01234567890");
	put_text("other", "9876543210");
	put_text("target", "0123456789");
	unlink(in_folder("link"));
	assert_int_equal(symlink("target", in_folder("link")), 0);
	unlink(in_folder("folder"));
	assert_int_equal(mkdir(in_folder("folder"), 0777), 0);
	assert_int_equal(keep_size(1), 0);
	assert_true(there("longer") && there("other") && there("link") && there("target") && there("folder"));
}

// A line without a sum does not prove that we wrote the file.
static void test_a_file_without_a_sum_stays(void **state) {
	put_text("source.c", "0123456789");
	note_line("{\"test\":\"a\",\"result\":\"passed\",\"started\":\"2020-01-01T00:00:00Z\","
		  "\"artifacts\":[{\"kind\":\"perfetto\",\"path\":\"source.c\",\"size\":10}]}");
	assert_int_equal(keep_age(1), 0);
	assert_int_equal(keep_size(1), 0);
	assert_true(there("source.c"));
}

static void test_lines_that_are_not_ours_are_passed_over(void **state) {
	static const char *const lines[] = {
		"",
		"{",
		"[]",
		"null",
		"\"artifacts\"",
		"{\"artifacts\":null}",
		"{\"artifacts\":[1,null,[],{}]}",
		"{\"artifacts\":[1,null,[],{}],\"started\":\"2020-01-01T00:00:00Z\"}",
		"{\"deleted\":[1,null,{\"path\":7}]}",
		"{\"started\":\"yesterday\",\"artifacts\":[{\"path\":\"foreign\",\"size\":7}]}",
		"{\"started\":\"2020-01-01T00:00:00Z\",\"artifacts\":[{\"path\":\"..\",\"size\":0},{\"path\":"
		"\"a/.\",\"size\":0},"
		"{\"path\":\"manifest.jsonl\",\"size\":0},{\"path\":\"foreign\",\"size\":-7},{\"path\":\"x/"
		"\",\"size\":1}]}",
	};
	put_text("foreign", "foreign");
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		note_line(lines[i]);
	add_session("ours", 5, true);
	assert_int_equal(keep_size(1), 1);
	assert_true(there("foreign") && there("manifest.jsonl") && !there("ours"));
}

static void test_a_folder_that_is_not_there_is_an_error(void **state) {
	assert_int_equal(
		retention_apply(in_folder("no-such-folder"), &(struct retention){.max_total_size = 1}),
		-ENOENT);
	put_text("file", "");
	assert_int_equal(retention_apply(in_folder("file"), &(struct retention){.max_total_size = 1}),
			 -ENOTDIR);
}

// ---- with other processes ----

static void test_two_at_once_delete_each_file_once(void **state) {
	enum { FILES = 200, PROCESSES = 4 };
	pid_t children[PROCESSES];
	int deleted = 0;
	for (int i = 0; i < FILES; i++) {
		char name[16];
		snprintf(name, sizeof(name), "f%d", i);
		add_session(name, 5, true);
	}
	for (int i = 0; i < PROCESSES; i++)
		if ((children[i] = fork()) == 0)
			_exit(keep_size(10 * 50));
	for (int i = 0; i < PROCESSES; i++) {
		int status;
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_true(WIFEXITED(status));
		deleted += WEXITSTATUS(status);
	}
	assert_int_equal(deleted, FILES - 50);
	assert_int_equal(folder_entries(), 50 + 2); // and the manifest, and when it was read
	assert_int_equal(manifest_lines(), FILES + 1);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_the_oldest_passed_goes_first_and_failed_ones_last),
		IN_FOLDER(test_age_takes_passed_and_failed),
		IN_FOLDER(test_no_limit_deletes_nothing),
		IN_FOLDER(test_all_files_of_a_session_go_together),
		IN_FOLDER(test_a_deletion_is_noted_and_the_name_may_come_back),
		IN_FOLDER(test_what_has_changed_stays),
		IN_FOLDER(test_a_file_without_a_sum_stays),
		IN_FOLDER(test_lines_that_are_not_ours_are_passed_over),
		IN_FOLDER(test_a_folder_that_is_not_there_is_an_error),
		IN_FOLDER(test_two_at_once_delete_each_file_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
