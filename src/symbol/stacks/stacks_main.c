// tracelet-stacks is a separate program because an unwinder reads the memory of a broken process, and may
// hang or crash on it. A child looks at each process and is killed if it takes too long.
#include "base/memory.h"
#include "symbol/confine.h"
#include "symbol/stacks/crash_stacks.h"
#include "symbol/stacks/frames.h"
#include "symbol/stacks/process_stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEAST_SECONDS 0.25 // with less, do not begin

static double now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// Prints what /proc shows, if the unwinder failed.
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

// In a child, which sends its cached frames to later ones. Writing to the pipe does not block: what does not
// fit is lost.
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
		confine_unwinder();
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

// tracelet-stacks SECONDS PID...: prints the stacks of these processes on stdout.
// tracelet-stacks --crashes: those of the crash records on stdin; --core: that of the core on stdin.
int main(int argc, char **argv) {
	unsetenv("DEBUGINFOD_URLS"); // never wait for a network
	bool core = argc == 2 && strcmp(argv[1], "--core") == 0;
	if (core || (argc == 2 && strcmp(argv[1], "--crashes") == 0)) {
		confine_unwinder();
		if (core)
			core_stack_print(STDIN_FILENO, stdout);
		else
			crash_stacks_print(stdin, stdout);
		fflush(stdout);
		_exit(0); // a sanitizer would start a process at the end
	}
	if (argc < 3) {
		fprintf(stderr, "usage: tracelet-stacks SECONDS PID... | --crashes | --core\n");
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
		// A process that hangs must not use up the time for all.
		double left = deadline - now();
		if (left > LEAST_SECONDS)
			print_aside(pid, argc - i > 1 ? MAX(left / 2, LEAST_SECONDS) : left);
		else
			print_the_rest(pid, "there was no time left");
		fflush(stdout);
	}
	return 0;
}
