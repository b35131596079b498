#include "vm/cpio.h"
#include "base/siphash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_SIZE = 110, DEEPEST = 64 };

// ---- entries ----

static void put(struct cpio *cpio, const void *bytes, size_t size) {
	int error = cpio->error ? 0 : output_write(cpio->output, bytes, size);
	if (error)
		cpio->error = error;
}

// Names and contents end at multiples of four.
static void put_padding(struct cpio *cpio, size_t size) {
	static const char zeros[4];
	put(cpio, zeros, -size & 3);
}

static void put_entry(struct cpio *cpio, const char *name, unsigned mode, size_t size) {
	char header[HEADER_SIZE + 1];
	size_t name_size = strlen(name) + 1;
	snprintf(header, sizeof(header),
		 "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", // magic, inode
		 ++cpio->inodes, mode, 0u, 0u, 1u, 0u, (unsigned)size, 0u, 0u, 0u, 0u, (unsigned)name_size,
		 0u);
	put(cpio, header, HEADER_SIZE);
	put(cpio, name, name_size);
	put_padding(cpio, HEADER_SIZE + name_size);
}

static uint64_t key_of(const char *path) {
	return siphash13(path, strlen(path));
}

bool cpio_has(const struct cpio *cpio, const char *path) {
	return map_get(&cpio->paths, key_of(path));
}

// True if it is new; the directories above it then exist.
static bool take_path(struct cpio *cpio, const char *path) {
	if (cpio_has(cpio, path))
		return false;
	*map_put(&cpio->paths, key_of(path)) = 1;
	const char *slash = strrchr(path, '/');
	if (slash && slash > path) {
		CLEANUP_FREE char *above = memory_format("%.*s", (int)(slash - path), path);
		cpio_folder(cpio, above, 0755);
	}
	return true;
}

void cpio_folder(struct cpio *cpio, const char *path, unsigned mode) {
	if (take_path(cpio, path))
		put_entry(cpio, path + 1, S_IFDIR | mode, 0);
}

void cpio_bytes(struct cpio *cpio, const char *path, unsigned mode, const void *bytes, size_t size) {
	if (!take_path(cpio, path))
		return;
	put_entry(cpio, path + 1, S_IFREG | mode, size);
	put(cpio, bytes, size);
	put_padding(cpio, size);
}

void cpio_link(struct cpio *cpio, const char *path, const char *target) {
	if (!take_path(cpio, path))
		return;
	put_entry(cpio, path + 1, S_IFLNK | 0777, strlen(target));
	put(cpio, target, strlen(target));
	put_padding(cpio, strlen(target));
}

bool cpio_copy(struct cpio *cpio, const char *path, const char *source) {
	struct stat status;
	struct input input;
	if (cpio_has(cpio, path))
		return true;
	if (stat(source, &status))
		return false;
	if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size > UINT32_MAX) {
		errno = S_ISDIR(status.st_mode) ? EISDIR : S_ISREG(status.st_mode) ? EFBIG : EINVAL;
		return false;
	}
	int error = input_open(&input, source);
	if (error) {
		errno = -error;
		return false;
	}
	cpio_bytes(cpio, path, status.st_mode & 07777, input.data, input.size);
	input_close(&input);
	return true;
}

// ---- trees ----

static void add_tree(struct cpio *cpio, const char *source, const char *path, unsigned depth);

static void add_item(struct cpio *cpio, const char *source, const char *path, unsigned depth) {
	struct stat status;
	char target[4096];
	if (lstat(source, &status))
		return;
	if (S_ISDIR(status.st_mode)) {
		cpio_folder(cpio, path, status.st_mode & 07777);
		add_tree(cpio, source, path, depth + 1);
	} else if (S_ISLNK(status.st_mode)) {
		ssize_t size = readlink(source, target, sizeof(target) - 1);
		target[size > 0 ? size : 0] = 0;
		cpio_link(cpio, path, target);
	} else if (S_ISREG(status.st_mode) && !cpio_copy(cpio, path, source) && !cpio->error) {
		cpio->error = -errno;
	}
}

static void add_tree(struct cpio *cpio, const char *source, const char *path, unsigned depth) {
	DIR *folder = depth < DEEPEST ? opendir(source) : NULL;
	if (!folder && !cpio->error)
		cpio->error = depth < DEEPEST ? -errno : -ELOOP;
	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		CLEANUP_FREE char *inside = memory_format("%s/%s", source, entry->d_name);
		CLEANUP_FREE char *name = memory_format("%s/%s", path, entry->d_name);
		add_item(cpio, inside, name, depth);
	}
	if (folder)
		closedir(folder);
}

void cpio_tree(struct cpio *cpio, const char *source, const char *path) {
	if (*path)
		cpio_folder(cpio, path, 0755);
	add_tree(cpio, source, path, 0);
}

int cpio_end(struct cpio *cpio) {
	put_entry(cpio, "TRAILER!!!", 0, 0);
	map_free(&cpio->paths);
	return cpio->error;
}
