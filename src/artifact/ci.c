#include "artifact/ci.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

static bool is_set(const char *variable) {
	const char *value = system_variable(variable);
	return value && *value;
}

// ---- where what is read ----

// These put what a test prints into a JUnit file, test by test ...
static const char *const junit_runners[] = {"NEXTEST_EXECUTION_MODE"};
// ... and these look for attachments in such files.
static const char *const junit_readers[] = {"JENKINS_URL", "GITLAB_CI", "TF_BUILD"};

static bool any_set(const char *const *variables, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (is_set(variables[i]))
			return true;
	return false;
}

bool ci_wants_lines(const struct settings *settings) {
	return settings->attachments == ATTACHMENTS_YES ||
	       (settings->attachments == ATTACHMENTS_AUTO &&
		any_set(junit_runners, ARRAY_SIZE(junit_runners)) &&
		any_set(junit_readers, ARRAY_SIZE(junit_readers)));
}

// ---- paths ----

static char *absolute_path(const char *path) {
	char *absolute = system_absolute(path);
	return absolute ? absolute : memory_string(path);
}

bool ci_fits_a_line(const char *path) {
	return !strpbrk(path, "\r\n");
}

char *ci_artifact_path(const char *path) {
	char *absolute = absolute_path(path);
	const char *project = is_set("GITLAB_CI") ? system_variable("CI_PROJECT_DIR") : NULL;
	if (!project || !*project)
		return absolute;
	CLEANUP_FREE char *folder = absolute_path(project);
	size_t length = strlen(folder);
	if (strncmp(absolute, folder, length) == 0 && absolute[length] == '/')
		memmove(absolute, absolute + length + 1, strlen(absolute + length + 1) + 1);
	return absolute;
}

// ---- a table in Markdown: GitHub's summary of the step, and Azure's of the run ----

enum { LARGEST_SUMMARY = 1 << 20 }; // GitHub refuses a larger one whole

static const char table_mark[] = "<!-- tracelet -->";
static const char table_head[] = "\n| test | result | time | artifacts |\n|---|---|---|---|\n";

// Text for a cell: what would end the cell or begin something else is made harmless.
static void add_cell(struct buffer *row, const char *text) {
	CLEANUP_FREE char *plain = text_plain_copy(text);
	for (const char *at = plain; *at; at++) {
		if (strchr("|\\`*_<>[]~&#!", *at))
			buffer_append(row, "\\", 1);
		buffer_append(row, at, 1);
	}
}

static void add_row(const struct ci_test *test, struct buffer *row) {
	char size[16];
	buffer_printf(row, "| ");
	add_cell(row, test->name);
	buffer_printf(row, " | %s ", test->passed ? ":white_check_mark:" : ":x:");
	add_cell(row, test->result);
	if (test->why) {
		buffer_printf(row, "<br>");
		add_cell(row, test->why);
	}
	buffer_printf(row, " | %.3f s | ", test->seconds);
	for (size_t i = 0; i < test->artifact_count; i++) {
		if (i)
			buffer_printf(row, ", ");
		add_cell(row, test->artifacts[i].path);
		if (test->artifacts[i].size)
			buffer_printf(row, " (%s)", file_size_words(test->artifacts[i].size, size));
	}
	buffer_printf(row, " |%s\n", table_mark);
}

// Whether the file ends with a row of ours, which the next one can join.
static bool ends_with_row(int fd, off_t size) {
	char end[sizeof(table_mark)];
	size_t length = sizeof(table_mark); // the mark and the end of the line
	return size >= (off_t)length && lseek(fd, -(off_t)length, SEEK_END) >= 0 &&
	       read(fd, end, (unsigned)length) == (ssize_t)length &&
	       memcmp(end, table_mark, length - 1) == 0 && end[length - 1] == '\n';
}

// Closes the descriptor.
static int append_row(int fd, const struct buffer *row) {
	if (fd < 0)
		return -errno;
	struct stat before;
	int error = system_lock(fd) || fstat(fd, &before) ? -errno : 0;
	if (!error && before.st_size + (off_t)(row->size + sizeof(table_head)) <= LARGEST_SUMMARY) {
		struct buffer text = {0};
		if (!ends_with_row(fd, before.st_size))
			buffer_append(&text, table_head, sizeof(table_head) - 1);
		buffer_append(&text, row->data, row->size);
		error = file_write_all(fd, text.data, text.size);
		if (error && system_truncate(fd, (uint64_t)before.st_size))
			error = -errno;
		buffer_free(&text);
	}
	close(fd);
	return error;
}

