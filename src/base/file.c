#include "base/file.h"
#include "base/system.h"

#include <errno.h>
#include <string.h>
#ifndef _WIN32
#include <sys/mman.h>
#include <sys/statvfs.h>
#endif

enum { OUTPUT_PIECE = 256 * 1024 };

int file_write_all(int fd, const void *bytes, size_t size) {
	const char *at = bytes;
	while (size) {
		ssize_t written = system_write(fd, at, size > (1u << 30) ? 1u << 30 : (unsigned)size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -EIO;
		at += written;
		size -= (size_t)written;
	}
	return 0;
}

// ---- private files ----

#ifdef _WIN32

int file_create_private(const char *path, int flags) {
	return system_open(path, flags | O_CREAT, 0600);
}

int file_make_private_dir(const char *path) {
	return system_make_private_dir(path);
}

#else

static struct {
	bool on;
	gid_t group;
	mode_t mask; // of the process: asking for it would change it for a moment
} sharing;

void file_share_with_group(gid_t group) {
	mode_t mask = umask(077);
	umask(mask);
	sharing.on = true;
	sharing.group = group;
	sharing.mask = mask;
}

void file_share(int fd) {
	struct stat status;
	if (!sharing.on || fstat(fd, &status) || fchown(fd, (uid_t)-1, sharing.group))
		return;
	fchmod(fd, (S_ISDIR(status.st_mode) ? 0750 : 0640) & ~sharing.mask);
}

int file_create_private(const char *path, int flags) {
	struct stat status;
	int fd = system_open(path, flags | (flags & O_TMPFILE ? 0 : O_CREAT), 0600);
	if (fd >= 0 && sharing.on && fstat(fd, &status) == 0 && status.st_size == 0)
		file_share(fd);
	return fd;
}

void file_share_dir(const char *path) {
	int fd = sharing.on ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	if (fd >= 0) {
		file_share(fd);
		close(fd);
	}
}

int file_make_private_dir(const char *path) {
	if (system_make_private_dir(path))
		return -1;
	file_share_dir(path);
	return 0;
}

#endif

// ---- outputs ----

// A temporary name next to the final one, created with O_EXCL: an existing file or planted link is never
// opened.
static int open_temporary(const char *path, enum output_mode mode, char **name) {
	for (unsigned try = 0; try < 1000; try++) {
		*name = memory_format("%s.%d-%u.tmp", path, (int)getpid(), try);
		int flags = O_WRONLY | O_CREAT | O_EXCL | O_BINARY | O_CLOEXEC;
		int fd = mode == OUTPUT_CREATE ? file_create_private(*name, flags)
					       : system_open(*name, flags, 0666);
		if (fd >= 0)
			return fd;
		int error = errno;
		free(*name);
		*name = NULL;
		if (error != EEXIST)
			return -error;
	}
	return -EEXIST;
}

// A file without a name until it is complete: if we are killed, nothing is left. -errno if the system or the
// file system does not support it.
static int open_nameless(const char *path) {
#ifdef O_TMPFILE
	const char *slash = strrchr(path, '/');
	CLEANUP_FREE char *folder = slash ? memory_format("%.*s", (int)(slash - path + 1), path)
					  : memory_string(".");
	return access("/proc/self/fd", X_OK) ? -EOPNOTSUPP
					     : file_create_private(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC);
#else
	return -EOPNOTSUPP;
#endif
}

static int give_name(int fd, const char *path) {
#ifdef O_TMPFILE
	char now[64];
	snprintf(now, sizeof(now), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, now, AT_FDCWD, path, AT_SYMLINK_FOLLOW) ? -errno : 0;
#else
	return -EOPNOTSUPP;
#endif
}

// The target of the link `path`, which is replaced instead of the link: /dev/stdout may be a link to a file.
// NULL if it is not a link, or has no target.
static char *link_target(const char *path) {
#ifdef _WIN32
	return NULL;
#else
	struct stat status;
	return lstat(path, &status) == 0 && S_ISLNK(status.st_mode) ? realpath(path, NULL) : NULL;
#endif
}

// A new file, without its final name. 0 or -errno.
static int open_new(struct output *output) {
	output->fd = output->mode == OUTPUT_CREATE ? open_nameless(output->path) : -1;
	output->nameless = output->fd >= 0;
	if (!output->nameless)
		output->fd = open_temporary(output->path, output->mode, &output->temporary);
	return MIN(output->fd, 0);
}

int output_open(struct output *output, const char *path, enum output_mode mode) {
	*output = (struct output){.fd = STDOUT_FILENO, .mode = mode};
	if (strcmp(path, "-") == 0)
		return 0;
	struct stat status;
	if (mode == OUTPUT_REPLACE && system_stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
		// A device or pipe (/dev/null, a fifo) is written to, not replaced.
		if (S_ISDIR(status.st_mode))
			return -EISDIR;
		output->fd = system_open(path, O_WRONLY | O_BINARY | O_CLOEXEC);
		return output->fd < 0 ? -errno : 0;
	}
	output->path = mode == OUTPUT_REPLACE ? link_target(path) : NULL;
	if (!output->path)
		output->path = memory_string(path);
	int error = open_new(output);
	if (error)
		output_abandon(output);
	return error;
}

int output_open_over(struct output *output, const char *path, const int *over) {
#ifdef O_TMPFILE
	*output = (struct output){.fd = -1, .mode = OUTPUT_CREATE, .path = memory_string(path), .over = over};
	return 0;
#else
	return output_open(output, path, OUTPUT_CREATE);
#endif
}

#ifdef O_TMPFILE

// If a write fails, what was in the file is lost.
static bool has_room(int fd) {
	enum { ENOUGH = 16 << 20 };
	struct statvfs disk;
	return fstatvfs(fd, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize >= ENOUGH;
}

// Gives the file that is to be taken over a temporary name; output_commit() gives it the final one. Not where
// a file cannot have two names. It is not opened by its name, which others may have given to another file of
// ours. It is overwritten and cut to its new size afterwards: of a file that was empty in between, ext4
// writes all blocks to the disk when it is closed.
static void take_over(struct output *output) {
	int fd = fcntl(*output->over, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return;
	struct stat there;
	char *name = memory_format("%s.%d.tmp", output->path, (int)getpid());
	bool linked = lstat(output->path, &there) && has_room(fd) && give_name(fd, name) == 0;
	if (linked && lseek(fd, 0, SEEK_SET) == 0) {
		output->fd = fd;
		output->temporary = name;
		return;
	}
	if (linked)
		unlink(name);
	free(name);
	close(fd);
}

// What it had before, and more of it, goes.
static int cut(const struct output *output) {
	return ftruncate(output->fd, (off_t)output->written) ? -errno : 0;
}

#else

static void take_over(struct output *output) {
}

static int cut(const struct output *output) {
	return 0;
}

#endif

static int flush(struct output *output, const void *bytes, size_t size) {
	if (!output->error && output->fd < 0)
		output->error = open_new(output);
	if (!output->error && size) {
		output->error = file_write_all(output->fd, bytes, size);
		if (!output->error)
			output->written += size;
		if (!output->error && output->seen)
			output->seen(output->seen_context, bytes, size);
	}
	return output->error;
}

static void flush_pending(struct output *output) {
	flush(output, output->pending.data, output->pending.size);
	output->pending.size = 0;
}

int output_write(struct output *output, const void *bytes, size_t size) {
	if (output->error)
		return output->error;
	buffer_append(&output->pending, bytes, size);
	if (output->pending.size >= OUTPUT_PIECE)
		flush_pending(output);
	return output->error;
}

int output_take(struct output *output, struct buffer *buffer) {
	if (buffer->size >= OUTPUT_PIECE) {
		flush_pending(output);
		flush(output, buffer->data, buffer->size);
	} else {
		output_write(output, buffer->data, buffer->size);
	}
	buffer->size = 0;
	return output->error;
}

// link() fails if the name exists; rename() would replace the file.
static int rename_to(const char *from, const char *to, enum output_mode mode) {
#ifdef _WIN32
	return system_rename(from, to, mode == OUTPUT_REPLACE) ? -errno : 0;
#else
	if (mode == OUTPUT_REPLACE)
		return rename(from, to) ? -errno : 0;
	if (link(from, to) == 0) {
		unlink(from);
		return 0;
	}
	if (errno == EEXIST)
		return -EEXIST;
	// A file system without hard links: the name was free a moment ago.
	struct stat status;
	if (lstat(to, &status) == 0)
		return -EEXIST;
	return rename(from, to) ? -errno : 0;
#endif
}

int output_commit(struct output *output) {
	if (output->over && output->fd < 0 && !output->error)
		take_over(output);
	flush_pending(output);
	int error = output->error;
	if (!error && output->over && output->temporary && !output->nameless)
		error = cut(output);
	bool named = !error && output->nameless && !(error = give_name(output->fd, output->path));
	if (output->fd >= 0 && output->fd != STDOUT_FILENO && close(output->fd) && !error) {
		error = -errno;
		if (named)
			system_unlink(output->path);
	}
	output->fd = -1;
	if (!error && output->temporary)
		error = rename_to(output->temporary, output->path, output->mode);
	if (!error) {
		free(output->temporary);
		output->temporary = NULL;
	}
	output_abandon(output);
	return error;
}

void output_abandon(struct output *output) {
	if (output->fd >= 0 && output->fd != STDOUT_FILENO)
		close(output->fd);
	output->fd = -1;
	if (output->temporary)
		system_unlink(output->temporary);
	free(output->temporary);
	free(output->path);
	output->temporary = output->path = NULL;
	buffer_free(&output->pending);
}

// A terminal or /dev/null ends soon; other devices never do.
static int read_whole(struct input *input, int fd) {
	enum { MOST_OF_A_DEVICE = 1 << 20 };
	struct stat status;
	bool device = fstat(fd, &status) == 0 && S_ISCHR(status.st_mode);
	struct buffer content = {0};
	for (;;) {
		if (device && content.size > MOST_OF_A_DEVICE) {
			buffer_free(&content);
			return -EFBIG;
		}
		ssize_t got = read(fd, buffer_room(&content, 1 << 16), 1 << 16);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			int error = -errno;
			buffer_free(&content);
			return error;
		}
		if (got == 0)
			break;
		content.size += (size_t)got;
	}
	*input = (struct input){.data = content.data, .size = content.size};
	return 0;
}

int input_open(struct input *input, const char *path) {
	*input = (struct input){0};
	if (strcmp(path, "-") == 0)
		return read_whole(input, STDIN_FILENO);
	int fd = system_open(path, O_RDONLY | O_BINARY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	struct stat status;
	int error = fstat(fd, &status) ? -errno : 0;
	if (!error && S_ISDIR(status.st_mode))
		error = -EISDIR;
#ifndef _WIN32
	if (!error && S_ISREG(status.st_mode) && status.st_size > 0) {
		void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data != MAP_FAILED) {
			*input = (struct input){.data = data, .size = (size_t)status.st_size, .mapped = true};
			close(fd);
			return 0;
		}
	}
#endif
	if (!error)
		error = read_whole(input, fd);
	close(fd);
	return error;
}

void input_close(struct input *input) {
#ifndef _WIN32
	if (input->mapped)
		munmap((void *)(uintptr_t)input->data, input->size);
	else
#endif
		free((void *)(uintptr_t)input->data);
	*input = (struct input){0};
}

char *file_size_words(uint64_t size, char *text) {
	static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
	double value = (double)size;
	unsigned unit = 0;
	for (; value >= 999.5 && unit + 1 < ARRAY_SIZE(units); unit++)
		value /= 1000;
	snprintf(text, 16, "%.*f %s",
		 !unit || value >= 99.95 ? 0
		 : value >= 9.995        ? 1
					 : 2,
		 value, units[unit]);
	return text;
}

bool file_is_terminal(const char *path) {
	if (strcmp(path, "-") == 0)
		return system_is_terminal(STDOUT_FILENO);
	struct stat status;
	if (system_stat(path, &status) || !S_ISCHR(status.st_mode))
		return false;
	int fd = system_open(path, O_WRONLY | O_NOCTTY);
	bool terminal = fd >= 0 && system_is_terminal(fd);
	if (fd >= 0)
		close(fd);
	return terminal;
}
