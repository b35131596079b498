#include "session/manifest.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int manifest_append(const char *dir, const struct buffer *line) {
	CLEANUP_FREE char *path = memory_format("%s/manifest.jsonl", dir);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return -errno;
	struct stat before;
	int error = flock(fd, LOCK_EX) || fstat(fd, &before) ? -errno : 0;
	if (!error) {
		error = file_write_all(fd, line->data, line->size);
		if (error && ftruncate(fd, before.st_size))
			error = -errno; // a full disk that cannot even be made emptier
	}
	close(fd);
	return error;
}
