// An input that verbs look into: opened, told by its content, pushed into a sink.
#pragma once

#include "read/reader.h"

struct look {
	const char *path;
	struct stream input;
	const struct reader *reader;
	bool lines; // lines of output come while it is read
	bool names; // samples are to have the names of functions, which takes its time
};

// 0 or -errno; a failure has been said in one line.
int look_open(struct look *look, const char *path);
void look_close(struct look *look);

// Pushes all events, in the order of time, into `sink` and finishes it. Takes over the sink.
int look_read(struct look *look, const struct read_options *options, struct tables *tables,
	      struct sink *sink);

// A time as people write it: 1.5 or 1.5s, 20ms, 7us, 100ns; into nanoseconds. False: it is none.
bool parse_time(const char *text, uint64_t *nanoseconds);
