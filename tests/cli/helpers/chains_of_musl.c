// Burns CPU in the first thread or in another. Compiled by test_sample.sh, with a C library that has no
// unwind information.
#include <pthread.h>
#include <string.h>
#include <time.h>

#define KEEP static __attribute__((noinline))

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
	sum++;
}

KEEP void middle(void) {
	burn();
	sum++;
}

static void *in_thread(void *unused) {
	middle();
	sum++;
	return unused;
}

int main(int argc, char **argv) {
	pthread_t thread;
	if (argc > 1 && strcmp(argv[1], "thread") == 0 && pthread_create(&thread, NULL, in_thread, NULL) == 0)
		pthread_join(thread, NULL);
	else
		middle();
	return 0;
}
