// Where the index of a folder is. SQLite opens its files by name, more than once, and acts on what it finds
// beside them: a journal that someone else put there replaces pages of the database, and names a file to
// delete. So the index is only where no other user can create or replace a file.
#include "base/file.h"
#include "base/siphash.h"
#include "base/system.h"
#include "history/index.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

// A group with the owner's number has no other member. With an access control list, the group's bits are the
// most that any user or group on that list has.
static bool others_may_write(const char *path, const struct stat *status) {
	bool own_group = status->st_gid == (gid_t)status->st_uid &&
			 getxattr(path, "system.posix_acl_access", NULL, 0) <= 0;
	return status->st_mode & S_IWOTH || (status->st_mode & S_IWGRP && !own_group);
}

// The folder is the caller's own, and no other user can put another one in its place. `real` has no links.
static bool is_private(const char *real) {
	struct stat status;
	CLEANUP_FREE char *above = memory_string(real);
	if (lstat(real, &status) || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
	    others_may_write(real, &status))
		return false;
	for (char *slash; (slash = strrchr(above, '/'));) {
		*slash = 0;
		const char *path = *above ? above : "/";
		bool fixed = lstat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
			     (status.st_uid == 0 || status.st_uid == geteuid()) &&
			     (status.st_mode & S_ISVTX || !others_may_write(path, &status));
		if (!fixed)
			return false;
	}
	return true;
}

// In a folder for caches; NULL if others can write there, too.
static char *below(const char *cache, const char *real) {
	CLEANUP_FREE char *ours = memory_format("%s/tracelet", cache);
	file_make_private_dir(cache);
	file_make_private_dir(ours);
	CLEANUP_FREE char *place = system_absolute(ours);
	return place && is_private(place)
		       ? memory_format("%s/history-%016" PRIx64 ".db", place, siphash13(real, strlen(real)))
		       : NULL;
}

// The user's cache folder. Under sudo it may be that of another user.
static char *cache_path(const char *real) {
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *path = NULL;
	if (cache && *cache == '/') {
		path = below(cache, real);
	} else if (home && *home == '/') {
		CLEANUP_FREE char *usual = memory_format("%s/.cache", home);
		path = below(usual, real);
	}
	return path || geteuid() ? path : below("/var/cache", real);
}

char *index_place(const char *folder) {
	struct stat status;
	CLEANUP_FREE char *real = system_absolute(folder);
	if (!real)
		return NULL;
	char *path = memory_format("%s/history.db", real);
	bool missing = lstat(path, &status) && errno == ENOENT;
	if (is_private(real) && access(real, W_OK) == 0 &&
	    (missing || (S_ISREG(status.st_mode) && status.st_uid == geteuid())))
		return path;
	free(path);
	return cache_path(real);
}
