// The test stays in our process group and session, so the terminal treats it as
// it would without us: Ctrl-C, Ctrl-\ and Ctrl-Z reach it from the kernel. Only
// signals that another process sends to us alone are passed on. All signals of
// interest are blocked and taken one at a time, so none arrives unnoticed.
#include "process/test.h"
#include "base/log.h"
#include "process/helpers.h"
#include "process/user.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int passed_on[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGTSTP,
				SIGCONT, SIGUSR1, SIGUSR2, SIGWINCH};

static void become_test(struct test *test, char **command, int gate, int report) {
	char byte;
	ssize_t got;
	while ((got = read(gate, &byte, 1)) < 0 && errno == EINTR)
		;
	if (got != 1)
		_exit(126); // the waiter is gone: no one to report to
	sigaction(SIGCHLD, &test->child_before, NULL);
	sigprocmask(SIG_SETMASK, &test->mask_before, NULL);
	int error = -user_become_test();
	if (!error) {
		execvp(command[0], command);
		error = errno;
	}
	if (write(report, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(error == ENOENT ? 127 : 126);
}

int test_prepare(struct test *test, char **command, bool observable) {
	int gate[2] = {-1, -1}, report[2] = {-1, -1};
	*test = (struct test){.pid = -1, .gate = -1, .exec_error = -1};
	sigemptyset(&test->signals);
	sigaddset(&test->signals, SIGCHLD);
	for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++)
		sigaddset(&test->signals, passed_on[i]);
	sigprocmask(SIG_BLOCK, &test->signals, &test->mask_before);
	// If it is ignored, there is nothing to wait for.
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &test->child_before);
	if (pipe2(gate, O_CLOEXEC) == 0 && pipe2(report, O_CLOEXEC) == 0)
		test->pid = fork();
	if (test->pid == 0) {
		close(gate[1]);
		close(report[0]);
		if (observable)
			prctl(PR_SET_PTRACER, getppid(), 0, 0, 0);
		become_test(test, command, gate[0], report[1]);
	}
	int error = test->pid < 0 ? -errno : 0;
	if (gate[0] >= 0)
		close(gate[0]);
	if (report[1] >= 0)
		close(report[1]);
	test->gate = gate[1];
	test->exec_error = report[0];
	return error;
}

void test_unprepare(const struct test *test) {
	sigaction(SIGCHLD, &test->child_before, NULL);
	sigprocmask(SIG_SETMASK, &test->mask_before, NULL);
}

int test_begin(struct test *test) {
	int error = 0;
	ssize_t got = write(test->gate, "", 1); // if it was killed at the gate, the wait reports it
	close(test->gate);
	while ((got = read(test->exec_error, &error, sizeof(error))) < 0 && errno == EINTR)
		;
	close(test->exec_error);
	return got == (ssize_t)sizeof(error) ? error : 0;
}

// A test that the terminal stopped stops us too, so that the shell sees its job
// stopped. Some programs clean up on Ctrl-Z and then stop themselves with SIGSTOP; any
// other SIGSTOP concerns only its sender and the test. Without a terminal nothing would
// continue us.
static void stop_with_test(struct test *test) {
	int terminal = test->stopped && test->stop_typed ? open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY)
							 : -1;
	if (terminal < 0)
		return;
	close(terminal);
	raise(SIGSTOP);
	test->stopped = test->stop_typed = false;
	// `fg` continued the test as well, and it should see that only once. A process that
	// continued only us meant the test.
	sigset_t continued;
	siginfo_t change = {0};
	sigemptyset(&continued);
	sigaddset(&continued, SIGCONT);
	sigtimedwait(&continued, NULL, &(struct timespec){0});
	if (waitid(P_PID, (id_t)test->pid, &change, WCONTINUED | WNOHANG) == 0 && change.si_pid == 0)
		kill(test->pid, SIGCONT);
}

static void note_change(struct test *test, int status) {
	int signal = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
	test->stopped = WIFSTOPPED(status);
	test->stop_typed = test->stopped &&
			   (test->stop_typed || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU);
}

static void pass_on(struct test *test, const siginfo_t *signal) {
	if (test->over)
		return;
	// From the kernel: the terminal sent it to the test as well.
	if (signal->si_code <= 0)
		kill(test->pid, signal->si_signo);
	else if (signal->si_signo == SIGTSTP)
		test->stop_typed = true;
}

