// Where the state of sessions is on Linux, and how a process that is gone is told from
// another one with its number.
#include "session/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- the folder ----

// A folder that others can write to could be made to say anything.
static int private_folder(const char *path) {
	struct stat status;
	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	if (lstat(path, &status))
		return -errno;
	return S_ISDIR(status.st_mode) && status.st_uid == geteuid() && !(status.st_mode & 022) ? 0 : -EACCES;
}

static bool is_ours(const char *path) {
	struct stat status;
	return path && *path == '/' && stat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
	       status.st_uid == geteuid();
}

int state_system_folder(char path[STATE_FOLDER_SIZE]) {
	const char *chosen = getenv("TRACELET_STATE_DIR"), *runtime = getenv("XDG_RUNTIME_DIR");
	int length;
	if (chosen && *chosen)
		length = snprintf(path, STATE_FOLDER_SIZE, "%s", chosen);
	else if (is_ours(runtime)) // under sudo it may be someone else's
		length = snprintf(path, STATE_FOLDER_SIZE, "%s/tracelet", runtime);
	else
		length = snprintf(path, STATE_FOLDER_SIZE, "/tmp/tracelet-%u", (unsigned)geteuid());
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

// When a process started, in ticks since the boot; 0: there is no such process.
static unsigned long long start_of(pid_t pid) {
	char path[32], text[1024];
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		fclose(file);
	text[size] = 0;
	// The name, in parentheses, may hold anything; the 20th field behind it is meant.
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
}

bool state_system_is_stale(const struct state *state) {
	char boot[40];
	boot_id(boot);
	unsigned long long started = strcmp(state->boot, boot) == 0 ? start_of(state->pid) : 0;
	return !started || started != state->started;
}
