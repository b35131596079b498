#include "guest/agent/folder.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Only root may create files in /run, so a fixed name is safe there; other users have their own directory. It
// survives a restart of the agent, for operations that were started before.
static char *operations_path(void) {
	const char *own = getenv("XDG_RUNTIME_DIR");
	if (geteuid() != 0 && own && *own == '/')
		return memory_format("%s/tracelet-agent", own);
	if (geteuid() == 0 && (mkdir("/run", 0755) == 0 || errno == EEXIST))
		return memory_string("/run/tracelet-agent");
	return NULL;
}

static char *new_path(void) {
	return memory_format("%s/tracelet-agent.XXXXXX", access("/tmp", W_OK) == 0 ? "/tmp" : "/dev/shm");
}

// Opens the directory itself, even if its name now leads elsewhere.
static int open_own(const char *path) {
	struct stat status;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) == 0 && status.st_uid == geteuid() && !(status.st_mode & 077))
		return fd;
	close(fd);
	return -EPERM;
}

int agent_folder_open(struct agent_folder *folder, bool kept, char *why) {
	char *path = kept ? operations_path() : NULL;
	bool made = path ? mkdir(path, 0700) == 0 || errno == EEXIST
			 : (path = new_path()) && mkdtemp(path) != NULL;
	int fd = made ? open_own(path) : -errno;
	if (fd < 0) {
		snprintf(why, 256, "%.200s: %s", path,
			 fd == -EPERM ? "owned by another user, or open to others" : strerror(-fd));
		free(path);
		return fd;
	}
	*folder = (struct agent_folder){.path = path, .fd = fd, .kept = kept};
	return 0;
}

static void remove_files(int fd) {
	DIR *list = fdopendir(fd);
	for (struct dirent *entry; list && (entry = readdir(list));)
		unlinkat(fd, entry->d_name, 0);
	if (list)
		closedir(list);
	else
		close(fd);
}

void agent_folder_close(struct agent_folder *folder) {
	if (folder->path && !folder->kept) {
		remove_files(folder->fd);
		rmdir(folder->path);
	} else if (folder->path) {
		close(folder->fd);
	}
	free(folder->path);
	*folder = AGENT_FOLDER_NONE;
}
