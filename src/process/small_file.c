#include "process/small_file.h"
#include "base/memory.h"

#include <fcntl.h>
#include <unistd.h>

bool small_file_read(const char *folder, const char *name, char *text, size_t size) {
	CLEANUP_FREE char *path = memory_format("%s/%s", folder, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = 0;
	return got > 0;
}
