#include "artifact/manifest.h"
#include "base/descriptor.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"

#include <errno.h>
#include <unistd.h>

// ---- writing ----

// Others may be able to write to the directory: a FIFO or a device of that name would hold us up.
static bool is_manifest(const char *path) {
	struct stat status;
	return system_stat(path, &status) != 0 || S_ISREG(status.st_mode);
}

int manifest_lock(const char *dir) {
	CLEANUP_FREE char *path = memory_format("%s/manifest.jsonl", dir);
	if (!is_manifest(path))
		return -EINVAL;
	int fd = file_create_private(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	int error = 0;
	while (system_lock(fd) && (error = -errno) == -EINTR)
		error = 0;
	if (error) {
		close(fd);
		return error;
	}
	return fd;
}

static int append_locked(int fd, const struct buffer *line) {
	struct stat before;
	char last = '\n';
	if (fstat(fd, &before))
		return -errno;
	// A line that was torn (a full disk, a killed writer) must not swallow this one.
	if (before.st_size > 0 && (lseek(fd, -1, SEEK_END) < 0 || read(fd, &last, 1) != 1))
		return -EIO;
	int error = last != '\n' ? file_write_all(fd, "\n", 1) : 0;
	if (!error)
		error = file_write_all(fd, line->data, line->size);
	if (error && system_truncate(fd, (uint64_t)before.st_size))
		error = -errno; // a full disk that cannot even be made emptier
	return error;
}

int manifest_note_locked(int fd, const struct manifest_record *record) {
	struct buffer line = {0};
	manifest_write(record, &line);
	int error = append_locked(fd, &line);
	buffer_free(&line);
	return error;
}

int manifest_append(const char *dir, const struct buffer *line) {
	int fd = manifest_lock(dir);
	if (fd < 0)
		return fd;
	int error = append_locked(fd, line);
	close(fd);
	return error;
}

int manifest_note(const char *dir, const struct manifest_record *record) {
	struct buffer line = {0};
	manifest_write(record, &line);
	int error = manifest_append(dir, &line);
	buffer_free(&line);
	return error;
}

void manifest_write_lines(const char *target, const struct buffer *lines) {
	int error, fd = descriptor_named(target);
	if (fd >= 0) {
		error = file_write_all(fd, lines->data, lines->size);
	} else {
		struct output output;
		error = output_open(&output, target, OUTPUT_REPLACE);
		if (!error) {
			output_write(&output, lines->data, lines->size);
			error = output_commit(&output);
		}
	}
	if (error)
		log_warning("--json %s: cannot be written: %s", target, strerror(-error));
}

void manifest_write_json(const char *target, const struct manifest_record *record) {
	struct buffer line = {0};
	manifest_write(record, &line);
	manifest_write_lines(target, &line);
	buffer_free(&line);
}

// ---- reading ----

void manifest_walk_text(const char *text, size_t size,
			void (*take)(void *context, const struct manifest_record *record), void *context) {
	const char *end = text + size;
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *line_end = newline ? newline : end;
		struct manifest_record record;
		if (manifest_parse(text, (size_t)(line_end - text), &record)) {
			take(context, &record);
			manifest_record_free(&record);
		}
		text = newline ? newline + 1 : end;
	}
}

int manifest_walk(const char *dir, void (*take)(void *context, const struct manifest_record *record),
		  void *context) {
	CLEANUP_FREE char *path = memory_format("%s/manifest.jsonl", dir);
	struct input input;
	int error = is_manifest(path) ? input_open(&input, path) : -EINVAL;
	if (error)
		return error;
	if (input.size)
		manifest_walk_text((const char *)input.data, input.size, take, context);
	input_close(&input);
	return 0;
}

bool manifest_passed(const struct manifest_record *record) {
	const char *result = record->result ? record->result : "";
	return record->there.timed_out_after == MANIFEST_ABSENT &&
	       (strcmp(result, "passed") == 0 || strcmp(result, "recorded") == 0);
}

bool manifest_is_trace(const struct manifest_artifact *artifact) {
	return artifact->kind &&
	       (strcmp(artifact->kind, "perfetto") == 0 || strcmp(artifact->kind, "etl") == 0);
}

bool manifest_ended(const struct manifest_record *record, time_t *ended) {
	*ended = record->started.tv_sec + (time_t)MIN(MAX(record->wall_seconds, 0), 1e9);
	return record->there.started == MANIFEST_THERE;
}

const char *manifest_file_name(const char *path) {
	const char *name = path;
	for (const char *at = path; (at = strpbrk(at, "/\\")); at++)
		name = at + 1;
	return name;
}

const char *manifest_artifact_name(const char *path) {
	const char *name = manifest_file_name(path);
	bool fit = *name && *name != '.' && !strchr(name, ':') && strcmp(name, "manifest.jsonl") != 0;
	return fit ? name : NULL;
}
