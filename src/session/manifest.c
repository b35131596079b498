#include "session/manifest.h"
#include "base/file.h"
#include "base/system.h"

#include <errno.h>

int manifest_lock(const char *dir) {
	CLEANUP_FREE char *path = memory_format("%s/manifest.jsonl", dir);
	int fd = system_open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
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

int manifest_append_locked(int fd, const struct buffer *line) {
	struct stat before;
	if (fstat(fd, &before))
		return -errno;
	int error = file_write_all(fd, line->data, line->size);
	if (error && system_truncate(fd, (uint64_t)before.st_size))
		error = -errno; // a full disk that cannot even be made emptier
	return error;
}

const char *manifest_file_name(const char *path) {
	const char *name = path;
	for (const char *at = path; (at = strpbrk(at, "/\\")); at++)
		name = at + 1;
	return name;
}

int manifest_append(const char *dir, const struct buffer *line) {
	int fd = manifest_lock(dir);
	if (fd < 0)
		return fd;
	int error = manifest_append_locked(fd, line);
	close(fd);
	return error;
}
