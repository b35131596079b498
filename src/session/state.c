#include "session/state.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int state_folder(char path[STATE_FOLDER_SIZE]) {
	return state_system_folder(path);
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
	state_system_identify(state);
	state->since = time(NULL);
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
		"artifact = %s\nspool = %s\nlog = %s\nmarks = %s\n"
		"instance = %s\nprofile = %s\nvariant = %s\nmemory = %d\n",
		state->name, state->operation, (int)state->pid, state->started, state->since, state->boot,
		state->socket, state->artifact, state->spool, state->log, state->marks, state->instance,
		state->profile, state->variant, state->memory);
	output_write(&output, text.data, text.size);
	buffer_free(&text);
	return output_commit(&output);
}

bool state_remove(const struct state *state) {
	char folder[STATE_FOLDER_SIZE], path[512];
	if (state_folder(folder))
		return false;
	file_of(state, folder, path, sizeof(path));
	if (system_unlink(path))
		return false;
	system_unlink(state->socket);
	if (*state->log)
		system_unlink(state->log);
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
		{"instance", state->instance, sizeof(state->instance)},
		{"profile", state->profile, sizeof(state->profile)},
		{"variant", state->variant, sizeof(state->variant)},
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strcmp(key, texts[i].key) == 0)
			snprintf(texts[i].text, texts[i].size, "%s", value);
	if (strcmp(key, "operation") == 0)
		state->operation = atoi(value);
	else if (strcmp(key, "memory") == 0)
		state->memory = atoi(value);
	else if (strcmp(key, "pid") == 0)
		state->pid = atoi(value);
	else if (strcmp(key, "started") == 0)
		state->started = strtoull(value, NULL, 10);
	else if (strcmp(key, "since") == 0)
		state->since = strtoll(value, NULL, 10);
}

// False: the file is not there (any more), or not ours.
static bool read_state(const char *path, struct state *state) {
	struct input input;
	*state = (struct state){0};
	if (input_open(&input, path))
		return false;
	CLEANUP_FREE char *text = memory_format("%.*s", (int)input.size, (const char *)input.data);
	input_close(&input);
	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		char *value = strstr(line, " = ");
		if (value) {
			*value = 0;
			take_line(state, line, value + 3);
		}
	}
	return *state->name && state->pid > 0;
}

static int earlier(const void *a, const void *b) {
	const struct state *left = a, *right = b;
	if (left->since != right->since)
		return left->since < right->since ? -1 : 1;
	return (left->pid > right->pid) - (left->pid < right->pid);
}

struct listing {
	const char *folder;
	state_array *sessions;
};

static void take_file(void *context, const char *name) {
	const struct listing *listing = context;
	size_t length = strlen(name);
	struct state state;
	CLEANUP_FREE char *path = memory_format("%s/%s", listing->folder, name);
	if (length < 8 || strcmp(name + length - 8, ".session") != 0 || !read_state(path, &state))
		return;
	state.stale = state_system_is_stale(&state);
	array_push(listing->sessions, state);
}

int state_list(state_array *sessions) {
	char folder[STATE_FOLDER_SIZE];
	struct listing listing = {folder, sessions};
	int error = state_folder(folder);
	if (!error && system_list(folder, take_file, &listing))
		error = -errno;
	if (error)
		return error;
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
	int fd = system_open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	while (system_lock(fd))
		if (errno != EINTR) {
			error = -errno;
			close(fd);
			return error;
		}
	return fd;
}
