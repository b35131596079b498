// storm COUNT: starts COUNT processes that end immediately, up to 16 at a time;
// every 50th executes a program. Prints how many were started.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
	enum { AT_ONCE = 16, EXEC_EVERY = 50 };
	int count = argc > 1 ? atoi(argv[1]) : 1, alive = 0;
	for (int i = 0; i < count; i++) {
		pid_t child = fork();
		if (child == 0) {
			if (i % EXEC_EVERY == 0)
				execl("/bin/true", "true", (char *)NULL);
			_exit(0);
		}
		if (child < 0) {
			perror("fork");
			return 1;
		}
		if (++alive == AT_ONCE && wait(NULL) > 0)
			alive--;
	}
	while (wait(NULL) > 0)
		;
	printf("%d\n", count);
	return 0;
}
