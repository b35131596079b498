// tracelet-stacks: a program of its own, because an unwinder reads whatever is in
// a process gone wrong and may hang or crash on it, and because libdw is too large
// to be loaded at every start of tracelet. Each process is looked at by a child
// that is killed when it takes too long.
#include "base/memory.h"
#include "symbol/crash_stacks.h"
#include "symbol/frames.h"
#include "symbol/process_stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEAST_SECONDS 0.25 // less is not worth beginning

static double now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// What /proc alone tells, where the unwinder did not get through.
static void print_the_rest(pid_t pid, const char *why) {
	printf("  no more frames: %s. All threads without frames:\n", why);
	process_print_threads(stdout, pid);
}

static void wait_for(pid_t child, pid_t pid, double seconds) {
	sigset_t child_ends;
	sigemptyset(&child_ends);
	sigaddset(&child_ends, SIGCHLD);
	double deadline = now() + seconds;
	int status = 0;
	while (child > 0 && waitpid(child, &status, WNOHANG) == 0) {
		double left = deadline - now();
		if (left <= 0) {
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
			print_the_rest(pid, "this took too long");
			return;
		}
		struct timespec limit = {.tv_sec = (time_t)left,
					 .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};
		sigtimedwait(&child_ends, NULL, &limit);
	}
	if (child < 0)
		print_the_rest(pid, strerror(errno));
	else if (WIFSIGNALED(status))
		print_the_rest(pid, strsignal(WTERMSIG(status)));
}

// In a child; what that learns of frames is for those after it. The pipe is not waited for: what
// it cannot hold is lost.
static void print_aside(pid_t pid, double seconds) {
	int ends[2];
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
		print_the_rest(pid, strerror(errno));
		return;
	}
	fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		process_print(stdout, pid);
		fflush(stdout);
		frames_send(ends[1]);
		_exit(0);
	}
	wait_for(child, pid, seconds);
	frames_receive(ends[0]);
	close(ends[0]);
	close(ends[1]);
}

// tracelet-stacks SECONDS PID...: the stacks of these processes, on stdout.
// tracelet-stacks --crashes: those of crash records on stdin.
int main(int argc, char **argv) {
	unsetenv("DEBUGINFOD_URLS"); // no waiting for a network
	if (argc == 2 && strcmp(argv[1], "--crashes") == 0) {
		crash_stacks_print(stdin, stdout);
		return 0;
	}
	if (argc < 3) {
		fprintf(stderr, "usage: tracelet-stacks SECONDS PID... | --crashes\n");
		return 2;
	}
	sigset_t blocked;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	double deadline = now() + strtod(argv[1], NULL);
	for (int i = 2; i < argc; i++) {
		pid_t pid = (pid_t)strtol(argv[i], NULL, 10);
		process_print_name(stdout, pid);
		// One that hangs must not take the time of all.
		double left = deadline - now();
		if (left > LEAST_SECONDS)
			print_aside(pid, argc - i > 1 ? MAX(left / 2, LEAST_SECONDS) : left);
		else
			print_the_rest(pid, "there was no time left");
		fflush(stdout);
	}
	return 0;
}
