// tl_run() with the real program: what the result says, and what the call leaves alone.
#include "../unit/unit.h"

#include "tracelet/tracelet.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/tracelet-api.XXXXXX";

#define COMMAND(...) ((char **)(const char *[]){__VA_ARGS__, NULL})

static struct tl_run_opts into_folder(void) {
	struct tl_run_opts opts = TL_INIT(opts);
	opts.output_dir = folder;
	return opts;
}

static struct tl_run_result run(char **command) {
	struct tl_run_opts opts = into_folder();
	struct tl_run_result result = TL_INIT(result);
	assert_int_equal(tl_run(command, &opts, &result), 0);
	return result;
}

static void need_traces(void) {
	if (geteuid() != 0)
		skip();
}

static void test_a_result_has_the_trace_and_the_status(void **state) {
	need_traces();
	struct tl_run_result result = run(COMMAND("sh", "-c", "exit 3"));
	char message[1024];
	struct stat status;
	assert_int_equal(result.status, 3);
	assert_int_equal(result.exit_status, 3);
	assert_int_equal(result.signal, 0);
	assert_false(result.timed_out);
	assert_true(result.reported);
	assert_true(result.wall_seconds > 0);
	assert_true(result.events > 0);
	assert_int_equal(result.artifact_count, 1);
	assert_null(result.artifacts[1]);
	assert_string_equal(result.artifacts[0]->kind, "perfetto");
	assert_ptr_equal(result.trace, result.artifacts[0]->path);
	assert_int_equal(stat(result.trace, &status), 0);
	assert_int_equal(result.artifacts[0]->bytes, status.st_size);
	if (tl_trace_landed(result.trace, 0, message, sizeof(message)))
		fail_msg("%s", message);
	tl_run_free(&result);
	assert_int_equal(result.artifact_count, 0);
	tl_run_free(&result);
}

static void test_a_signal_is_distinguished_from_a_status(void **state) {
	struct tl_run_result result = run(COMMAND("sh", "-c", "kill -KILL $$"));
	assert_int_equal(result.signal, SIGKILL);
	assert_int_equal(result.exit_status, -1);
	assert_int_equal(result.status, 128 + SIGKILL);
	tl_run_free(&result);
}

static void test_a_time_limit_ends_a_command(void **state) {
	need_traces();
	struct tl_run_opts opts = into_folder();
	struct tl_run_result result = TL_INIT(result);
	opts.timeout = 0.2;
	assert_int_equal(tl_run(COMMAND("sleep", "100"), &opts, &result), 0);
	assert_true(result.timed_out);
	assert_int_equal(result.status, 124);
	bool stacks = false;
	for (size_t i = 0; i < result.artifact_count; i++)
		stacks |= strcmp(result.artifacts[i]->kind, "stacks") == 0;
	assert_true(stacks);
	assert_non_null(strstr(result.messages, "time limit"));
	tl_run_free(&result);
}

static void test_more_options_reach_the_program(void **state) {
	need_traces();
	struct tl_run_opts opts = into_folder();
	struct tl_run_result result = TL_INIT(result);
	opts.name = "named";
	opts.options = COMMAND("--keep-spool");
	assert_int_equal(tl_run(COMMAND("true"), &opts, &result), 0);
	assert_int_equal(result.artifact_count, 2);
	assert_non_null(strstr(result.artifacts[1]->path, "/named_"));
	assert_string_equal(result.artifacts[1]->kind, "spool");
	tl_run_free(&result);
}

static void test_what_makes_no_sense_is_refused(void **state) {
	struct tl_run_opts opts = into_folder();
	struct tl_run_result result = TL_INIT(result);
	struct tl_run_result small = {.size = sizeof(size_t)};
	char *nothing[] = {NULL};
	assert_int_equal(tl_run(nothing, &opts, &result), -EINVAL);
	assert_int_equal(tl_run(NULL, &opts, &result), -EINVAL);
	assert_int_equal(tl_run(COMMAND("true"), &opts, NULL), -EINVAL);
	assert_int_equal(tl_run(COMMAND("true"), &opts, &small), -EINVAL);
	opts.scope = "galaxy";
	assert_int_equal(tl_run(COMMAND("true"), &opts, &result), -EINVAL);
	assert_non_null(strstr(result.messages, "galaxy"));
	tl_run_free(&result);
}

static void test_a_command_sees_nothing_of_the_librarys(void **state) {
	struct tl_run_result result = run(COMMAND(
		"sh", "-c", "! ls -l /proc/self/fd | grep -q memfd: && [ -z \"${TRACELET_LOG_FD+set}\" ]"));
	assert_int_equal(result.status, 0);
	tl_run_free(&result);
}

static void test_a_command_that_is_not_there_has_a_shells_status(void **state) {
	struct tl_run_result result = run(COMMAND("/no/such/command"));
	assert_int_equal(result.status, 127);
	assert_false(result.reported);
	assert_non_null(strstr(result.messages, "/no/such/command"));
	tl_run_free(&result);
}

static void test_a_missing_program_is_an_error(void **state) {
	char *program = strdup(getenv("TRACELET"));
	struct tl_run_result result = TL_INIT(result);
	setenv("TRACELET", "/no/such/tracelet", 1);
	int error = tl_run(COMMAND("true"), NULL, &result);
	setenv("TRACELET", program, 1);
	free(program);
	assert_int_equal(error, -ENOENT);
	tl_run_free(&result);
}

