// Three processes: this one waits; the test is its child, exactly as under a shell; the
// tracer is another child. The test starts when the tracer is recording it, and continues
// if the tracer dies.
#include "session/finish.h"
#include "session/run.h"
#include "artifact/artifact.h"
#include "base/log.h"
#include "capture/marker/holder.h"
#include "capture/marker/marker.h"
#include "heap/heap.h"
#include "process/descriptors.h"
#include "process/test.h"
#include "process/user.h"
#include "session/core.h"
#include "session/finish.h"
#include "session/recording_facts.h"
#include "session/repro.h"
#include "session/timeout.h"
#include "session/tracer.h"
#include "session/waiting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_LEAK = 4, STATUS_NO_TRACE = 125 };

static double seconds_since(const struct timespec *begin) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - begin->tv_sec) + (double)(now.tv_nsec - begin->tv_nsec) / 1e9;
}

const char *session_test_name(const struct settings *settings, char name[ARTIFACT_NAME_SIZE]) {
	CLEANUP_FREE char *wanted = session_true_name(settings);
	artifact_safe_name(wanted, name);
	return name;
}

struct wait {
	struct test *test;
	pid_t tracer;
	struct timespec begin;
	struct test_end *end;
	struct rusage usage;
};

static bool wait_for_test(void *context, double seconds) {
	struct wait *wait = context;
	return test_wait(wait->test, seconds, &wait->end->status, &wait->usage);
}

static bool wait_for_tree(void *context, double seconds) {
	struct wait *wait = context;
	return test_wait_tree(wait->test, seconds, wait->tracer);
}

static double elapsed(void *context) {
	return seconds_since(&((struct wait *)context)->begin);
}

// Waits for the test; on timeout, ends it and everything it started.
static void wait_for_end(const struct settings *settings, const char *name, const struct tracer *tracer,
			 const struct tree *tree, struct wait *wait) {
	struct waiting waiting = {
		.context = wait, .test = wait_for_test, .tree = wait_for_tree, .elapsed = elapsed};
	bool ended;
	if (!waiting_for_end(settings, &waiting, wait->end, &ended)) {
		timeout_end_test(settings, name, wait->test, tracer, tree, ended, wait->end, &wait->usage);
		wait->end->wall_seconds = elapsed(wait);
	}
	usage_put(wait->end, &wait->usage);
	snprintf(wait->end->groups, sizeof(wait->end->groups), "%s", wait->test->groups);
}

// Reports what became of a tracer that did not finish properly.
static void report_wait(const struct tracer *tracer, enum tracer_wait wait, bool recording) {
	if (wait == TRACER_DIED && recording)
		log_warning("the tracer died; to recover what it recorded: tracelet convert %s out.pb",
			    tracer->spool);
	else if (wait == TRACER_HANGS)
		log_warning("the tracer made no progress for %g s and was killed (--tracer-limit); to "
			    "recover what it recorded: tracelet convert %s out.pb",
			    tracer->patience, tracer->spool);
	else if (wait == TRACER_INTERRUPTED)
		log_warning("interrupted; finishing the trace in the background");
}

// Without a tracer, we report the files that were saved about the test.
static void report_files(const struct settings *settings, const char *name, const struct test_end *end) {
	struct finish finish;
	if (!*end->stacks && !*end->core)
		return;
	user_files_begin();
	finish_open(&finish, settings, name);
	facts_put_no_counts(&finish.record);
	finish_add_file(&finish, "stacks", end->stacks);
	finish_add_file(&finish, "core", end->core);
	finish_end(&finish, end);
	finish_note(&finish);
	finish_keep_limits(&finish);
	user_files_end();
	finish_report(&finish);
	finish_free(&finish);
}

// The test exists and waits; the tracer may be missing.
static int run_prepared(const struct settings *settings, const char *name, struct test *test,
			struct tracer *tracer, const struct tree *tree, const struct run_judge *judge) {
	bool recording = tracer_attach(tracer, test->pid);
	if (!recording && settings->strict && settings_enabled(settings)) {
		kill(test->pid, SIGKILL);
		tracer_cancel(tracer);
		log_error("--strict: the test was not run");
		return STATUS_NO_TRACE;
	}
	struct test_end end = {0};
	struct wait wait = {.test = test, .tracer = tracer->pid, .end = &end};
	clock_gettime(CLOCK_REALTIME, &end.started);
	clock_gettime(CLOCK_MONOTONIC, &wait.begin);
	int error = test_begin(test);
	if (error) {
		tracer_cancel(tracer);
		return test_say_not_started(settings->command[0], error);
	}
	wait_for_end(settings, name, tracer, tree, &wait);
	core_save(settings, name, test->pid, tracer, &end);
	test_forget_signals(test);
	if (judge && !end.timed_out)
		judge->judge(judge->context, test_shell_status(end.status), &end);
	if (tracer->pid > 0)
		report_wait(tracer, tracer_finish(tracer, &end), recording);
	else
		report_files(settings, name, &end);
	if (tracer->leaked && settings->fail_on_leak && !end.timed_out && !end.status)
		return STATUS_LEAK;
	return end.timed_out ? settings->timeout_status : test_shell_status(end.status);
}