static void report_to_github(const struct ci_test *test) {
	if (!is_set("GITHUB_STEP_SUMMARY"))
		return;
	const char *path = system_variable("GITHUB_STEP_SUMMARY");
	struct buffer row = {0};
	add_row(test, &row);
	int error = append_row(system_open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666), &row);
	if (error)
		log_warning("GITHUB_STEP_SUMMARY: %s: cannot be written: %s", path, strerror(-error));
	buffer_free(&row);
}

// ---- Azure ----

// Others may be able to write to the directory: a link or a device of that name is none of ours.
static int open_summary(const char *path) {
	struct stat status;
	if (system_link_stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	return file_create_private(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

// Azure reads the file when it sees the command. A file of the same name replaces the one before, so all
// failed tests are in one table.
static void add_azure_summary(const char *folder, const struct ci_test *test, struct buffer *text) {
	CLEANUP_FREE char *path = memory_format("%s/tracelet-summary.md", folder);
	struct buffer row = {0};
	add_row(test, &row);
	int error = append_row(open_summary(path), &row);
	CLEANUP_FREE char *absolute = absolute_path(path);
	if (error)
		log_warning("%s: cannot be written: %s", path, strerror(-error));
	else if (ci_fits_a_line(absolute))
		buffer_printf(text, "##vso[task.uploadsummary]%s\n", absolute);
	buffer_free(&row);
}

static void report_to_azure(const char *folder, const struct ci_test *test, struct buffer *text) {
	if (!is_set("TF_BUILD"))
		return;
	if (!test->passed && folder)
		add_azure_summary(folder, test, text);
	for (size_t i = 0; i < test->artifact_count; i++) {
		CLEANUP_FREE char *path = absolute_path(test->artifacts[i].path);
		if (ci_fits_a_line(path))
			buffer_printf(
				text,
				"##vso[artifact.upload containerfolder=tracelet;artifactname=tracelet]%s\n",
				path);
	}
}

// ---- GitLab: a section of the job's log ----

static void report_to_gitlab(const struct ci_test *test, struct buffer *text) {
	if (!is_set("GITLAB_CI") || test->passed || !test->why || test->shown)
		return;
	long long now = time(NULL);
	buffer_printf(text, "\033[0Ksection_start:%lld:tracelet_why\r\033[0K", now);
	text_append_line(text, "why: %s", test->name);
	text_append_line(text, "%s", test->why);
	buffer_printf(text, "\033[0Ksection_end:%lld:tracelet_why\r\033[0K\n", now);
}

// ---- all of them ----

void ci_publish(const struct settings *settings, const struct ci_test *test, int lines, int commands) {
	struct buffer text = {0};
	if (settings->attachments == ATTACHMENTS_NO)
		return;
	if (ci_wants_lines(settings) && lines >= 0) {
		// The test may have ended in the middle of a line.
		if (test->artifact_count)
			buffer_printf(&text, "\n");
		for (size_t i = 0; i < test->artifact_count; i++) {
			CLEANUP_FREE char *path = ci_artifact_path(test->artifacts[i].path);
			if (ci_fits_a_line(path))
				buffer_printf(&text, "[[ATTACHMENT|%s]]\n", path);
		}
		file_write_all(lines, text.data, text.size);
	}
	text.size = 0;
	report_to_azure(settings->output_dir, test, &text);
	report_to_gitlab(test, &text);
	file_write_all(commands, text.data, text.size);
	buffer_free(&text);
	report_to_github(test);
}

// ---- folding ----

void ci_begin_fold(const char *title) {
	if (is_set("GITLAB_CI"))
		printf("\033[0Ksection_start:%lld:tracelet_case[collapsed=true]\r\033[0K",
		       (long long)time(NULL));
	else if (is_set("GITHUB_ACTIONS"))
		printf("::group::");
	else if (is_set("TF_BUILD"))
		printf("##[group]");
	text_line(stdout, "%s", title);
}

void ci_end_fold(void) {
	if (is_set("GITLAB_CI"))
		printf("\033[0Ksection_end:%lld:tracelet_case\r\033[0K\n", (long long)time(NULL));
	else if (is_set("GITHUB_ACTIONS"))
		printf("::endgroup::\n");
	else if (is_set("TF_BUILD"))
		printf("##[endgroup]\n");
}
