// Files that are never half-written. An output is written under a temporary
// name beside its final one and renamed when it is complete; a failed or
// abandoned one leaves nothing behind.
#pragma once

#include "base/buffer.h"

#include <stdio.h>

enum output_mode {
	OUTPUT_REPLACE, // the user named the file: what was there goes when the new one is complete
	OUTPUT_CREATE,  // an existing file (or link) of that name is an error: -EEXIST
};

struct output {
	struct buffer pending;
	char *path, *temporary; // NULL for standard output
	bool nameless;          // and for a file that has no name yet
	uint64_t written;       // bytes handed to the system
	int fd;
	int error; // the first failure, -errno; later writes are dropped
	enum output_mode mode;
	void (*seen)(void *context, const void *bytes, size_t size); // told of all that is written; or NULL
	void *seen_context;
};

// "-" is standard output; a device or pipe is written to, and a link stays: its file is replaced. On
// failure the output needs no close.
int output_open(struct output *output, const char *path, enum output_mode mode);

// Appends; written out in big pieces. Returns the first error of this output.
int output_write(struct output *output, const void *bytes, size_t size);

// Writes out `buffer` in place of copying it through output_write().
int output_take(struct output *output, struct buffer *buffer);

// Completes the file under its final name.
int output_commit(struct output *output);

// Gives the file up. Safe after a failed or successful commit too.
void output_abandon(struct output *output);

// The whole of a file (or "-", standard input) in memory: mapped or read.
struct input {
	const uint8_t *data;
	size_t size;
	bool mapped;
};
int input_open(struct input *input, const char *path);
void input_close(struct input *input);

// write() until all is written. 0 or -errno.
int file_write_all(int fd, const void *bytes, size_t size);

// "1.2 MB" into `text`, which has room for 16 bytes; returns it.
char *file_size_words(uint64_t size, char *text);

// Fit for a terminal or a pipe? Binary output to a terminal is refused.
bool file_is_terminal(const char *path);
