// Where the state of sessions is on Linux, and how to distinguish a dead process from a
// new one with the same id.
#include "session/state.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- the folder ----

// A directory that others can write to could contain anything. Check the open directory itself: by
// the next moment its name may lead elsewhere.
static int check_private(const char *path) {
	struct stat status;
	int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOTDIR || errno == ELOOP ? -EACCES : -errno;
	int error = fstat(fd, &status)                                      ? -errno
		    : status.st_uid == geteuid() && !(status.st_mode & 022) ? 0
									    : -EACCES;
	close(fd);
	return error;
}

static int private_folder(const char *path) {
	return mkdir(path, 0700) && errno != EEXIST ? -errno : check_private(path);
}

static bool is_ours(const char *path) {
	struct stat status;
	return path && *path == '/' && stat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
	       status.st_uid == geteuid();
}

// Only root can create directories in /run, so no other user can create this one first.
static int of_root(char path[STATE_FOLDER_SIZE]) {
	snprintf(path, STATE_FOLDER_SIZE, "/run/tracelet");
	return mkdir("/run", 0755) && errno != EEXIST ? -errno : private_folder(path);
}

static const char *home(void) {
	const struct passwd *user = getpwuid(geteuid());
	const char *given = getenv("HOME");
	return is_ours(given) ? given : user ? user->pw_dir : NULL;
}

// ~/.local/state/tracelet, where other users cannot create anything either.
static int of_home(char path[STATE_FOLDER_SIZE]) {
	static const char *const steps[] = {"/.local", "/state", "/tracelet"};
	const char *begin = home();
	if (!begin || *begin != '/')
		return -ENOENT;
	int length = snprintf(path, STATE_FOLDER_SIZE, "%s", begin);
	for (size_t i = 0; i < ARRAY_SIZE(steps) && length < STATE_FOLDER_SIZE; i++) {
		length += snprintf(path + length, STATE_FOLDER_SIZE - (size_t)length, "%s", steps[i]);
		if (length < STATE_FOLDER_SIZE && mkdir(path, 0700) && errno != EEXIST)
			return -errno;
	}
	return length < STATE_FOLDER_SIZE ? check_private(path) : -ENAMETOOLONG;
}

int state_system_folder(char path[STATE_FOLDER_SIZE]) {
	const char *chosen = getenv("TRACELET_STATE_DIR"), *runtime = getenv("XDG_RUNTIME_DIR");
	int length = 0;
	if (chosen && *chosen)
		length = snprintf(path, STATE_FOLDER_SIZE, "%s", chosen);
	else if (geteuid() == 0)
		return of_root(path);
	else if (is_ours(runtime))
		length = snprintf(path, STATE_FOLDER_SIZE, "%s/tracelet", runtime);
	else
		return of_home(path);
	return length < STATE_FOLDER_SIZE ? private_folder(path) : -ENAMETOOLONG;
}

// ---- who is alive ----

static void boot_id(char id[40]) {
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	*id = 0;
	if (file && fscanf(file, "%39s", id) != 1)
		*id = 0;
	if (file)
		fclose(file);
}

// When a process started, in ticks since boot; 0 if it does not exist.
static unsigned long long start_of(pid_t pid) {
	char path[32], text[1024];
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		fclose(file);
	text[size] = 0;
	// The name, in parentheses, may contain anything; this is the 20th field after it.
	char *at = strrchr(text, ')');
	unsigned long long started = 0;
	char state = 'X';
	if (!at || sscanf(at + 1, " %c", &state) != 1 || state == 'Z' || state == 'X')
		return 0;
	for (int field = 0; at && field < 20; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, "%llu", &started) == 1 ? started : 0;
}

void state_system_identify(struct state *state) {
	state->pid = getpid();
	state->started = start_of(state->pid);
	boot_id(state->boot);
	state->waiter = state->operation ? 0 : getppid();
	state->waiter_started = state->waiter ? start_of(state->waiter) : 0;
}

static bool is_there(const struct state *state, pid_t pid, unsigned long long started) {
	char boot[40];
	boot_id(boot);
	return started && strcmp(state->boot, boot) == 0 && start_of(pid) == started;
}

bool state_system_is_stale(const struct state *state) {
	return !is_there(state, state->pid, state->started);
}

bool state_system_waits(const struct state *state) {
	return is_there(state, state->waiter, state->waiter_started);
}
