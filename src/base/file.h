// Files that are never half-written. An output is written under a temporary name in
// the directory of its final one and renamed when it is complete; a failed or abandoned
// output leaves nothing behind.
#pragma once

#include "base/buffer.h"

#include <stdio.h>

enum output_mode {
	OUTPUT_REPLACE, // the user named the file: an existing one is replaced when the new one is complete
	OUTPUT_CREATE,  // an artifact, which is private: an existing file (or link) is an error: -EEXIST
};

struct output {
	struct buffer pending;
	char *path, *temporary; // NULL for standard output
	bool nameless;          // the file has no name yet; `temporary` is NULL then, too
	uint64_t written;       // bytes handed to the system
	int fd;
	const int *over; // see output_open_over(); NULL otherwise
	int error;       // the first failure, -errno; later writes are dropped
	enum output_mode mode;
	void (*seen)(void *context, const void *bytes, size_t size); // called with all bytes written; or NULL
	void *seen_context;
};

// "-" is standard output. A device or pipe is written to; a link stays, and its target is replaced. On
// failure the output need not be closed.
int output_open(struct output *output, const char *path, enum output_mode mode);

// An artifact that may take over a file of ours, open for writing, which is not needed any more when the
// output is committed. A small output then replaces the content of that file and is a second name of it: to
// make a file and delete another would cost more than all else. The name appears when the content is whole;
// if we are killed between, both are lost. A large output, and one for which the disk may have no room, is a
// file of its own.
int output_open_over(struct output *output, const char *path, const int *over);

// Appends, and writes in large pieces. Returns the first error of this output.
int output_write(struct output *output, const void *bytes, size_t size);

// Writes `buffer` directly instead of copying it through output_write().
int output_take(struct output *output, struct buffer *buffer);

// Completes the file under its final name.
int output_commit(struct output *output);

// Abandons the file. Also safe after a failed or successful commit.
void output_abandon(struct output *output);

// A whole file (or "-", standard input) in memory, mapped or read.
struct input {
	const uint8_t *data;
	size_t size;
	bool mapped;
};
int input_open(struct input *input, const char *path);
void input_close(struct input *input);

#ifndef _WIN32
// Opens a file whose name someone else chose: in a recording, in /proc/PID/maps, in a process's memory.
// Anything but a regular file is refused (-EINVAL) without being opened: to open a FIFO may block for ever,
// and a device may act on it. Empty files are refused too (-ENODATA): files of /proc and tracefs that act
// when they are opened look empty. `flags`: those of open() for an existing file. Returns a descriptor or
// -errno.
int file_open_regular(const char *path, int flags);
// The same in two steps, for more checks in between: finds the file without opening it (of the flags only
// O_NOFOLLOW matters), then opens what was found.
int file_find_regular(const char *path, int flags);
int file_open_found(int found, int flags);
#endif

// Creates a file that only its owner may read, whatever the umask says: a descriptor or -1, as open().
// `flags`: with O_EXCL unless an existing file is meant too.
int file_create_private(const char *path, int flags);
// The same for a folder: 0 or -1, as mkdir().
int file_make_private_dir(const char *path);
#ifndef _WIN32
// From now on, members of this group may read such files too. Call before threads are started.
void file_share_with_group(gid_t group);
// Gives the group its right to a file or a folder that was made in another way.
void file_share(int fd);
void file_share_dir(const char *path);
#endif

// write() until all is written. 0 or -errno.
int file_write_all(int fd, const void *bytes, size_t size);

// Writes "1.2 MB" to `text`, which has room for 16 bytes, and returns it.
char *file_size_words(uint64_t size, char *text);

// Whether this output may be written there: binary output to a terminal is refused.
bool file_is_terminal(const char *path);
