// The second run is a session like the first, in a child of the waiter: it cannot change
// the first run's status, and a signal that ends us ends it too.
#include "session/repro.h"
#include "artifact/artifact.h"
#include "base/file.h"
#include "base/log.h"
#include "process/user.h"
#include "session/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RICHER_FREQUENCY = 999 };

bool repro_wanted(const struct settings *settings, int status) {
	static const int others[] = {0, 125, 126, 127, 128 + SIGINT, 128 + SIGTERM, 128 + SIGHUP};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (status == others[i])
			return false;
	return settings->repro && !settings->is_repro && settings_enabled(settings);
}

// All sources, and what would cost too much in every test.
static struct settings richer(const struct settings *settings) {
	struct settings more = *settings;
	for (size_t i = 0; i < ARRAY_SIZE(more.without); i++)
		more.without[i] = false;
	more.hard_faults = false;
	more.sample = more.sample ? more.sample : RICHER_FREQUENCY;
	more.off_cpu = more.heap = true;
	more.timeout = more.repro_timeout > 0 ? more.repro_timeout : more.timeout;
	more.type = RECORD_TO_FILE;
	more.keep = more.keep == KEEP_NEVER ? KEEP_NEVER : KEEP_ALWAYS;
	more.cases = false;
	more.strict = false;
	more.attachments = ATTACHMENTS_NO;
	more.json = NULL;
	more.quiet = true;
	more.is_repro = true;
	return more;
}

// The first run's stem, or a similar one if it has none.
static char *first_stem(const struct settings *settings, const char *name, const struct tracer *tracer) {
	static const char extension[] = ".spool";
	size_t length = strlen(tracer->spool);
	char full_name[ARTIFACT_NAME_SIZE];
	if (length > sizeof(extension))
		return memory_format("%.*s", (int)(length - sizeof(extension) + 1), tracer->spool);
	artifact_variant_name(name, settings->variant, full_name);
	return artifact_base(settings->output_dir, full_name);
}

static void become_second(const struct settings *settings, const struct test *test, int output) {
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
	    dup2(output, STDERR_FILENO) < 0)
		_exit(126);
	sigaction(SIGCHLD, &test->child_before, NULL);
	sigprocmask(SIG_SETMASK, &test->mask_before, NULL);
	_exit(session_run(settings, NULL));
}

// Our signals stay blocked, as during the first run.
static int wait_for_second(const struct test *test, pid_t child) {
	int status = 0;
	while (waitpid(child, &status, WNOHANG) == 0) {
		int got = sigwaitinfo(&test->signals, NULL);
		if (got == SIGINT || got == SIGTERM || got == SIGHUP || got == SIGQUIT)
			kill(child, SIGTERM);
	}
	return test_shell_status(status);
}

void repro_run(const struct settings *settings, const char *name, const struct test *test,
	       const struct tracer *tracer) {
	struct settings more = richer(settings);
	CLEANUP_FREE char *stem = first_stem(settings, name, tracer);
	CLEANUP_FREE char *path = memory_format("%s.repro.log", stem);
	CLEANUP_FREE char *trace = memory_format("%s.repro.pb", stem);
	user_files_begin();
	user_make_folder(settings->output_dir);
	int output = file_create_private(path, O_WRONLY | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	int error = errno;
	user_files_end();
	if (output < 0) {
		log_warning("--repro: cannot run %s again: %s: %s", name, path, strerror(error));
		return;
	}
	more.repro_of = stem;
	more.repro_output = path;
	pid_t child = fork();
	if (child == 0)
		become_second(&more, test, output);
	close(output);
	int status = child < 0 ? -1 : wait_for_second(test, child);
	if (child < 0)
		log_warning("--repro: cannot run %s again: %s", name, strerror(errno));
	else if (!settings->quiet)
		log_warning("%s was run again and %s (exit status %d): %s", name,
			    status ? "failed again" : "passed this time", status,
			    access(trace, F_OK) == 0 ? trace : path);
	user_files_begin();
	if (settings->keep == KEEP_NEVER)
		unlink(path);
	user_files_end();
}
