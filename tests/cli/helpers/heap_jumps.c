// A handler that jumps out of the allocator, whatever it was doing, as often as the first argument
// says and in as many threads as the second: the intercepting library must not hold anything then.
// It alternates between jumping far out and to the caller; with a third argument the handler has
// its own stack.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define APART __attribute__((noinline, noclone))

static __thread sigjmp_buf out;
static __thread volatile int left;
static void *volatile kept;
static int jumps, own_stack;

static void on_timer(int signal) {
	if (left > 0) {
		left--;
		siglongjmp(out, 1);
	}
}

APART static void work(int depth) {
	char pad[256];
	memset(pad, depth, sizeof(pad));
	kept = pad;
	if (depth) {
		work(depth - 1);
	} else {
		void *blocks[8];
		for (int i = 0; i < 8; i++)
			kept = blocks[i] = malloc(16 + (size_t)i);
		for (int i = 0; i < 8; i++)
			free(blocks[i]);
		kept = realloc(malloc(10), 40);
		free(kept);
	}
	kept = NULL;
}

static void *in_thread(void *nothing) {
	static __thread char other[1 << 16];
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
	struct itimerspec often = {{0, 70000}, {0, 70000}};
	timer_t timer;
	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (own_stack)
		sigaltstack(&(stack_t){.ss_sp = other, .ss_size = sizeof(other)}, NULL);
	left = jumps;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		exit(3);
	for (volatile int turn = 0; left > 0; turn++) {
		if (sigsetjmp(out, 1) == 0 && turn == 0)
			timer_settime(timer, 0, &often, NULL);
		for (int i = 0; left > 0; i++)
			work((turn + i) % 3);
	}
	timer_delete(timer);
	return nothing;
}

int main(int argc, char **argv) {
	pthread_t threads[8];
	int count = argc > 2 ? atoi(argv[2]) : 1;
	jumps = argc > 1 ? atoi(argv[1]) : 1000;
	own_stack = argc > 3;
	struct sigaction action = {.sa_handler = on_timer, .sa_flags = own_stack ? SA_ONSTACK : 0};
	sigaction(SIGALRM, &action, NULL);
	for (int i = 1; i < count && i < 8; i++)
		pthread_create(&threads[i], NULL, in_thread, NULL);
	in_thread(NULL);
	for (int i = 1; i < count && i < 8; i++)
		pthread_join(threads[i], NULL);
	puts("all jumps made");
	return 0;
}
