// Counts each case of a test program separately: the program is run once for each, as in `tracelet
// each`, so that the counts of one case do not depend on the cases before it. A case is counted
// in a child process, which closes its descriptors for the test's sake and returns its part of the
// report in a memory file. Its output goes to temporary files first, because the framework's report in it
// says whether the case passed.
#include "base/file.h"
#include "base/log.h"
#include "stat/stat.h"
#include "suite/cases.h"
#include "suite/verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct case_counting {
	struct counting *counting;
	int (*count)(struct counting *counting);
	const struct framework *framework;
	struct buffer report;
	ARRAY(int) failed; // the status of each that did not pass
	bool checked;      // there is something to be checked, whose failure has a status of its own
	bool differs;
};

// Where a case writes, instead of standard output and standard error; NULL if there is no room.
struct case_streams {
	FILE *out, *err;
};

static bool open_streams(struct case_streams *streams) {
	*streams = (struct case_streams){tmpfile(), NULL};
	streams->err = streams->out ? tmpfile() : NULL;
	if (!streams->err)
		return false;
	fcntl(fileno(streams->out), F_SETFD, FD_CLOEXEC);
	fcntl(fileno(streams->err), F_SETFD, FD_CLOEXEC);
	return true;
}

// At most the last `most` bytes.
static void append_file(struct buffer *text, int fd, off_t most) {
	char piece[4096];
	ssize_t size;
	struct stat file = {0};
	fstat(fd, &file);
	for (off_t at = MAX(file.st_size - most, (off_t)0); (size = pread(fd, piece, sizeof(piece), at)) > 0;
	     at += size)
		buffer_append(text, piece, (size_t)size);
}

static void show_file(int from, int to) {
	char piece[1 << 14];
	ssize_t size;
	for (off_t at = 0; (size = pread(from, piece, sizeof(piece), at)) > 0; at += size)
		file_write_all(to, piece, (size_t)size);
}

static void close_streams(struct case_streams *streams) {
	if (streams->err) {
		show_file(fileno(streams->out), STDOUT_FILENO);
		show_file(fileno(streams->err), STDERR_FILENO);
		fclose(streams->err);
	}
	if (streams->out)
		fclose(streams->out);
}

int stat_judge_case(struct counting *counting, int status) {
	struct buffer text = {0};
	append_file(&text, counting->case_output[0], VERDICT_SEARCHED / 2);
	append_file(&text, counting->case_output[1], VERDICT_SEARCHED / 2);
	struct case_judgement judgement = case_judge_text(counting->case_rule, (const char *)text.data,
							  text.size, status);
	buffer_free(&text);
	if (judgement.words)
		snprintf(counting->case_result, sizeof(counting->case_result), "%s", judgement.words);
	else
		snprintf(counting->case_result, sizeof(counting->case_result), "failed: exit status %d",
			 status);
	return !judgement.failed ? 0 : status ? status : 1;
}

static int count_in_child(struct case_counting *all, const char *name, int report,
			  const struct case_streams *streams) {
	const struct case_rule rule = {.framework = all->framework, .name = name};
	struct counting *counting = all->counting;
	struct stat_options options = *counting->options;
	struct words words = {0};
	prctl(PR_SET_PDEATHSIG, SIGTERM); // which is passed on to the test
	dup2(fileno(streams->out), STDOUT_FILENO);
	dup2(fileno(streams->err), STDERR_FILENO);
	counting->case_output[0] = fileno(streams->out);
	counting->case_output[1] = fileno(streams->err);
	counting->case_rule = &rule;
	counting->program = options.command[0];
	case_command(all->framework, options.command, NULL, name, &words);
	options.command = words.items;
	options.output = NULL; // is the parent's
	counting->to_file = false;
	counting->options = &options;
	counting->test = name;
	counting->case_report = report;
	if (options.baseline) {
		stat_baseline_free(&counting->baseline);
		counting->baseline = (struct stat_baseline){0};
		if (stat_baseline_read(&counting->baseline, options.baseline, name))
			return STAT_USAGE;
	}
	return all->count(counting);
}

// False: something went wrong that would go wrong with all others, too.
static bool count_case(struct case_counting *all, const char *name) {
	int report = memfd_create("tracelet-case", MFD_CLOEXEC), status = 0;
	struct case_streams streams = {0};
	fflush(NULL);
	pid_t child = report < 0 || !open_streams(&streams) ? -1 : fork();
	if (child < 0) {
		log_error("%s: cannot be counted: %s", name, strerror(errno));
		close_streams(&streams);
		return false;
	}
	if (child == 0) {
		int result = count_in_child(all, name, report, &streams);
		fflush(NULL);
		_exit(result);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	close_streams(&streams);
	append_file(&all->report, report, INT64_MAX);
	close(report);
	int result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (result == STAT_DIFFERS && all->checked)
		all->differs = true;
	else if (result)
		array_push(&all->failed, result);
	return true;
}

static int list_cases(struct counting *counting, const struct framework **framework, struct cases *cases) {
	char **command = counting->options->command;
	*framework = framework_of(command);
	if (!*framework) {
		log_error("--per-test: %s: unknown test framework (see 'tracelet each --help')", command[0]);
		return STAT_USAGE;
	}
	int error = cases_list(*framework, command, cases);
	if (!error && cases->count)
		return 0;
	log_error("--per-test: %s does not list its cases%s%s", command[0], error < 0 ? ": " : "",
		  error < 0 ? strerror(-error) : "");
	return STAT_USAGE;
}

int stat_each_case(struct counting *counting, int (*count)(struct counting *counting)) {
	struct case_counting all = {.counting = counting, .count = count};
	struct cases cases = {0};
	int status = list_cases(counting, &all.framework, &cases);
	bool goes_on = !status;
	all.checked = counting->assertions.count || counting->options->baseline;
	for (size_t i = 0; goes_on && i < cases.count; i++)
		if (!cases.items[i].disabled)
			goes_on = count_case(&all, cases.items[i].name);
	if (!status) {
		int reported = stat_report_cases(counting, &all.report);
		status = all.failed.count
				 ? cases_exit_status(all.framework, all.failed.items, all.failed.count)
			 : all.differs ? STAT_DIFFERS
				       : reported;
	}
	cases_free(&cases);
	buffer_free(&all.report);
	array_free(&all.failed);
	return status;
}
