#include "settings/ini_file.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { LARGEST = 64 * 1024 };

uid_t ini_file_caller(void) {
	const char *text = geteuid() == 0 ? getenv("SUDO_UID") : NULL;
	char *end = NULL;
	unsigned long user = text && *text ? strtoul(text, &end, 10) : 0;
	return end && !*end && user < (uid_t)-1 ? (uid_t)user : geteuid();
}

// A group of the user's own (with the same number) has no one else in it. With an access control list, the
// group's bits are the most that any user or group on that list has.
static bool writable_by_others(const struct stat *status, const char *path) {
	bool own_group = status->st_gid == (gid_t)status->st_uid;
	bool listed = getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
	return status->st_mode & S_IWOTH || (status->st_mode & S_IWGRP && (!own_group || listed));
}

static bool is_trusted(const struct stat *status, const char *path, const char *what, char *why) {
	if (status->st_uid != 0 && status->st_uid != geteuid() && status->st_uid != ini_file_caller())
		snprintf(why, INI_FILE_WHY, "%s belongs to another user (uid %u)", what,
			 (unsigned)status->st_uid);
	else if (writable_by_others(status, path))
		snprintf(why, INI_FILE_WHY, "other users can write to %s", what);
	else
		return true;
	return false;
}

static bool folder_trusted(const char *path, char *why) {
	const char *slash = strrchr(path, '/');
	CLEANUP_FREE char *folder = memory_format("%.*s", slash && slash > path ? (int)(slash - path) : 1,
						  slash ? path : ".");
	struct stat status;
	return stat(folder, &status) == 0 && is_trusted(&status, folder, "its directory", why);
}

// Opening a FIFO must not wait, nor a device act: only a small regular file is read.
static int open_trusted(const char *path, enum ini_file_kind kind, char *why) {
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
		    (kind == INI_FILE_OF_PROJECT ? O_NOFOLLOW : 0);
	struct stat status;
	int fd = open(path, flags);
	if (fd < 0 && kind == INI_FILE_OF_USER)
		return INI_FILE_UNREADABLE;
	if (fd < 0) { // it may be there to keep us from running the test
		snprintf(why, INI_FILE_WHY, "%s", errno == ELOOP ? "it is a symbolic link" : strerror(errno));
		return INI_FILE_UNTRUSTED;
	}
	bool good = false;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode))
		snprintf(why, INI_FILE_WHY, "it is not a regular file");
	else if (status.st_size > LARGEST)
		snprintf(why, INI_FILE_WHY, "it is larger than %d KB", LARGEST / 1024);
	else
		good = is_trusted(&status, path, "it", why) &&
		       (kind == INI_FILE_OF_USER || folder_trusted(path, why));
	if (good)
		return fd;
	close(fd);
	return INI_FILE_UNTRUSTED;
}

int ini_file_read(const char *path, enum ini_file_kind kind, ini_file_taker *take, void *context,
		  char why[INI_FILE_WHY]) {
	int fd = open_trusted(path, kind, why);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (!file)
		return fd >= 0 ? INI_FILE_UNREADABLE : fd;
	int line = ini_parse_file(file, take, context);
	fclose(file);
	return line;
}
