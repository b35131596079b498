// O_PATH finds a file without opening it, so that its kind can be checked first. The descriptor, and not
// the name, is then opened through /proc: the name may lead elsewhere by now.
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int file_find_regular(const char *path, int flags) {
	struct stat status;
	int found = open(path, O_PATH | O_CLOEXEC | (flags & O_NOFOLLOW));
	if (found < 0)
		return -errno;
	int error = fstat(found, &status)      ? -errno
		    : !S_ISREG(status.st_mode) ? -EINVAL
		    : status.st_size == 0      ? -ENODATA
					       : 0;
	if (!error)
		return found;
	close(found);
	return error;
}

int file_open_found(int found, int flags) {
	char itself[64];
	snprintf(itself, sizeof(itself), "/proc/self/fd/%d", found);
	int file = open(itself, (flags & ~O_NOFOLLOW) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return file < 0 ? -errno : file;
}

int file_open_regular(const char *path, int flags) {
	int found = file_find_regular(path, flags);
	if (found < 0)
		return found;
	int file = file_open_found(found, flags);
	close(found);
	return file;
}
