#include "store/push_state.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_read.h"
#include "base/siphash.h"
#include "base/system.h"
#include "store/push.h"

#include <errno.h>
#include <fcntl.h>

enum { WINDOW = 4096, LARGEST = 256 * 1024 };

// A hash of what stands before the offset: a manifest that was replaced or cut is another one.
static bool check_of(int manifest, uint64_t offset, uint64_t *check) {
	uint8_t bytes[WINDOW];
	size_t size = (size_t)MIN(offset, (uint64_t)WINDOW);
	if (pread(manifest, bytes, size, (off_t)(offset - size)) != (ssize_t)size)
		return false;
	*check = siphash13(bytes, size) & INT64_MAX;
	return true;
}

static bool is_text(const struct json_piece *key, const char *name, struct json_reader *json,
		    const char *text) {
	if (!json_is(key, name) || json_peek(json) != '"')
		return false;
	CLEANUP_FREE char *value = json_read_if_text(json);
	return value && strcmp(value, text) == 0;
}

static void take_line(struct push_state *state, const char *line, size_t size) {
	struct json_reader json = json_from(line, size);
	struct json_piece key;
	uint64_t offset = 0, check = 0;
	unsigned same = 0;
	for (json_enter(&json, '{'); json_member(&json, &key);) {
		if (json_is(&key, "to") || json_is(&key, "objects")) {
			const char *expected = json_is(&key, "to") ? state->to : state->objects;
			same += json_peek(&json) == '"' &&
				is_text(&key, json_is(&key, "to") ? "to" : "objects", &json, expected);
		} else if (json_is(&key, "offset")) {
			offset = json_read_uint(&json);
		} else if (json_is(&key, "check")) {
			check = json_read_uint(&json);
		} else {
			json_skip(&json);
		}
	}
	if (!json.failed && same == 2) {
		state->offset = offset;
		state->check = check;
	}
}

static int read_state(struct push_state *state) {
	struct buffer text = {0};
	ssize_t got;
	while (text.size < LARGEST * 4 && (got = read(state->fd, buffer_room(&text, WINDOW), WINDOW)) > 0)
		text.size += (size_t)got;
	const char *at = (const char *)text.data, *end = at + text.size;
	for (const char *newline; at < end && (newline = memchr(at, '\n', (size_t)(end - at)));
	     at = newline + 1)
		take_line(state, at, (size_t)(newline - at));
	buffer_free(&text);
	return 0;
}

// The folder may be writable by others: nothing that leads elsewhere is opened or written to.
static int open_locked(const char *path) {
	struct stat status;
	int fd = file_create_private(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	int error = 0;
	while (system_lock(fd) && (error = -errno) == -EINTR)
		error = 0;
	if (!error && (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_nlink > 1))
		error = -EINVAL;
	if (!error)
		return fd;
	close(fd);
	return error;
}

int push_state_open(struct push_state *state, const char *folder, const char *to, const char *objects) {
	CLEANUP_FREE char *path = memory_format("%s/" PUSH_STATE, folder);
	*state = (struct push_state){.fd = open_locked(path)};
	if (state->fd < 0)
		return state->fd;
	state->to = memory_string(to);
	state->objects = memory_string(objects ? objects : "");
	return read_state(state);
}

void push_state_close(struct push_state *state) {
	if (state->fd >= 0)
		close(state->fd);
	free(state->to);
	free(state->objects);
}

uint64_t push_state_begin(const struct push_state *state, int manifest) {
	struct stat status;
	uint64_t check;
	bool same = fstat(manifest, &status) == 0 && (uint64_t)status.st_size >= state->offset &&
		    check_of(manifest, state->offset, &check) && check == state->check;
	return same ? state->offset : 0;
}

// Appends; a file that has grown large begins again with this line, and forgets the other stores.
int push_state_advance(struct push_state *state, int manifest, uint64_t offset) {
	struct buffer line = {0};
	struct json json = json_into(&line);
	if (!check_of(manifest, offset, &state->check))
		return -ESTALE; // it was cut
	state->offset = offset;
	off_t end = lseek(state->fd, 0, SEEK_END);
	if (end > LARGEST && (end = 0, system_truncate(state->fd, 0) || lseek(state->fd, 0, SEEK_SET) < 0))
		return -errno;
	char last = '\n';
	if (end > 0 && pread(state->fd, &last, 1, end - 1) == 1 && last != '\n')
		buffer_text(&line, "\n");
	json_object(&json, NULL);
	json_string(&json, "to", state->to);
	json_string(&json, "objects", state->objects);
	json_uint(&json, "offset", state->offset);
	json_uint(&json, "check", state->check);
	json_close_object(&json);
	buffer_text(&line, "\n");
	int error = file_write_all(state->fd, line.data, line.size);
	buffer_free(&line);
	return error;
}
