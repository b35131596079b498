#include "session/state.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_read.h"
#include "base/system.h"
#include "base/utf8.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int state_folder(char path[STATE_FOLDER_SIZE]) {
	return state_system_folder(path);
}

// ---- files ----

// The file of a session is named after it: NAME.session for an operation, which has its name for itself;
// NAME~PID.session for a test. What belongs to it is found by that name too, never by what the file says.
static void name_of(const struct state *state, char *name, size_t size) {
	if (state->operation)
		snprintf(name, size, "%s.session", state->name);
	else
		snprintf(name, size, "%s~%d.session", state->name, (int)state->pid);
}

static char *path_of(const struct state *state, const char *folder) {
	char name[ARTIFACT_NAME_SIZE + 32];
	name_of(state, name, sizeof(name));
	return memory_format("%s/%s", folder, name);
}

static void place_in(struct state *state, const char *folder) {
	snprintf(state->socket, sizeof(state->socket), "%s/%d", folder, (int)state->pid);
	if (state->operation)
		snprintf(state->log, sizeof(state->log), "%s/%s.log", folder, state->name);
}

// ---- what is in a file ----

struct text_field {
	const char *key;
	size_t offset, size;
};
#define TEXT_FIELD(name)                                                                                     \
	{ #name, offsetof(struct state, name), sizeof(((struct state *)0)->name) }

static const struct text_field text_fields[] = {
	TEXT_FIELD(name),     TEXT_FIELD(boot),    TEXT_FIELD(artifact), TEXT_FIELD(spool), TEXT_FIELD(marks),
	TEXT_FIELD(instance), TEXT_FIELD(profile), TEXT_FIELD(variant),  TEXT_FIELD(ended),
};

static bool is_utf8(const char *text) {
	for (size_t left = strlen(text), length; left; left -= length, text += length)
		if (!(length = utf8_length((const uint8_t *)text, left)))
			return false;
	return true;
}

// A path may hold any bytes, which JSON does not: such a text is written as hexadecimal digits.
static void write_text(struct json *json, const char *key, const char *text) {
	char hex_key[32];
	struct buffer digits = {0};
	if (is_utf8(text)) {
		json_string(json, key, text);
		return;
	}
	snprintf(hex_key, sizeof(hex_key), "%s_hex", key);
	for (; *text; text++)
		buffer_printf(&digits, "%02x", (uint8_t)*text);
	json_text(json, hex_key, (const char *)digits.data, digits.size);
	buffer_free(&digits);
}

static void write_state(const struct state *state, struct buffer *out) {
	struct json json = json_into(out);
	json_object(&json, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(text_fields); i++)
		write_text(&json, text_fields[i].key, (const char *)state + text_fields[i].offset);
	json_bool(&json, "operation", state->operation);
	json_bool(&json, "memory", state->memory);
	json_uint(&json, "pid", (uint64_t)state->pid);
	json_uint(&json, "started", state->started);
	json_uint(&json, "since", (uint64_t)state->since);
	if (state->follows)
		json_uint(&json, "follows", (uint64_t)state->follows);
	if (state->waiter) {
		json_uint(&json, "waiter", (uint64_t)state->waiter);
		json_uint(&json, "waiter_started", state->waiter_started);
	}
	json_close_object(&json);
	buffer_append(out, "\n", 1);
}

static void read_hex(const char *digits, char *text, size_t size) {
	unsigned byte;
	for (; size > 1 && digits[0] && digits[1] && sscanf(digits, "%2x", &byte) == 1; digits += 2, size--)
		*text++ = (char)byte;
	*text = 0;
}

// A text that is too long cannot be ours: the file is ignored.
static bool read_text(struct json_reader *reader, const struct json_piece *key, struct state *state) {
	for (size_t i = 0; i < ARRAY_SIZE(text_fields); i++) {
		const struct text_field *field = &text_fields[i];
		size_t length = strlen(field->key);
		bool hex = key->size == length + 4 && memcmp(key->text + length, "_hex", 4) == 0;
		if ((key->size != length && !hex) || memcmp(key->text, field->key, length) != 0)
			continue;
		CLEANUP_FREE char *text = json_read_if_text(reader);
		if (!text || strlen(text) >= field->size * (hex ? 2 : 1))
			reader->failed = true;
		else if (hex)
			read_hex(text, (char *)state + field->offset, field->size);
		else
			strcpy((char *)state + field->offset, text);
		return true;
	}
	return false;
}

static uint64_t read_number(struct json_reader *reader, uint64_t most) {
	char first = json_peek(reader);
	if (first < '0' || first > '9') {
		json_skip(reader);
		return 0;
	}
	uint64_t number = json_read_uint(reader);
	return MIN(number, most);
}

static void read_member(struct json_reader *reader, const struct json_piece *key, struct state *state) {
	if (read_text(reader, key, state))
		return;
	if (json_is(key, "operation"))
		state->operation = json_read_if_true(reader);
	else if (json_is(key, "memory"))
		state->memory = json_read_if_true(reader);
	else if (json_is(key, "pid"))
		state->pid = (pid_t)read_number(reader, INT32_MAX);
	else if (json_is(key, "started"))
		state->started = read_number(reader, UINT64_MAX);
	else if (json_is(key, "follows"))
		state->follows = (pid_t)read_number(reader, INT32_MAX);
	else if (json_is(key, "waiter"))
		state->waiter = (pid_t)read_number(reader, INT32_MAX);
	else if (json_is(key, "waiter_started"))
		state->waiter_started = read_number(reader, UINT64_MAX);
	else if (json_is(key, "since"))
		state->since = (long long)read_number(reader, INT64_MAX);
	else
		json_skip(reader);
}

// False if the file is gone, not ours, or another session's.
static bool read_state(const char *folder, const char *name, struct state *state) {
	char expected[ARTIFACT_NAME_SIZE + 32];
	CLEANUP_FREE char *path = memory_format("%s/%s", folder, name);
	struct input input;
	struct json_piece key;
	*state = (struct state){0};
	if (input_open(&input, path))
		return false;
	struct json_reader reader = json_from(input.data, input.size);
	json_enter(&reader, '{');
	while (json_member(&reader, &key))
		read_member(&reader, &key, state);
	input_close(&input);
	name_of(state, expected, sizeof(expected));
	if (reader.failed || !*state->name || state->pid <= 0 || strcmp(name, expected) != 0)
		return false;
	place_in(state, folder);
	return true;
}

// ---- registering ----

int state_register(struct state *state) {
	char folder[STATE_FOLDER_SIZE];
	int error = state_folder(folder);
	if (error)
		return error;
	state_system_identify(state);
	state->since = time(NULL);
	place_in(state, folder);
	return state_update(state);
}

int state_update(const struct state *state) {
	char folder[STATE_FOLDER_SIZE];
	struct output output;
	int error = state_folder(folder);
	if (error)
		return error;
	CLEANUP_FREE char *path = path_of(state, folder);
	error = output_open(&output, path, OUTPUT_REPLACE);
	if (error)
		return error;
	struct buffer text = {0};
	write_state(state, &text);
	output_take(&output, &text);
	buffer_free(&text);
	return output_commit(&output);
}

bool state_remove(const struct state *state) {
	char folder[STATE_FOLDER_SIZE];
	struct state placed = *state;
	if (state_folder(folder))
		return false;
	CLEANUP_FREE char *path = path_of(state, folder);
	if (system_unlink(path))
		return false;
	place_in(&placed, folder);
	system_unlink(placed.socket);
	if (state->operation)
		system_unlink(placed.log);
	return true;
}

// ---- all of them ----

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
	if (length < 8 || strcmp(name + length - 8, ".session") != 0 ||
	    !read_state(listing->folder, name, &state))
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

// The lock that the file at `path` has is the one that counts: its holder removes the file.
static bool is_current(int fd, const char *path) {
#ifdef _WIN32
	return true; // a file that is open stays
#else
	struct stat ours, there;
	return fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_ino == there.st_ino &&
	       ours.st_dev == there.st_dev;
#endif
}

int state_lock(const char *name) {
	char folder[STATE_FOLDER_SIZE];
	int error = state_folder(folder);
	if (error)
		return error;
	CLEANUP_FREE char *path = memory_format("%s/%s.lock", folder, name);
	for (;;) {
		int fd = system_open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			return -errno;
		while (!error && system_lock(fd))
			error = errno == EINTR ? 0 : -errno;
		if (!error && is_current(fd, path))
			return fd;
		close(fd);
		if (error)
			return error;
	}
}

void state_unlock(const char *name, int lock) {
	char folder[STATE_FOLDER_SIZE];
	CLEANUP_FREE char *path = state_folder(folder) ? NULL : memory_format("%s/%s.lock", folder, name);
	if (path)
		system_unlink(path); // others that wait for it will notice
	close(lock);
}