static void test_switched_off_there_is_still_a_status(void **state) {
	setenv("TRACELET_ENABLED", "no", 1);
	struct tl_run_result result = run(COMMAND("sh", "-c", "exit 2"));
	unsetenv("TRACELET_ENABLED");
	assert_int_equal(result.exit_status, 2);
	assert_false(result.reported);
	assert_null(result.trace);
	tl_run_free(&result);
}

static void test_a_host_that_ignores_its_children_gets_the_record(void **state) {
	need_traces();
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	sigaction(SIGCHLD, &ignore, &before);
	struct tl_run_result result = run(COMMAND("sh", "-c", "exit 7"));
	sigaction(SIGCHLD, &before, NULL);
	assert_int_equal(result.exit_status, 7);
	tl_run_free(&result);
}

// ---- what stays as it was ----

struct surroundings {
	int descriptors;
	struct {
		int blocked, flags;
		void (*handler)(int);
	} signals[NSIG];
};

static void look(struct surroundings *now) {
	memset(now, 0, sizeof(*now));
	DIR *list = opendir("/proc/self/fd");
	while (readdir(list))
		now->descriptors++;
	closedir(list);
	sigset_t mask;
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	for (int signal = 1; signal < NSIG; signal++) {
		struct sigaction action = {0};
		sigaction(signal, NULL, &action);
		now->signals[signal].blocked = sigismember(&mask, signal);
		now->signals[signal].flags = action.sa_flags;
		now->signals[signal].handler = action.sa_handler;
	}
}

// What is written to standard output and error in the meantime.
static off_t written_by(void (*work)(void)) {
	int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3),
	    errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	assert_true(file >= 0 && output >= 0 && errors >= 0);
	fflush(stdout);
	dup2(file, STDOUT_FILENO);
	dup2(file, STDERR_FILENO);
	work();
	fflush(stdout);
	dup2(output, STDOUT_FILENO);
	dup2(errors, STDERR_FILENO);
	struct stat status;
	fstat(file, &status);
	close(file);
	close(output);
	close(errors);
	return status.st_size;
}

static void call_each(void) {
	char path[4096];
	struct tl_run_opts opts = into_folder();
	struct tl_session_opts session_opts = TL_INIT(session_opts);
	struct tl_check_result checked = TL_INIT(checked);
	static char *const commands[] = {(char *)"true", (char *)"false", (char *)"/no/such/command"};
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		struct tl_run_result result = TL_INIT(result);
		opts.timeout = (double)i; // also for warnings, if there are any
		tl_run(COMMAND(commands[i]), &opts, &result);
		tl_run_free(&result);
	}
	session_opts.output_dir = folder;
	tl_session_start("api-quiet", &session_opts);
	tl_session_stop("api-quiet", path, sizeof(path));
	tl_session_stop("api-quiet", path, sizeof(path));
	tl_session_active("api-quiet");
	tl_artifact_path("no-such-test", "perfetto", path, sizeof(path));
	tl_check_trace("/dev/null", NULL, &checked);
	tl_check_trace("/no/such/file", NULL, &checked);
	tl_trace_landed("/no/such/file", 0, NULL, 0);
}

static void test_calls_print_nothing_and_leave_the_process_as_it_was(void **state) {
	static struct surroundings before, after;
	setenv("TRACELET_PROFILE", "no-such-profile", 1); // causes a warning
	setenv("GITHUB_ACTIONS", "true", 1);
	setenv("TF_BUILD", "True", 1);
	look(&before);
	off_t written = written_by(call_each);
	look(&after);
	unsetenv("TRACELET_PROFILE");
	unsetenv("GITHUB_ACTIONS");
	unsetenv("TF_BUILD");
	assert_int_equal(written, 0);
	assert_int_equal(before.descriptors, after.descriptors);
	assert_memory_equal(&before, &after, sizeof(before));
}

static int make_folder(void **state) {
	unsetenv("CI"); // in CI, a passing test's trace is not kept
	return mkdtemp(folder) && chmod(folder, 0777) == 0 ? setenv("TRACELET_STATE_DIR", folder, 1) : -1;
}

static int remove_folder(void **state) {
	char *command[] = {(char *)"rm", (char *)"-rf", folder, NULL};
	struct tl_run_result result = TL_INIT(result);
	setenv("TRACELET_ENABLED", "no", 1);
	int error = tl_run(command, NULL, &result);
	int status = result.status;
	tl_run_free(&result);
	return error ? error : status;
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_result_has_the_trace_and_the_status),
		cmocka_unit_test(test_a_signal_is_distinguished_from_a_status),
		cmocka_unit_test(test_a_time_limit_ends_a_command),
		cmocka_unit_test(test_more_options_reach_the_program),
		cmocka_unit_test(test_what_makes_no_sense_is_refused),
		cmocka_unit_test(test_a_command_sees_nothing_of_the_librarys),
		cmocka_unit_test(test_a_command_that_is_not_there_has_a_shells_status),
		cmocka_unit_test(test_a_missing_program_is_an_error),
		cmocka_unit_test(test_switched_off_there_is_still_a_status),
		cmocka_unit_test(test_a_host_that_ignores_its_children_gets_the_record),
		cmocka_unit_test(test_calls_print_nothing_and_leave_the_process_as_it_was),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
