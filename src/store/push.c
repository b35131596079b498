#include "store/push.h"
#include "base/file.h"
#include "base/log.h"
#include "store/push_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 20, LONGEST_LINE = 16 * 1024 * 1024 };

// The rest of a manifest, line by line. Other processes append meanwhile; what has no end yet is left.
struct lines {
	int fd;
	struct buffer bytes; // read, not taken yet
	size_t taken;
	uint64_t offset; // in the file, of the first byte that is not taken
	bool at_end, skipping;
};

static int read_more(struct lines *lines) {
	if (lines->taken)
		buffer_drop(&lines->bytes, lines->taken);
	lines->taken = 0;
	ssize_t got = pread(lines->fd, buffer_room(&lines->bytes, PIECE), PIECE,
			    (off_t)(lines->offset + lines->bytes.size));
	if (got < 0)
		return -errno;
	lines->at_end = got == 0;
	lines->bytes.size += (size_t)got;
	return 0;
}

// A line that is longer than any of ours is passed over, up to its end.
static void skip_long_line(struct lines *lines) {
	lines->offset += lines->bytes.size;
	lines->bytes.size = lines->taken = 0;
	lines->skipping = true;
}

// 1 and a line, 0 at the end, or -errno. `line` is NULL for one that was too long.
static int next_line(struct lines *lines, const char **line, size_t *size) {
	size_t searched = 0;
	for (;;) {
		size_t left = lines->bytes.size - lines->taken;
		const char *begin = (const char *)lines->bytes.data + lines->taken;
		const char *newline = left > searched ? memchr(begin + searched, '\n', left - searched)
						      : NULL;
		if (newline) {
			*size = (size_t)(newline - begin);
			*line = lines->skipping ? NULL : begin;
			lines->skipping = false;
			lines->taken += *size + 1;
			lines->offset += *size + 1;
			return 1;
		}
		searched = left;
		if (left > LONGEST_LINE) {
			skip_long_line(lines);
			searched = 0;
		}
		int error = read_more(lines);
		if (error || lines->at_end)
			return error;
	}
}

struct pusher {
	const struct push *push;
	struct batch_target target;
	struct push_state state;
	struct batch *batch;
	struct batch_counts *counts;
	struct lines lines;
};

static int send_batch(struct pusher *pusher) {
	int error = batch_send(pusher->batch, &pusher->target, pusher->counts);
	if (error)
		return error;
	error = push_state_advance(&pusher->state, pusher->lines.fd, pusher->lines.offset);
	if (error)
		log_error("%s/" PUSH_STATE ": cannot be written: %s", pusher->push->folder, strerror(-error));
	log_progress("pushed %" PRIu64 " sessions", pusher->counts->sessions);
	return error;
}

static int push_lines(struct pusher *pusher) {
	const char *line = NULL;
	size_t size = 0;
	int more = 0, error = 0;
	while (!error && (more = next_line(&pusher->lines, &line, &size)) > 0) {
		if (size || !line)
			batch_add(pusher->batch, line ? line : "", line ? size : 0, !pusher->push->untrusted);
		if (batch_is_full(pusher->batch))
			error = send_batch(pusher);
	}
	if (!error && more < 0) {
		error = more;
		log_error("%s/manifest.jsonl: cannot be read: %s", pusher->push->folder, strerror(-error));
	}
	if (!error && !batch_is_empty(pusher->batch))
		error = send_batch(pusher);
	log_progress(NULL);
	return error;
}

static int push_manifest(struct pusher *pusher) {
	const struct push *push = pusher->push;
	int error = push_state_open(&pusher->state, push->folder, push->to, push->objects);
	if (error) {
		log_error("%s/" PUSH_STATE ": cannot be opened: %s", push->folder, strerror(-error));
		return error;
	}
	pusher->lines.offset = push->again ? 0 : push_state_begin(&pusher->state, pusher->lines.fd);
	pusher->batch = batch_new(push->batch);
	error = push_lines(pusher);
	batch_free(pusher->batch);
	return error;
}

static int push_open(struct pusher *pusher, struct clickhouse *server) {
	const struct push *push = pusher->push;
	if (!clickhouse_open(server, push->to, push->patience))
		return -EINVAL;
	pusher->target = (struct batch_target){.server = server, .folder = push->folder};
	if (push->objects && !(pusher->target.objects = objects_open(push->objects, server->http)))
		return -EINVAL;
	return push_manifest(pusher);
}

int push_folder(const struct push *push, struct batch_counts *counts, uint64_t *left) {
	CLEANUP_FREE char *path = memory_format("%s/manifest.jsonl", push->folder);
	struct pusher pusher = {.push = push, .state.fd = -1, .counts = counts};
	struct clickhouse server = {0};
	struct stat status;
	*counts = (struct batch_counts){0};
	*left = 0;
	int fd = file_open_regular(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -ENODATA)
		return 0;
	if (fd < 0) {
		log_error("%s: cannot be read: %s", path, strerror(-fd));
		return fd;
	}
	pusher.lines.fd = fd;
	int error = push_open(&pusher, &server);
	if (fstat(fd, &status) == 0 && (uint64_t)status.st_size > pusher.state.offset && error)
		*left = (uint64_t)status.st_size - pusher.state.offset;
	objects_close(pusher.target.objects);
	clickhouse_close(&server);
	push_state_close(&pusher.state);
	buffer_free(&pusher.lines.bytes);
	close(fd);
	return error;
}