// Not wanted or not possible: the test replaces this process, as if we had never been here.
static int run_plainly(char **command) {
	int error = -user_become_test();
	if (!error) {
		execvp(command[0], command);
		error = errno;
	}
	return test_say_not_started(command[0], error);
}

// The test finds the tracer's memory for marks through this variable and inherits no descriptor.
static void pass_marks_to_test(int marks, pid_t tracer) {
	char marks_name[MARKER_NAME_SIZE];
	if (marks < 0)
		return;
	marker_name(marks, marker_holder(marks, tracer), marks_name);
	if (tracer > 0)
		setenv("TRACELET_MARKS", marks_name, 1);
	close(marks);
}

// The test loads our library, which finds the tracer's memory through a variable, as for marks.
static void pass_heap_to_test(int heap, pid_t tracer, struct preload *preload) {
	if (heap < 0)
		return;
	CLEANUP_FREE char *name = memory_format("/proc/%d/fd/%d", (int)marker_holder(heap, tracer), heap);
	if (tracer > 0 && preload_begin(preload, HEAP_LIBRARY))
		setenv(HEAP_VARIABLE, name, 1);
	close(heap);
}

// Forks the process that becomes the test, and prepares its environment.
static int prepare_test(const struct settings *settings, struct test *test, const struct tracer *tracer,
			int marks, int heap) {
	struct preload preload = {0};
	pass_marks_to_test(marks, tracer->pid);
	pass_heap_to_test(heap, tracer->pid, &preload);
	core_allow(settings);
	int error = test_prepare(test, settings->command, settings->timeout > 0);
	core_allow_end(settings);
	preload_end(&preload);
	unsetenv(HEAP_VARIABLE);
	return error;
}

// The test comes first: if there is no room for a tracer beside it, it runs alone.
static int run_alone(const struct settings *settings) {
	if (settings->strict && settings_enabled(settings)) {
		log_error("--strict: the test was not run");
		return STATUS_NO_TRACE;
	}
	if (settings->timeout > 0)
		log_warning("running the test without a time limit");
	unsetenv("TRACELET_MARKS");
	return run_plainly(settings->command);
}

int session_run(const struct settings *settings, const struct run_judge *judge) {
	enum { DESCRIPTORS_NEEDED = 12 }; // of waiter and tracer; neither works with fewer
	char name[ARTIFACT_NAME_SIZE];
	if (!settings_enabled(settings) && settings->timeout <= 0 && !settings->core)
		return run_plainly(settings->command);
	if (!descriptors_can_open(DESCRIPTORS_NEEDED)) {
		log_warning("no trace: too few file descriptors left; raise the limit (ulimit -n)");
		return run_alone(settings);
	}
	struct tracer tracer = {.pid = -1, .socket = -1};
	struct test test;
	struct tree tree = {.tracer = -1};
	descriptors_fill_gaps();
	if (settings->timeout > 0)
		tree_begin(&tree);
	// Orphans of unrelated processes would come to us, too, indistinguishable from the test's.
	bool adopts = settings->wait_tree >= 0 || (settings->timeout > 0 && !tree.strangers.list.count);
	if (adopts)
		test_adopt_orphans();
	int marks = settings_enabled(settings) ? marker_create() : -1;
	int heap = settings_enabled(settings) && settings_heap(settings)
			   ? heap_create(&(struct heap_options){.sample = settings->heap_sample,
								.children = settings->heap_children,
								.usable = settings->heap_usable,
								.leaks = settings_leaks(settings)})
			   : -1;
	int error = settings_enabled(settings)
			    ? tracer_spawn(&tracer, settings, session_test_name(settings, name), marks, heap)
			    : 0;
	if (error)
		log_warning("no trace: cannot start the tracer: %s", strerror(-error));
	error = prepare_test(settings, &test, &tracer, marks, heap);
	if (error) {
		tracer_cancel(&tracer);
		tree_free(&tree);
		test_unprepare(&test);
		if (tracer.pid > 0)
			log_warning("no trace: cannot start the test next to the tracer: %s",
				    strerror(-error));
		return run_alone(settings);
	}
	tree.tracer = test.other = tracer.pid;
	test.adopts = adopts;
	descriptors_give_up((int[]){tracer.socket, test.gate, test.exec_error}, 3);
	int status = run_prepared(settings, session_test_name(settings, name), &test, &tracer, &tree, judge);
	tree_free(&tree);
	if (repro_wanted(settings, status))
		repro_run(settings, name, &test, &tracer);
	return status;
}
