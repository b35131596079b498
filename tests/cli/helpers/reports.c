// reports COUNT: prints "ready", then the number of every signal that arrives,
// one per line. Exits with status 40 + COUNT after COUNT of them. A SIGTSTP also
// stops it, as it would stop any program that does not handle it.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
	int count = argc > 1 ? atoi(argv[1]) : 1;
	sigset_t all;
	sigfillset(&all);
	sigdelset(&all, SIGABRT); // used by sanitizers
	sigprocmask(SIG_BLOCK, &all, NULL);
	printf("ready\n");
	fflush(stdout);
	for (int seen = 0; seen < count; seen++) {
		int number = sigwaitinfo(&all, NULL);
		printf("signal %d\n", number);
		fflush(stdout);
		if (number == SIGTSTP)
			raise(SIGSTOP);
	}
	return 40 + count;
}
