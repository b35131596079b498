#include "session/leftover.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char extension[] = ".spool";

// The session's name, which is also the trace's without its extension.
static bool is_named_after(const struct state *session, const char *name) {
	size_t length = strlen(session->spool), end = sizeof(extension) - 1;
	char safe[ARTIFACT_NAME_SIZE];
	artifact_safe_name(session->name, safe);
	return length > end && strcmp(session->spool + length - end, extension) == 0 &&
	       strncmp(session->spool, session->artifact, length - end) == 0 &&
	       session->artifact[length - end] == '.' && strncmp(name, safe, strlen(safe)) == 0;
}

// True if no other user can replace our file.
static bool keeps_our_files(const struct stat *folder) {
	return (folder->st_uid == geteuid() || folder->st_uid == 0) &&
	       (!(folder->st_mode & 022) || folder->st_mode & S_ISVTX);
}

static bool is_our_file(const struct stat *file) {
	return S_ISREG(file->st_mode) && file->st_uid == geteuid() && file->st_nlink == 1 &&
	       file->st_size > 0;
}

bool leftover_open(struct leftover *leftover, const struct state *session) {
	const char *slash = strrchr(session->spool, '/');
	struct stat file;
	char path[sizeof(session->spool)];
	*leftover = (struct leftover){.folder = -1, .file = -1};
	if (!slash || slash == session->spool || !is_named_after(session, slash + 1))
		return false;
	snprintf(path, sizeof(path), "%.*s", (int)(slash - session->spool), session->spool);
	leftover->name = slash + 1;
	leftover->folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	leftover->file = openat(leftover->folder, leftover->name,
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	snprintf(leftover->path, sizeof(leftover->path), "/proc/self/fd/%d", leftover->file);
	if (leftover->file >= 0 && fstat(leftover->file, &file) == 0 && is_our_file(&file))
		return true;
	leftover_close(leftover);
	return false;
}

void leftover_delete(const struct leftover *leftover) {
	struct stat folder, file, named;
	if (fstat(leftover->folder, &folder) == 0 && keeps_our_files(&folder) &&
	    fstat(leftover->file, &file) == 0 &&
	    fstatat(leftover->folder, leftover->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	    file.st_dev == named.st_dev && file.st_ino == named.st_ino)
		unlinkat(leftover->folder, leftover->name, 0);
}

void leftover_close(struct leftover *leftover) {
	if (leftover->folder >= 0)
		close(leftover->folder);
	if (leftover->file >= 0)
		close(leftover->file);
	leftover->folder = leftover->file = -1;
}
