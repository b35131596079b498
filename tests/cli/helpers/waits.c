// Waits at the end of known call chains, without frame pointers: sleeping, for a lock, for a pipe,
// each for a time that is printed in milliseconds.
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define KEEP static __attribute__((noinline, noclone, noipa, optimize("no-optimize-sibling-calls")))

static volatile unsigned long sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int pipe_ends[2], locked[2];

static double now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

KEEP void nap(long milliseconds) {
	struct timespec time = {0, milliseconds * 1000000};
	nanosleep(&time, NULL);
	sum++;
}

KEEP void outer_sleep(void) {
	nap(200);
	sum++;
}

KEEP void wait_for_lock(void) {
	pthread_mutex_lock(&lock);
	sum++;
	pthread_mutex_unlock(&lock);
}

KEEP void wait_for_pipe(void) {
	char byte;
	sum += (unsigned long)read(pipe_ends[0], &byte, 1);
}

// Holds the lock for a while, then does nothing for a while.
static void *other(void *unused) {
	pthread_mutex_lock(&lock);
	sum += (unsigned long)write(locked[1], "x", 1);
	nap(120);
	pthread_mutex_unlock(&lock);
	sum += (unsigned long)read(locked[0], &(char){0}, 1);
	nap(80);
	sum += (unsigned long)write(pipe_ends[1], "x", 1);
	return unused;
}

static void timed(const char *name, void (*wait)(void)) {
	double begin = now();
	wait();
	printf("%s %.1f\n", name, now() - begin);
}

int main(void) {
	pthread_t thread;
	timed("outer_sleep", outer_sleep);
	if (pipe(pipe_ends) || pipe(locked) || pthread_create(&thread, NULL, other, NULL))
		return 1;
	sum += (unsigned long)read(locked[0], &(char){0}, 1);
	timed("wait_for_lock", wait_for_lock);
	sum += (unsigned long)write(locked[1], "x", 1);
	timed("wait_for_pipe", wait_for_pipe);
	pthread_join(thread, NULL);
	return 0;
}
