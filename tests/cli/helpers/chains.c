// Burns CPU at the end of known call chains, without frame pointers. The argument names the chain;
// a second one says how often.
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define KEEP static __attribute__((noinline, noclone, noipa, optimize("no-optimize-sibling-calls")))

static volatile unsigned long sum;

static double cpu_seconds(void) {
	struct timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

KEEP void burn(void) {
	double end = cpu_seconds() + 0.15;
	while (cpu_seconds() < end)
		for (int i = 0; i < 20000; i++)
			sum += (unsigned long)i * sum;
}

KEEP void recursion(int depth) {
	if (depth)
		recursion(depth - 1);
	else
		burn();
	sum++;
}

KEEP void large_frame(void) {
	char bytes[32 * 1024];
	memset(bytes, (int)sum, sizeof(bytes));
	burn();
	sum += (unsigned long)bytes[sum % sizeof(bytes)];
}

// Larger than the offsets of most unwinders' tables.
KEEP void huge_frame(void) {
	char bytes[600 * 1024];
	memset(bytes, (int)sum, sizeof(bytes));
	burn();
	sum += (unsigned long)bytes[sum % sizeof(bytes)];
}

static ucontext_t before, inside;

KEEP void in_coroutine(void) {
	burn();
	sum++;
}

KEEP void coroutine(void) {
	static char stack[64 * 1024];
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = sizeof(stack);
	inside.uc_link = &before;
	makecontext(&inside, in_coroutine, 0);
	swapcontext(&before, &inside);
	sum++;
}

KEEP void with_alloca(size_t size) {
	char *bytes = alloca(size);
	memset(bytes, 1, size);
	burn();
	sum += (unsigned long)bytes[size / 2];
}

KEEP void on_signal(int signal) {
	burn();
	sum++;
}

KEEP void raise_signal(void) {
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	sum++;
}

KEEP void *in_thread(void *unused) {
	burn();
	sum++;
	return unused;
}

KEEP void with_thread(void) {
	pthread_t thread;
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	sum++;
}

KEEP int compare(const void *a, const void *b) {
	burn();
	sum++;
	return 0;
}

KEEP void through_library(void) {
	int two[2] = {1, 2};
	qsort(two, 2, sizeof(*two), compare);
	sum++;
}

KEEP void without_exec(void) {
	if (fork() == 0) {
		burn();
		_exit(0);
	}
	wait(NULL);
	sum++;
}

// A tail call leaves no frame for the caller.
__attribute__((noinline, noclone, noipa)) static void tail_target(void) {
	burn();
	sum++;
}

__attribute__((noinline, noclone, noipa)) static void tail_call(void) {
	sum++;
	tail_target();
}

// The call is its last instruction: the return address belongs to another function.
__attribute__((noinline, noclone, noipa, noreturn)) static void never_returns(void) {
	burn();
	_exit(0);
}

__attribute__((noinline, noclone, noipa, noreturn)) static void ends_with_a_call(void) {
	sum++;
	never_returns();
}

KEEP void in_vdso(void) {
	double end = cpu_seconds() + 0.15;
	struct timespec time;
	while (cpu_seconds() < end)
		for (int i = 0; i < 2000; i++)
			clock_gettime(CLOCK_MONOTONIC, &time);
	sum++;
}

// Each call goes through the PLT, whose stub is as long as the function.
KEEP void through_plt(void) {
	double end = cpu_seconds() + 0.15;
	while (cpu_seconds() < end)
		for (int i = 0; i < 2000; i++)
			sum += (unsigned long)ffs((int)sum) + (unsigned long)getpagesize();
}

KEEP void *in_short_thread(void *unused) {
	for (int i = 0; i < 20000; i++)
		sum += (unsigned long)i * sum;
	return unused;
}

KEEP void short_threads(void) {
	for (int i = 0; i < 1500; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, in_short_thread, NULL) == 0)
			pthread_join(thread, NULL);
	}
}

// A library that is deleted before it runs.
KEEP void deleted_library(const char *path) {
	void *library = dlopen(path, RTLD_NOW);
	void (*call)(void (*)(void)) = NULL;
	if (library)
		*(void **)&call = dlsym(library, "call_from_library");
	unlink(path);
	if (call)
		call(burn);
	sum++;
}

int main(int argc, char **argv) {
	const char *chain = argc > 1 ? argv[1] : "";
	if (strcmp(chain, "deleted_library") == 0) {
		deleted_library(argv[2]);
		return 0;
	}
	for (int times = argc > 2 ? atoi(argv[2]) : 1; times > 0; times--) {
		if (strcmp(chain, "recursion") == 0)
			recursion(30);
		else if (strcmp(chain, "deep") == 0)
			recursion(600);
		else if (strcmp(chain, "deepest") == 0)
			recursion(3000);
		else if (strcmp(chain, "huge_frame") == 0)
			huge_frame();
		else if (strcmp(chain, "coroutine") == 0)
			coroutine();
		else if (strcmp(chain, "large_frame") == 0)
			large_frame();
		else if (strcmp(chain, "with_alloca") == 0)
			with_alloca((size_t)argc * 5000);
		else if (strcmp(chain, "raise_signal") == 0)
			raise_signal();
		else if (strcmp(chain, "with_thread") == 0)
			with_thread();
		else if (strcmp(chain, "through_library") == 0)
			through_library();
		else if (strcmp(chain, "without_exec") == 0)
			without_exec();
		else if (strcmp(chain, "tail_call") == 0)
			tail_call();
		else if (strcmp(chain, "never_returns") == 0)
			ends_with_a_call();
		else if (strcmp(chain, "in_vdso") == 0)
			in_vdso();
		else if (strcmp(chain, "through_plt") == 0)
			through_plt();
		else if (strcmp(chain, "short_threads") == 0)
			short_threads();
		else
			burn();
	}
	return 0;
}
