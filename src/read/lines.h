// Text formats: the input line by line, of any size in bounded memory.
#pragma once

#include "base/stream.h"

struct line_format {
	const char *expected; // what was expected instead of an endless line: "output of perf script"
	// Takes a line without its newline. Not 0 ends the reading.
	int (*take)(void *context, const char *line, size_t size);
};

// Gives every line to the format, also a last one without a newline. Returns what
// `take` returned, or -errno after one line on stderr.
int lines_read(struct stream *input, const char *name, const struct line_format *format, void *context);
