// hostile before FILE PATH: in its own mount namespace, mounts FILE over PATH and loads it from
// there. hostile after FILE PATH: loads PATH and then mounts FILE over it. Both write "ready" and
// wait to be killed. hostile crash NAME: makes debuggers believe that its last module is the file
// NAME, and aborts.
#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static int put_over(const char *file, const char *path) {
	return unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	       mount(file, path, NULL, MS_BIND, NULL);
}

static int wait_with(const char *when, const char *file, const char *path) {
	int before = strcmp(when, "before") == 0;
	if (before && put_over(file, path)) {
		perror(path);
		return 1;
	}
	if (!dlopen(path, RTLD_NOW)) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	if (!before && put_over(file, path)) {
		perror(path);
		return 1;
	}
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	for (;;)
		pause();
}

__attribute__((noinline)) static void crash_as(char *name) {
	struct link_map *last = _r_debug.r_map;
	while (last->l_next)
		last = last->l_next;
	last->l_name = name;
	abort();
}

int main(int count, char **words) {
	if (count == 4)
		return wait_with(words[1], words[2], words[3]);
	if (count == 3)
		crash_as(words[2]);
	return 2;
}
