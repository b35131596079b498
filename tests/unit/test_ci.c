// What each CI system gets to see about a test, and that a test's name and paths cannot inject
// commands.
#include "aside.h"

#include "artifact/ci.h"

static const char *const variables[] = {
	"NEXTEST_EXECUTION_MODE", "JENKINS_URL",    "GITLAB_CI",          "TF_BUILD",
	"CI_PROJECT_DIR",         "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"};

static int begin(void **state) {
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		unsetenv(variables[i]);
	return folder_setup(state);
}

#define ARTIFACT(text, bytes)                                                                                \
	{ .path = (char[]){text}, .size = bytes }

static const struct manifest_artifact two[] = {ARTIFACT("/tmp/out/a.pb", 2500),
					       ARTIFACT("/tmp/out/a.svg", 0)};
static const struct ci_test failed = {.name = "a test",
				      .result = "failed: exit status 1",
				      .seconds = 1.5,
				      .artifacts = two,
				      .artifact_count = 2};

// What publishing writes: to the test's output, and for the CI itself.
struct published {
	char *lines, *commands;
};

static char *text_of(int fd) {
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = memory_alloc((size_t)size + 1);
	assert_int_equal(pread(fd, text, (size_t)size, 0), size);
	close(fd);
	return text;
}

static struct published publish(int attachments, const struct ci_test *test) {
	int lines = memfd_create("lines", MFD_CLOEXEC), commands = memfd_create("commands", MFD_CLOEXEC);
	ci_publish(&(struct settings){.attachments = attachments}, test, lines, commands);
	return (struct published){text_of(lines), text_of(commands)};
}

static void published_free(struct published *published) {
	free(published->lines);
	free(published->commands);
}

static void assert_published(int attachments, const struct ci_test *test, const char *lines,
			     const char *commands) {
	struct published published = publish(attachments, test);
	assert_string_equal(published.lines, lines);
	assert_string_equal(published.commands, commands);
	published_free(&published);
}

// ---- lines ----

static void test_lines_are_written_where_they_become_a_junit_file_that_is_read(void **state) {
	const struct settings automatic = {.attachments = ATTACHMENTS_AUTO};
	assert_false(ci_wants_lines(&automatic));
	setenv("JENKINS_URL", "https://ci", 1);
	assert_false(ci_wants_lines(&automatic));
	setenv("NEXTEST_EXECUTION_MODE", "process-per-test", 1);
	assert_true(ci_wants_lines(&automatic));
	setenv("JENKINS_URL", "", 1);
	assert_false(ci_wants_lines(&automatic));
	assert_true(ci_wants_lines(&(struct settings){.attachments = ATTACHMENTS_YES}));
	setenv("JENKINS_URL", "https://ci", 1);
	assert_false(ci_wants_lines(&(struct settings){.attachments = ATTACHMENTS_NO}));
}

static void test_each_artifact_is_a_line_of_its_own(void **state) {
	assert_published(ATTACHMENTS_YES, &failed,
			 "\n[[ATTACHMENT|/tmp/out/a.pb]]\n[[ATTACHMENT|/tmp/out/a.svg]]\n", "");
}

static void test_without_artifacts_nothing_is_written(void **state) {
	struct ci_test test = failed;
	test.artifact_count = 0;
	setenv("TF_BUILD", "True", 1);
	assert_published(ATTACHMENTS_YES, &test, "", "");
}

static void test_a_path_that_would_be_two_lines_is_left_out(void **state) {
	const struct manifest_artifact bad[] = {ARTIFACT("/tmp/a\n[[ATTACHMENT|/etc/passwd]]", 1),
						ARTIFACT("/tmp/b\r", 1)};
	assert_published(ATTACHMENTS_YES, &(struct ci_test){"t", "passed", true, 1, bad, 2}, "\n", "");
}

static void test_a_relative_path_becomes_absolute(void **state) {
	const struct manifest_artifact relative[] = {ARTIFACT("a.pb", 1)};
	put_file(in_folder("a.pb"), "", 0);
	assert_int_equal(chdir(aside_folder), 0);
	CLEANUP_FREE char *lines = memory_format("\n[[ATTACHMENT|%s]]\n", in_folder("a.pb"));
	assert_published(ATTACHMENTS_YES, &(struct ci_test){"t", "passed", true, 1, relative, 1}, lines, "");
	assert_int_equal(chdir("/"), 0);
}

static void test_gitlab_wants_paths_from_its_project_on(void **state) {
	setenv("GITLAB_CI", "true", 1);
	setenv("CI_PROJECT_DIR", "/tmp/out", 1);
	CLEANUP_FREE char *inside = ci_artifact_path("/tmp/out/a.pb");
	CLEANUP_FREE char *beside = ci_artifact_path("/tmp/outside/a.pb");
	assert_string_equal(inside, "a.pb");
	assert_string_equal(beside, "/tmp/outside/a.pb");
	unsetenv("GITLAB_CI");
	CLEANUP_FREE char *elsewhere = ci_artifact_path("/tmp/out/a.pb");
	assert_string_equal(elsewhere, "/tmp/out/a.pb");
}

