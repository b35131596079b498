// Burns CPU at the end of call chains that are known, without frame pointers. The argument
// names the chain; a second one says how often.
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
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

int main(int argc, char **argv) {
	const char *chain = argc > 1 ? argv[1] : "";
	for (int times = argc > 2 ? atoi(argv[2]) : 1; times > 0; times--) {
		if (strcmp(chain, "recursion") == 0)
			recursion(30);
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
		else
			burn();
	}
	return 0;
}
