// marker COUNT: eight threads and a forked child set COUNT marks each. With a second argument the
// main thread first prints "ready" and waits for a line: meanwhile the test does something to the
// tracer.
#include <tracelet/mark.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8 };

static long count;

static void *work(void *number) {
	char name[32];
	snprintf(name, sizeof(name), "worker %d", (int)(long)number);
	tl_slice_begin(name);
	for (long i = 0; i < count; i++) {
		tl_slice_begin("step");
		tl_mark("inside");
		tl_counter("done", (double)i);
		tl_slice_end();
	}
	tl_slice_end();
	return NULL;
}

int main(int argc, char **argv) {
	pthread_t threads[THREADS];
	count = argc > 1 ? atol(argv[1]) : 1;
	tl_mark("begins");
	if (argc > 2) {
		char line[16];
		puts("ready");
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			return 3;
	}
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	pid_t child = fork();
	if (child == 0) {
		work((void *)(long)THREADS);
		_exit(0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	waitpid(child, NULL, 0);
	tl_mark("ends");
	printf("pid %d child %d\n", (int)getpid(), (int)child);
	return 7;
}
