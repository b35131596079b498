// Two processes pass a byte to each other, so many times: nothing but switches and wakeups, on both CPUs.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static long pass(int from, int to, long times) {
	char byte = 0;
	long done = 0;
	while (done < times && read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1)
		done++;
	return done;
}

int main(int argc, char **argv) {
	int there[2], back[2];
	long times = argc > 1 ? atol(argv[1]) : 1;
	if (pipe(there) || pipe(back))
		return 1;
	pid_t child = fork();
	if (child == 0)
		_exit(pass(there[0], back[1], times) == times ? 0 : 1);
	int status = 1;
	if (write(there[1], "x", 1) != 1)
		return 1;
	long done = pass(back[0], there[1], times - 1);
	char last;
	done += read(back[0], &last, 1) == 1;
	waitpid(child, &status, 0);
	printf("%ld\n", done);
	return status;
}
