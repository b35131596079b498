// A small tree of processes and threads with a known story, for a test to find it in a trace. It
// prints "NAME ID" for each of its tasks.
//
//   burner      a thread that keeps a CPU busy for 50 ms of CPU time and ends
//   sleeper     a thread that waits on a pipe until the main thread writes: woken by it
//   early       a thread that sets its name and ends immediately
//   leaver      a child process that ends with status 42
//   killed      a child process that kills itself with SIGTERM
//   detached    forked twice, in its own session, without its parent; ends before the main thread
//   executed    a child process that executes `/bin/sh -c "exit 9" family-argument`
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int letter[2];
static _Atomic pid_t sleeper_id;

static void introduce(const char *name) {
	prctl(PR_SET_NAME, name);
	dprintf(STDOUT_FILENO, "%s %d\n", name, (int)gettid());
}

static void *burn(void *unused) {
	introduce("burner");
	struct timespec used;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	while (used.tv_sec == 0 && used.tv_nsec < 50000000);
	return unused;
}

static void *sleep_until_written(void *unused) {
	char byte;
	introduce("sleeper");
	sleeper_id = gettid();
	if (read(letter[0], &byte, 1) != 1)
		abort();
	return unused;
}

static void *end_at_once(void *unused) {
	introduce("early");
	return unused;
}

// Started, and asleep in its read: known from /proc, not guessed from the time.
static void wait_until_asleep(void) {
	struct timespec moment = {.tv_nsec = 1000000};
	char path[64], name[17] = "", state = 0;
	while (state != 'S' || strcmp(name, "sleeper") != 0) {
		nanosleep(&moment, NULL);
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)sleeper_id);
		FILE *file = fopen(path, "re");
		if (file && fscanf(file, "%*d (%16[^)]) %c", name, &state) != 2)
			state = 0;
		if (file)
			fclose(file);
	}
}

static void leave(void) {
	introduce("leaver");
	_exit(42);
}

static void be_killed(void) {
	introduce("killed");
	kill(getpid(), SIGTERM);
}

static void detach(void) {
	setsid();
	if (fork() == 0) {
		introduce("detached");
		while (getppid() == getpgrp()) // until the process in between has ended
			usleep(1000);
	}
	_exit(0);
}

static void execute(void) {
	introduce("executed");
	execl("/bin/sh", "sh", "-c", "exit 9", "family-argument", (char *)NULL);
}

static void in_child(void (*story)(void)) {
	pid_t child = fork();
	if (child == 0) {
		story();
		_exit(1);
	}
	waitpid(child, NULL, 0);
}

int main(void) {
	pthread_t burner, sleeper, early;
	int until_detached_ends[2];
	if (pipe2(letter, 0))
		return 1;
	introduce("family");
	pthread_create(&early, NULL, end_at_once, NULL);
	pthread_join(early, NULL);
	pthread_create(&sleeper, NULL, sleep_until_written, NULL);
	wait_until_asleep();
	if (write(letter[1], "", 1) != 1)
		return 1;
	pthread_join(sleeper, NULL);
	in_child(leave);
	in_child(be_killed);
	in_child(execute);
	if (pipe2(until_detached_ends, 0))
		return 1;
	in_child(detach);
	close(until_detached_ends[1]);
	char byte;
	if (read(until_detached_ends[0], &byte, 1) != 0) // its end closes the last writer
		return 1;
	pthread_create(&burner, NULL, burn, NULL);
	pthread_join(burner, NULL);
	return 5;
}
