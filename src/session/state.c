#include "session/state.h"
#include "base/buffer.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
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

int state_folder(char path[STATE_FOLDER_SIZE]) {
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

// ---- files ----

static void file_of(const struct state *state, const char *folder, char *path, size_t size) {
	// Tests may share a name; operations may not.
	if (state->operation)
		snprintf(path, size, "%s/%s.session", folder, state->name);
	else
		snprintf(path, size, "%s/%s~%d.session", folder, state->name, (int)state->pid);
}

int state_register(struct state *state) {
	char folder[STATE_FOLDER_SIZE], path[512];
	int error = state_folder(folder);
	if (error)
		return error;
	state->pid = getpid();
	state->started = start_of(state->pid);
	state->since = time(NULL);
	boot_id(state->boot);
	snprintf(state->socket, sizeof(state->socket), "%s/%d", folder, (int)state->pid);
	file_of(state, folder, path, sizeof(path));
	struct output output;
	error = output_open(&output, path, OUTPUT_REPLACE);
	if (error)
		return error;
	struct buffer text = {0};
	buffer_printf(
		&text,
		"name = %s\noperation = %d\npid = %d\nstarted = %llu\nsince = %lld\nboot = %s\nsocket = %s\n"
		"artifact = %s\nspool = %s\nlog = %s\nmarks = %s\n",
		state->name, state->operation, (int)state->pid, state->started, state->since, state->boot,
		state->socket, state->artifact, state->spool, state->log, state->marks);
	output_write(&output, text.data, text.size);
	buffer_free(&text);
	return output_commit(&output);
}

bool state_remove(const struct state *state) {
	char folder[STATE_FOLDER_SIZE], path[512];
	if (state_folder(folder))
		return false;
	file_of(state, folder, path, sizeof(path));
	if (unlink(path))
		return false;
	unlink(state->socket);
	if (*state->log)
		unlink(state->log);
	return true;
}

static void take_line(struct state *state, const char *key, const char *value) {
	const struct {
		const char *key;
		char *text;
		size_t size;
	} texts[] = {
		{"name", state->name, sizeof(state->name)},
		{"boot", state->boot, sizeof(state->boot)},
		{"socket", state->socket, sizeof(state->socket)},
		{"artifact", state->artifact, sizeof(state->artifact)},
		{"spool", state->spool, sizeof(state->spool)},
		{"log", state->log, sizeof(state->log)},
		{"marks", state->marks, sizeof(state->marks)},
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strcmp(key, texts[i].key) == 0)
			snprintf(texts[i].text, texts[i].size, "%s", value);
	if (strcmp(key, "operation") == 0)
		state->operation = atoi(value);
	else if (strcmp(key, "pid") == 0)
		state->pid = atoi(value);
	else if (strcmp(key, "started") == 0)
		state->started = strtoull(value, NULL, 10);
	else if (strcmp(key, "since") == 0)
		state->since = strtoll(value, NULL, 10);
}

// False: the file is not there (any more), or not ours.
static bool read_state(const char *path, struct state *state) {
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	*state = (struct state){0};
	while (file && getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = 0;
		char *value = strstr(line, " = ");
		if (value) {
			*value = 0;
			take_line(state, line, value + 3);
		}
	}
	free(line);
	if (file)
		fclose(file);
	return *state->name && state->pid > 0;
}

static int earlier(const void *a, const void *b) {
	const struct state *left = a, *right = b;
	if (left->since != right->since)
		return left->since < right->since ? -1 : 1;
	return (left->pid > right->pid) - (left->pid < right->pid);
}

int state_list(state_array *sessions) {
	char folder[STATE_FOLDER_SIZE], boot[40];
	int error = state_folder(folder);
	DIR *directory = error ? NULL : opendir(folder);
	if (!directory)
		return error ? error : -errno;
	boot_id(boot);
	for (struct dirent *entry; (entry = readdir(directory));) {
		size_t length = strlen(entry->d_name);
		if (length < 8 || strcmp(entry->d_name + length - 8, ".session") != 0)
			continue;
		CLEANUP_FREE char *path = memory_format("%s/%s", folder, entry->d_name);
		struct state state;
		if (!read_state(path, &state))
			continue;
		unsigned long long started = strcmp(state.boot, boot) == 0 ? start_of(state.pid) : 0;
		state.stale = !started || started != state.started;
		array_push(sessions, state);
	}
	closedir(directory);
	if (sessions->count)
		qsort(sessions->items, sessions->count, sizeof(*sessions->items), earlier);
	return 0;
}

int state_lock(const char *name) {
	char folder[STATE_FOLDER_SIZE];
	int error = state_folder(folder);
	if (error)
		return error;
	CLEANUP_FREE char *path = memory_format("%s/%s.lock", folder, name);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	while (flock(fd, LOCK_EX))
		if (errno != EINTR) {
			error = -errno;
			close(fd);
			return error;
		}
	return fd;
}
