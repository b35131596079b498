// Each case of a test program, counted by itself: the program is run once for each, as `tracelet
// each` does, so that what one case counts does not depend on those before it. A case is counted
// in a child of ours, which gives up its descriptors for the test's sake and hands its part of the
// report back in a file in memory.
#include "base/log.h"
#include "session/cases.h"
#include "session/stat.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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

static int count_in_child(struct case_counting *all, const char *name, int report) {
	struct counting *counting = all->counting;
	struct stat_options options = *counting->options;
	struct words words = {0};
	prctl(PR_SET_PDEATHSIG, SIGTERM); // which is passed on to the test
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

static void append_report(struct buffer *report, int fd) {
	char piece[4096];
	ssize_t size;
	for (off_t at = 0; (size = pread(fd, piece, sizeof(piece), at)) > 0; at += size)
		buffer_append(report, piece, (size_t)size);
}

// False: something went wrong that would go wrong with all others, too.
static bool count_case(struct case_counting *all, const char *name) {
	int report = memfd_create("tracelet-case", MFD_CLOEXEC), status = 0;
	pid_t child = report < 0 ? -1 : fork();
	if (child < 0) {
		log_error("%s: cannot be counted: %s", name, strerror(errno));
		return false;
	}
	if (child == 0) {
		int result = count_in_child(all, name, report);
		fflush(NULL);
		_exit(result);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	append_report(&all->report, report);
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
		log_error("--per-test: %s is no test program whose cases are known ('tracelet each --help')",
			  command[0]);
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