static void test_azure_has_commands_of_its_own(void **state) {
	setenv("TF_BUILD", "True", 1);
	assert_published(
		ATTACHMENTS_AUTO, &failed, "",
		"##vso[artifact.upload containerfolder=tracelet;artifactname=tracelet]/tmp/out/a.pb\n"
		"##vso[artifact.upload containerfolder=tracelet;artifactname=tracelet]/tmp/out/a.svg\n");
}

static void test_azure_has_a_summary_of_failed_tests(void **state) {
	setenv("TF_BUILD", "True", 1);
	const struct ci_test bad = {.name = "a|b",
				    .result = "failed: exit status 1",
				    .seconds = 1.5,
				    .why = "For 1 s, it slept."};
	const struct ci_test good = {.name = "c", .result = "passed", .passed = true};
	CLEANUP_FREE char *folder = memory_string(in_folder("."));
	struct settings settings = {.output_dir = folder, .attachments = ATTACHMENTS_AUTO};
	int commands = memfd_create("commands", MFD_CLOEXEC);
	ci_publish(&settings, &good, -1, commands);
	assert_int_equal(folder_entries(), 0);
	ci_publish(&settings, &bad, -1, commands);
	ci_publish(&settings, &bad, -1, commands);
	CLEANUP_FREE char *text = text_of(commands);
	assert_non_null(strstr(text, "##vso[task.uploadsummary]/"));
	int fd = open(in_folder("tracelet-summary.md"), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	CLEANUP_FREE char *table = text_of(fd);
	assert_string_equal(table, "\n| test | result | time | artifacts |\n|---|---|---|---|\n"
				   "| a\\|b | :x: failed: exit status 1<br>For 1 s, it slept. | 1.500 s |  "
				   "|<!-- tracelet -->\n"
				   "| a\\|b | :x: failed: exit status 1<br>For 1 s, it slept. | 1.500 s |  "
				   "|<!-- tracelet -->\n");
}

static void test_the_summary_of_azure_follows_no_link(void **state) {
	setenv("TF_BUILD", "True", 1);
	CLEANUP_FREE char *folder = memory_string(in_folder("."));
	CLEANUP_FREE char *target = memory_string(in_folder("target"));
	struct settings settings = {.output_dir = folder, .attachments = ATTACHMENTS_AUTO};
	assert_int_equal(symlink(target, in_folder("tracelet-summary.md")), 0);
	int commands = memfd_create("commands", MFD_CLOEXEC);
	struct captured captured = capture_begin();
	ci_publish(&settings, &(struct ci_test){.name = "x", .result = "failed"}, -1, commands);
	CLEANUP_FREE char *warning = capture_end(captured);
	CLEANUP_FREE char *text = text_of(commands);
	assert_string_equal(text, "");
	assert_non_null(strstr(warning, "cannot be written"));
	assert_int_not_equal(access(target, F_OK), 0);
}

static void test_gitlab_has_a_section_about_a_failed_test(void **state) {
	setenv("GITLAB_CI", "true", 1);
	struct ci_test bad = {.name = "a", .result = "failed", .why = "For 1 s, it\033[0K slept."};
	struct published published = publish(ATTACHMENTS_AUTO, &bad);
	assert_non_null(strstr(published.commands, ":tracelet_why\r\033[0Kwhy: a\nFor 1 s, it"));
	assert_null(strstr(published.commands, "it\033"));
	published_free(&published);
	bad.shown = true;
	assert_published(ATTACHMENTS_AUTO, &bad, "", "");
	assert_published(ATTACHMENTS_NO, &bad, "", "");
}

static void test_no_attachments_means_nothing_at_all(void **state) {
	setenv("TF_BUILD", "True", 1);
	setenv("GITHUB_STEP_SUMMARY", in_folder("summary"), 1);
	assert_published(ATTACHMENTS_NO, &failed, "", "");
	assert_int_equal(folder_entries(), 0);
}

// ---- GitHub ----

#define HEAD "\n| test | result | time | artifacts |\n|---|---|---|---|\n"
#define ROW                                                                                                  \
	"| a test | :x: failed: exit status 1 | 1.500 s | /tmp/out/a.pb (2.50 kB), /tmp/out/a.svg |<!-- "    \
	"tracelet -->\n"

static void publish_to_github(const struct ci_test *test) {
	setenv("GITHUB_STEP_SUMMARY", in_folder("summary"), 1);
	assert_published(ATTACHMENTS_AUTO, test, "", "");
}

static void test_github_has_a_table_with_a_row_for_each_test(void **state) {
	publish_to_github(&failed);
	publish_to_github(&failed);
	assert_file(in_folder("summary"), HEAD ROW ROW);
}

static void test_a_table_begins_anew_after_what_others_wrote(void **state) {
	put_file(in_folder("summary"), "# Mine\n", 7);
	publish_to_github(&failed);
	assert_file(in_folder("summary"), "# Mine\n" HEAD ROW);
}

static void test_a_name_stays_in_its_cell(void **state) {
	const struct manifest_artifact artifact = ARTIFACT("/tmp/[x](javascript:1)", 0);
	const struct ci_test hostile = {.name = "a | b\n<script>`*_",
					.result = "passed",
					.passed = true,
					.artifacts = &artifact,
					.artifact_count = 1};
	publish_to_github(&hostile);
	assert_file(in_folder("summary"),
		    HEAD "| a \\| b\\\\n\\<script\\>\\`\\*\\_ | :white_check_mark: passed | 0.000 s | "
			 "/tmp/\\[x\\](javascript:1) |<!-- tracelet -->\n");
}

static void test_a_summary_that_would_be_too_large_stays_as_it_is(void **state) {
	enum { LARGEST = 1 << 20 };
	char *full = memory_alloc(LARGEST);
	memset(full, 'x', LARGEST - 10);
	put_file(in_folder("summary"), full, LARGEST - 10);
	publish_to_github(&failed);
	assert_file(in_folder("summary"), full);
	free(full);
}

static void test_a_summary_that_cannot_be_written_is_a_warning(void **state) {
	setenv("GITHUB_STEP_SUMMARY", in_folder("no/such/folder"), 1);
	struct captured captured = capture_begin();
	assert_published(ATTACHMENTS_AUTO, &failed, "", "");
	CLEANUP_FREE char *said = capture_end(captured);
	assert_non_null(strstr(said, "GITHUB_STEP_SUMMARY"));
}

// ---- folding ----

static char *folded(const char *title) {
	int file = memfd_create("stdout", MFD_CLOEXEC), before;
	fflush(stdout);
	before = dup(STDOUT_FILENO);
	dup2(file, STDOUT_FILENO);
	ci_begin_fold(title);
	ci_end_fold();
	fflush(stdout);
	dup2(before, STDOUT_FILENO);
	close(before);
	return text_of(file);
}

static void assert_folded(const char *title, const char *text) {
	CLEANUP_FREE char *got = folded(title);
	assert_string_equal(got, text);
}

static void test_text_is_folded_as_each_ci_does_it(void **state) {
	assert_folded("one", "one\n");
	setenv("TF_BUILD", "True", 1);
	assert_folded("one", "##[group]one\n##[endgroup]\n");
	setenv("GITHUB_ACTIONS", "true", 1);
	assert_folded("one", "::group::one\n::endgroup::\n");
	setenv("GITLAB_CI", "true", 1);
	CLEANUP_FREE char *text = folded("one");
	assert_non_null(strstr(text, ":tracelet_case[collapsed=true]\r\033[0Kone\n"));
	assert_non_null(strstr(text, "\033[0Ksection_end:"));
}

static void test_a_title_cannot_begin_a_command(void **state) {
	setenv("GITHUB_ACTIONS", "true", 1);
	assert_folded("one\n::add-mask::x\033[2J", "::group::one\\n::add-mask::x\\x1b[2J\n::endgroup::\n");
}

#define IN_CI(test) cmocka_unit_test_setup_teardown(test, begin, folder_teardown)

int main(void) {
	const struct CMUnitTest tests[] = {
		IN_CI(test_lines_are_written_where_they_become_a_junit_file_that_is_read),
		IN_CI(test_each_artifact_is_a_line_of_its_own),
		IN_CI(test_without_artifacts_nothing_is_written),
		IN_CI(test_a_path_that_would_be_two_lines_is_left_out),
		IN_CI(test_a_relative_path_becomes_absolute),
		IN_CI(test_gitlab_wants_paths_from_its_project_on),
		IN_CI(test_azure_has_commands_of_its_own),
		IN_CI(test_azure_has_a_summary_of_failed_tests),
		IN_CI(test_the_summary_of_azure_follows_no_link),
		IN_CI(test_gitlab_has_a_section_about_a_failed_test),
		IN_CI(test_no_attachments_means_nothing_at_all),
		IN_CI(test_github_has_a_table_with_a_row_for_each_test),
		IN_CI(test_a_table_begins_anew_after_what_others_wrote),
		IN_CI(test_a_name_stays_in_its_cell),
		IN_CI(test_a_summary_that_would_be_too_large_stays_as_it_is),
		IN_CI(test_a_summary_that_cannot_be_written_is_a_warning),
		IN_CI(test_text_is_folded_as_each_ci_does_it),
		IN_CI(test_a_title_cannot_begin_a_command),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
