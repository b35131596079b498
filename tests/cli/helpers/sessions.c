// The session half of the C API, step by step; prints the result of each step.
#include "tracelet/tracelet.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *step, int result) {
	printf("%s: %s\n", step, result == 0 ? "ok" : strerror(-result));
}

int main(int argc, char **argv) {
	char path[4096] = "", current[4096] = "";
	struct tl_session_opts opts = TL_INIT(opts);
	opts.output_dir = argc > 1 ? argv[1] : NULL;
	printf("active before: %d\n", tl_session_active("api"));
	say("stop of none", tl_session_stop("api", path, sizeof(path)));
	say("a bad scope",
	    tl_session_start("api", &(struct tl_session_opts){.size = sizeof(opts), .scope = "all"}));
	say("no name", tl_session_start("", NULL));
	say("start", tl_session_start("api", &opts));
	printf("active: %d\n", tl_session_active("api"));
	say("current", tl_session_current_file("api", current, sizeof(current)));
	pid_t child = fork();
	if (child == 0)
		execl("/bin/true", "true", "child-of-the-caller", NULL);
	waitpid(child, NULL, 0); // before the recording stops
	say("too short", tl_session_current_file("api", path, 3));
	say("stop", tl_session_stop("api", path, sizeof(path)));
	printf("same file: %d\n", strcmp(path, current) == 0);
	printf("active after: %d\n", tl_session_active("api"));
	say("start again", tl_session_start("api", &opts));
	say("stop all", tl_session_stop_all());
	printf("%s\n", path);
	return 0;
}
