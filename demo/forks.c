// Starts children that each run a small program, and checks what they return.
// In the trace: a tree of processes, each with fork, exec, command line and exit
// code; one of them runs a pipeline and so has children itself.
#include "demo.h"

#include <sys/wait.h>
#include <unistd.h>

static const struct {
	const char *script;
	int status;
} children[] = {
	{"exit 0", 0},
	{"exit 7", 7},
	{"ls / | sort | wc -l >/dev/null", 0},
	{"sleep 0.05; exit 3", 3},
	{"i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; exit 5", 5},
};
enum { CHILDREN = sizeof children / sizeof *children };

int main(void) {
	pid_t pids[CHILDREN];
	for (int i = 0; i < CHILDREN; i++) {
		pids[i] = fork();
		require(pids[i] >= 0, "fork");
		if (pids[i] == 0) {
			execl("/bin/sh", "sh", "-c", children[i].script, (char *)NULL);
			_exit(127);
		}
	}
	int good = 0;
	for (int i = 0; i < CHILDREN; i++) {
		int status;
		require(waitpid(pids[i], &status, 0) == pids[i], "waitpid");
		good += WIFEXITED(status) && WEXITSTATUS(status) == children[i].status;
	}
	return result(good == CHILDREN, "%d of %d children returned what they should", good, CHILDREN);
}
