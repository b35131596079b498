// A test program with several cases in one process. The argument says how it ends: "ends", or
// "crashes" in the middle of a case.
#include <tracelet/mark.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void run_program(const char *word) {
	pid_t child = fork();
	if (child == 0) {
		execl("/bin/true", "true", word, (char *)NULL);
		_exit(127);
	}
	waitpid(child, NULL, 0);
}

static pthread_barrier_t both;

static void *in_parallel(void *name) {
	tl_test_begin(name);
	pthread_barrier_wait(&both);
	run_program(name);
	pthread_barrier_wait(&both);
	tl_test_end(TL_PASSED);
	return NULL;
}

int main(int argc, char **argv) {
	const char *end = argc > 1 ? argv[1] : "ends";
	run_program("before");
	tl_test_begin("Suite.Passes");
	tl_slice_begin("phase");
	run_program("first");
	tl_slice_end();
	tl_test_end(TL_PASSED);
	run_program("between");
	tl_test_begin("Suite.Fails/1");
	run_program("second");
	tl_mark("not as it should be");
	tl_test_end(TL_FAILED);
	tl_test_begin("Suite.Skipped");
	tl_test_end(TL_SKIPPED);

	pthread_t threads[2];
	char names[2][16] = {"Left", "Right"};
	pthread_barrier_init(&both, NULL, 2);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, in_parallel, names[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);

	if (strcmp(end, "crashes") == 0) {
		tl_test_begin("Suite.Crashes");
		run_program("third");
		raise(SIGSEGV);
	}
	return 1;
}
