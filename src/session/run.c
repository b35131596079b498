// Three processes: this one waits; the test is its child, exactly as a shell
// would have it; the tracer is another child. The test begins when the tracer
// records it, and goes on when the tracer dies.
#include "session/run.h"
#include "base/log.h"
#include "capture/marker/marker.h"
#include "session/artifact.h"
#include "session/descriptors.h"
#include "session/heap.h"
#include "session/repro.h"
#include "session/test.h"
#include "session/timeout.h"
#include "session/tracer.h"

#include <errno.h>
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

static double cpu_seconds(const struct rusage *usage) {
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

const char *session_test_name(const struct settings *settings, char name[ARTIFACT_NAME_SIZE]) {
	const char *slash = strrchr(settings->command[0], '/');
	artifact_safe_name(settings->name      ? settings->name
			   : slash && slash[1] ? slash + 1
					       : settings->command[0],
			   name);
	return name;
}

// Waits for the test and, if asked, for all it has started; ends them when the time is over.
static void wait_for_end(const struct settings *settings, const char *name, struct test *test,
			 const struct tracer *tracer, const struct tree *tree, const struct timespec *begin,
			 struct test_end *end) {
	struct rusage usage = {0};
	bool ended = test_wait(test, settings->timeout, &end->wait_status, &usage);
	end->wall_seconds = seconds_since(begin);
	bool all_ended = ended;
	if (ended && settings->wait_tree >= 0) {
		double left = settings->timeout > 0 ? MAX(settings->timeout - end->wall_seconds, 1e-9) : 0;
		bool limited = left > 0 && (settings->wait_tree == 0 || left < settings->wait_tree);
		all_ended = test_wait_tree(test, limited ? left : settings->wait_tree, tracer->pid);
		if (!all_ended && !(limited && seconds_since(begin) >= settings->timeout)) {
			log_warning(
				"processes of the test are still running; the trace ends here (--wait-tree)");
			all_ended = true; // as far as we wait
		}
	}
	if (!all_ended) {
		timeout_end_test(settings, name, test, tracer, tree, ended, end, &usage);
		end->wall_seconds = seconds_since(begin);
	}
	end->cpu_seconds = cpu_seconds(&usage);
}

// The test is there and waits; the tracer is there or is not.
static int run_prepared(const struct settings *settings, const char *name, struct test *test,
			struct tracer *tracer, const struct tree *tree) {
	bool recording = tracer_attach(tracer, test->pid);
	if (!recording && settings->strict && settings_enabled(settings)) {
		kill(test->pid, SIGKILL);
		tracer_cancel(tracer);
		log_error("--strict: the test was not run");
		return STATUS_NO_TRACE;
	}
	struct test_end end = {0};
	struct timespec begin;
	clock_gettime(CLOCK_REALTIME, &end.started);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	int error = test_begin(test);
	if (error) {
		tracer_cancel(tracer);
		return test_say_not_started(settings->command[0], error);
	}
	wait_for_end(settings, name, test, tracer, tree, &begin, &end);
	if (!tracer_finish(tracer, &end) && recording)
		log_warning("the tracer died; what it recorded: tracelet convert %s out.pb", tracer->spool);
	if (tracer->leaked && settings->fail_on_leak && !end.timed_out && !end.wait_status)
		return STATUS_LEAK;
	return end.timed_out ? settings->timeout_status : test_shell_status(end.wait_status);
}

// Not wanted: the test takes our place, as if we had never been.
static int run_plainly(char **command) {
	execvp(command[0], command);
	return test_say_not_started(command[0], errno);
}

// The test finds the tracer's memory for marks by this variable, and inherits no descriptor.
static void tell_test_of_marks(int marks, pid_t tracer) {
	char marks_name[MARKER_NAME_SIZE];
	if (marks < 0)
		return;
	marker_name(marks, marker_holder(marks, tracer), marks_name);
	if (tracer > 0)
		setenv("TRACELET_MARKS", marks_name, 1);
	close(marks);
}

// The test loads our library, which finds the tracer's memory by a variable as marks do.
static void tell_test_of_heap(int heap, pid_t tracer, struct preload *preload) {
	if (heap < 0)
		return;
	CLEANUP_FREE char *name = memory_format("/proc/%d/fd/%d", (int)marker_holder(heap, tracer), heap);
	if (tracer > 0 && preload_begin(preload, HEAP_LIBRARY))
		setenv(HEAP_VARIABLE, name, 1);
	close(heap);
}

// Forks the process that becomes the test, with what it is to find in its environment.
static int prepare_test(const struct settings *settings, struct test *test, const struct tracer *tracer,
			int marks, int heap) {
	struct preload preload = {0};
	tell_test_of_marks(marks, tracer->pid);
	tell_test_of_heap(heap, tracer->pid, &preload);
	int error = test_prepare(test, settings->command, settings->timeout > 0);
	preload_end(&preload);
	unsetenv(HEAP_VARIABLE);
	return error;
}

int session_run(const struct settings *settings) {
	char name[ARTIFACT_NAME_SIZE];
	if (!settings_enabled(settings) && settings->timeout <= 0)
		return run_plainly(settings->command);
	struct tracer tracer = {.pid = -1, .socket = -1};
	struct test test;
	struct tree tree = {.tracer = -1};
	descriptors_fill_gaps();
	if (settings->timeout > 0)
		tree_begin(&tree);
	// Orphans of a stranger would come to us as well, and nobody could tell them from the test's.
	bool adopts = settings->wait_tree >= 0 || (settings->timeout > 0 && !tree.strangers.list.count);
	if (adopts)
		test_adopt_orphans();
	int marks = settings_enabled(settings) ? marker_create() : -1;
	int heap = settings_enabled(settings) && settings_heap(settings)
			   ? heap_create(&(struct heap_options){.sample = settings->heap_sample,
								.children = settings->heap_children,
								.usable = settings->heap_usable})
			   : -1;
	int error = settings_enabled(settings)
			    ? tracer_spawn(&tracer, settings, session_test_name(settings, name), marks, heap)
			    : 0;
	if (error)
		log_warning("no trace: cannot start the tracer: %s", strerror(-error));
	error = prepare_test(settings, &test, &tracer, marks, heap);
	if (error) {
		tracer_cancel(&tracer);
		return test_say_not_started(settings->command[0], -error);
	}
	tree.tracer = test.other = tracer.pid;
	test.adopts = adopts;
	descriptors_give_up((int[]){tracer.socket, test.gate, test.exec_error}, 3);
	int status = run_prepared(settings, session_test_name(settings, name), &test, &tracer, &tree);
	tree_free(&tree);
	if (repro_wanted(settings, status))
		repro_run(settings, name, &test, &tracer);
	return status;
}
