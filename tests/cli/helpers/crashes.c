// crashes HOW [thread|child]: crashes in this way, some calls deep, in the first thread, in another one, or
// in a child whose death does not matter.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int zero;
static int *volatile null;
static void (*volatile nowhere)(void);

static void handle(int signal) {
	(void)signal;
	_exit(12);
}

// Recursion without an end, of two functions. What follows the calls keeps them from being jumps.
static int odd(int depth);

__attribute__((noinline)) static int even(int depth) {
	volatile char room[300];
	room[depth % 300] = 1;
	return odd(depth + 1) + room[0];
}

__attribute__((noinline)) static int odd(int depth) {
	volatile char room[4500];
	room[depth % 300] = 1;
	return even(depth + 1) + room[0];
}

// Crashes below a frame that is larger than what is saved of a stack.
__attribute__((noinline)) static void below_large_frame(void) {
	volatile char room[200000];
	room[zero] = 1;
	*null = room[0];
}

__attribute__((noinline)) static void inner(const char *how) {
	if (strcmp(how, "segv") == 0)
		*null = 1;
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "fpe") == 0)
		zero = 100 / zero;
	if (strcmp(how, "ill") == 0)
		__builtin_trap();
	if (strcmp(how, "call") == 0)
		nowhere();
	if (strcmp(how, "kill") == 0)
		kill(getpid(), SIGSEGV);
	if (strcmp(how, "overflow") == 0)
		zero = even(0);
	if (strcmp(how, "large") == 0)
		below_large_frame();
	if (strcmp(how, "bus") == 0) {
		volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(tmpfile()), 0);
		zero = *page;
	}
	if (strcmp(how, "handled") == 0) {
		signal(SIGSEGV, handle);
		*null = 1;
	}
	__asm__ volatile("");
}

__attribute__((noinline)) static void middle(const char *how) {
	inner(how);
	__asm__ volatile("");
}

static void *in_thread(void *how) {
	prctl(PR_SET_NAME, "the-culprit");
	middle(how);
	return NULL;
}

int main(int count, char **words) {
	const char *where = count > 2 ? words[2] : "";
	if (strcmp(where, "thread") == 0) {
		pthread_t thread;
		pthread_create(&thread, NULL, in_thread, words[1]);
		pthread_join(thread, NULL);
	} else if (strcmp(where, "child") == 0) {
		pid_t child = fork();
		if (child)
			return waitpid(child, NULL, 0) == child ? 0 : 1;
		middle(words[1]);
	} else {
		middle(words[1]);
	}
	return 0;
}
