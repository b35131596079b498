// Has a trace landed? Each way to fail has its own error.
#include "aside.h"
#include "sample_trace.h"

#include "artifact/landed.h"
#include "artifact/manifest.h"
#include "tracelet/tracelet.h"

#include <errno.h>

static void put_trace(const char *name, size_t cut) {
	struct buffer trace = {0};
	sample_trace(&trace);
	put_file(in_folder(name), trace.data, trace.size - cut);
	buffer_free(&trace);
}

static void check_landed(const char *name, int expected, const char *words) {
	char message[1024] = "";
	assert_int_equal(tl_trace_landed(in_folder(name), 1, message, sizeof(message)), expected);
	if (expected) {
		assert_non_null(strstr(message, in_folder(name)));
		assert_non_null(strstr(message, "expected"));
		assert_non_null(strstr(message, "found"));
		assert_non_null(strstr(message, "look at"));
		assert_non_null(strstr(message, words));
	}
}

static void test_each_failure_has_its_own_words(void **state) {
	put_trace("good", 0);
	check_landed("good", 0, "");
	check_landed("missing", -ENOENT, "No such file");
	put_file(in_folder("empty"), "", 0);
	check_landed("empty", -ENODATA, "at least 1 bytes, found 0");
	put_file(in_folder("text"), "some text\n", 10);
	check_landed("text", -EILSEQ, "0x0a");
	put_trace("cut", 1);
	check_landed("cut", -EBADMSG, "defects");
	assert_int_equal(tl_trace_landed(aside_folder, 0, NULL, 0), -EISDIR);
}

static void test_four_kilobytes_that_begin_like_a_trace_are_none(void **state) {
	static uint8_t zeros[4096] = {0x0a};
	put_file(in_folder("zeros"), zeros, sizeof(zeros));
	check_landed("zeros", -EBADMSG, "defects");
}

static void test_a_bad_trace_ends_the_test_that_asserts_it(void **state) {
	pid_t child = fork();
	if (child == 0) {
		int null = open("/dev/null", O_WRONLY);
		dup2(null, STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		tl_assert_trace(in_folder("missing"));
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

// ---- by the manifest ----

static void note(const char *test, const char *more) {
	struct buffer line = {0};
	buffer_printf(&line,
		      "{\"test\":\"%s\",\"result\":\"passed\",\"started\":\"2026-01-02T03:04:05.000Z\"%s}\n",
		      test, more);
	assert_int_equal(manifest_append(aside_folder, &line), 0);
	buffer_free(&line);
}

static void check_answer(struct landed_question question, enum landed expected, const char *words) {
	struct buffer line = {0};
	question.folder = aside_folder;
	assert_int_equal(landed_check(&question, 1, &line), expected);
	buffer_append(&line, "", 1);
	if (!strstr((char *)line.data, words))
		fail_msg("no '%s' in: %s", words, (char *)line.data);
	buffer_free(&line);
}

static void test_the_newest_session_counts(void **state) {
	check_answer((struct landed_question){.test = "a"}, NOT_LANDED, "no manifest");
	put_trace("a_1.pb", 0);
	note("a", ",\"backend\":\"bpf\",\"artifacts\":[{\"kind\":\"perfetto\",\"path\":\"gone/a_1.pb\"}]");
	check_answer((struct landed_question){.test = "a"}, LANDED, "a_1.pb");
	check_answer((struct landed_question){.test = "b"}, NOT_LANDED, "found none");
	note("a", ",\"backend\":\"bpf\",\"artifacts\":[],\"not_kept\":\"--keep never\"");
	check_answer((struct landed_question){.test = "a"}, NOT_LANDED, "not kept");
	note("a", ",\"artifacts\":[]");
	check_answer((struct landed_question){.test = "a"}, NOT_LANDED, "nothing was recorded");
	note("a", ",\"backend\":\"bpf\",\"artifacts\":[{\"kind\":\"perfetto\",\"path\":\"a_2.pb\"}]");
	check_answer((struct landed_question){.test = "a"}, NOT_LANDED, "a_2.pb");
}

// As tracelet.exe records it. tests/wine has a complete one.
static void test_a_recording_of_windows_is_looked_at_as_one(void **state) {
	put_file(in_folder("a.etl"), "some text that is no recording", 30);
	note("a", ",\"backend\":\"wpr\",\"artifacts\":[{\"kind\":\"etl\",\"path\":\"C:\\\\out\\\\a.etl\","
		  "\"size\":30}]");
	check_answer((struct landed_question){.test = "a"}, NOT_LANDED, "begins with a session header");
	CLEANUP_FREE char *path = landed_artifact(
		&(struct landed_question){.folder = aside_folder, .test = "a"}, NULL);
	assert_string_equal(path, in_folder("a.etl"));
	put_file(in_folder("a.etl"), "some text", 9);
	check_answer((struct landed_question){.test = "a"}, NOT_LANDED, "expected 30 bytes, found 9");
}

static void test_of_several_recordings_left_over_the_first_is_named(void **state) {
	put_file(in_folder("a_2.spool"), "x", 1);
	put_file(in_folder("a_1.spool"), "x", 1);
	put_file(in_folder("a_x.spool"), "x", 1);
	put_file(in_folder("a_0.spool.old"), "x", 1);
	put_file(in_folder("aa_0.spool"), "x", 1);
	check_answer((struct landed_question){.test = "a"}, NOT_LANDED, "/a_1.spool;");
}

static void test_a_failed_machine_is_reported_as_such(void **state) {
	note("a", ",\"artifacts\":[{\"kind\":\"console\",\"path\":\"a.console.log\"}],\"guest_failed\":"
		  "\"panic: x\"");
	check_answer((struct landed_question){.test = "a"}, LANDED_GUEST_FAILED, "failed: panic: x");
	check_answer((struct landed_question){.test = "a"}, LANDED_GUEST_FAILED, "a.console.log");
}

static void test_variants_and_second_runs_are_distinguished(void **state) {
	put_trace("a.pb", 0);
	note("a", ",\"variant_hash\":\"36ceceea5c2beda7\",\"backend\":\"bpf\",\"artifacts\":[{\"kind\":"
		  "\"perfetto\","
		  "\"path\":\"a.pb\"}]");
	const char *variant = "{\"kargs\":[],\"payload\":null,\"scheduler\":\"eevdf\",\"sysctls\":[],"
			      "\"topology\":\"1n1l1c1t\",\"work_type\":\"\"}";
	check_answer((struct landed_question){.test = "a"}, NOT_LANDED, "other variants");
	check_answer((struct landed_question){.test = "a", .variant = variant}, LANDED, "a.pb");
	check_answer((struct landed_question){.test = "a", .variant = variant, .repro = true}, NOT_LANDED,
		     "found none");
}

static void test_a_tracer_that_died_is_named(void **state) {
	put_file(in_folder("a_20260102_030405.spool"), "x", 1);
	check_answer((struct landed_question){.test = "a"}, NOT_LANDED, "look at why the tracer died");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_each_failure_has_its_own_words),
		IN_FOLDER(test_four_kilobytes_that_begin_like_a_trace_are_none),
		IN_FOLDER(test_a_bad_trace_ends_the_test_that_asserts_it),
		IN_FOLDER(test_the_newest_session_counts),
		IN_FOLDER(test_a_recording_of_windows_is_looked_at_as_one),
		IN_FOLDER(test_of_several_recordings_left_over_the_first_is_named),
		IN_FOLDER(test_a_failed_machine_is_reported_as_such),
		IN_FOLDER(test_variants_and_second_runs_are_distinguished),
		IN_FOLDER(test_a_tracer_that_died_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