double seconds_now(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct timespec time_of(double seconds) {
	return (struct timespec){.tv_sec = (time_t)seconds,
				 .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
}

void test_wait_signal(struct test *test, double seconds) {
	siginfo_t signal;
	struct timespec limit = time_of(MAX(seconds, 0));
	int got = seconds < 0 ? sigwaitinfo(&test->signals, &signal)
			      : sigtimedwait(&test->signals, &signal, &limit);
	if (got > 0 && got != SIGCHLD)
		pass_on(test, &signal);
}

bool test_has_ended(struct test *test, int *wait_status, struct rusage *usage) {
	int status;
	siginfo_t end = {0};
	if (waitid(P_PID, (id_t)test->pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid == test->pid)
		control_group_names(test->pid, test->groups);
	while (wait4(test->pid, &status, WNOHANG | WUNTRACED | WCONTINUED, usage) == test->pid) {
		if (!WIFSTOPPED(status) && !WIFCONTINUED(status)) {
			*wait_status = status;
			test->over = true;
			return true;
		}
		note_change(test, status);
	}
	stop_with_test(test);
	return false;
}

bool test_wait(struct test *test, double seconds, int *wait_status, struct rusage *usage) {
	double before = seconds_now(), deadline = before + seconds;
	while (!test_has_ended(test, wait_status, usage)) {
		deadline += seconds_now() - before; // while we and the test were stopped
		if (seconds > 0 && seconds_now() >= deadline)
			return false;
		test_reap_orphans(test);
		test_wait_signal(test, seconds > 0 ? MAX(deadline - seconds_now(), 0) : -1);
		before = seconds_now();
	}
	return true;
}

void test_adopt_orphans(void) {
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void test_forget_signals(const struct test *test) {
	while (sigtimedwait(&test->signals, NULL, &(struct timespec){0}) > 0)
		;
}

// Our children are the test, its orphans and `other`. Reaps the orphans that have ended.
static bool orphans_left(pid_t test, pid_t other) {
	CLEANUP_FREE char *path = memory_format("/proc/self/task/%d/children", (int)getpid());
	FILE *file = fopen(path, "re");
	bool left = false;
	int child;
	while (file && fscanf(file, "%d", &child) == 1) {
		siginfo_t ended = {0};
		if (child == other || child == test || waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG))
			continue;
		if (ended.si_pid)
			helper_remove(child);
		else
			left |= !helper_is(child);
	}
	if (file)
		fclose(file);
	return left;
}

void test_reap_orphans(const struct test *test) {
	if (test->adopts)
		orphans_left(test->pid, test->other);
}

bool test_wait_tree(struct test *test, double seconds, pid_t other) {
	double deadline = seconds_now() + seconds;
	while (orphans_left(-1, other)) {
		double left = seconds > 0 ? deadline - seconds_now() : 3600;
		if (left <= 0)
			return false;
		struct timespec limit = time_of(left);
		siginfo_t signal;
		if (sigtimedwait(&test->signals, &signal, &limit) > 0 && signal.si_signo != SIGCHLD &&
		    signal.si_signo != SIGCONT && signal.si_signo != SIGWINCH)
			return false; // we were asked to end
	}
	return true;
}

// ---- statuses ----

enum { STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };

int test_shell_status(int wait_status) {
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

// execvp() also fails with "permission denied" on a directory in PATH that it may not
// search; for a shell the command then simply does not exist.
static bool found_in_path(const char *command) {
	CLEANUP_FREE char *path = memory_string(getenv("PATH") ? getenv("PATH") : "");
	char *rest = path;
	bool found = strchr(command, '/');
	for (char *folder; !found && (folder = strsep(&rest, ":"));) {
		CLEANUP_FREE char *file = memory_format("%s/%s", *folder ? folder : ".", command);
		found = access(file, F_OK) == 0;
	}
	return found;
}

int test_say_not_started(const char *command, int error) {
	if (error == EACCES && !found_in_path(command))
		error = ENOENT;
	if (error == ENOENT)
		log_error("%s: command not found", command);
	else
		log_error("%s: cannot be executed: %s", command, strerror(error));
	return error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}
