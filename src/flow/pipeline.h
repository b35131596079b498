// The path from an input to a sink, the same for every verb and for every recording:
//
//     reader → locate → blocked → tally → taps → sink
//
// It opens the input, recognises the format, and pushes the events in time order. Errors about the
// input are reported here, in one line each.
#pragma once

#include "event/tally.h"
#include "read/reader.h"

// For an input that is still being written.
struct growing {
	int (*more)(void *context, uint64_t offset); // waits for more, as a stream's `wait`
	void (*end)(void *context);                  // waits until the input is complete
	// Called when the output is complete, or abandoned with -errno; only cleanup follows.
	void (*done)(void *context, int error);
	void *context;
};

// An additional sink in front of the last one. It sees every event and pushes it on. open() takes
// ownership of `next`.
struct tap {
	struct sink *(*open)(void *context, struct tables *tables, struct sink *next);
	void *context;
};
enum { PIPELINE_TAPS = 6 };

struct pipeline {
	// Set before pipeline_open():
	const char *path;            // "-" is standard input
	const char *name;            // for messages; NULL for the path
	const struct reader *reader; // NULL to recognise it by content
	const char *const *more;     // other inputs of the same recording (ETL), or NULL
	size_t more_count;
	bool samples;                  // only samples are wanted: see pipeline_open()
	const struct growing *growing; // NULL unless the input still grows
	// Set before pipeline_run():
	struct read_options options;
	bool raw;                       // samples keep bare addresses, without modules and names
	bool quiet;                     // never show a progress line
	bool lines;                     // standard output is getting lines: no progress line between them
	bool shared;                    // the sink stays the caller's, which finishes it after the last input
	uint32_t sample_flags;          // with `shared`: SAMPLE_ bits to add to each sample
	struct tally *tally;            // NULL to count nothing
	struct tap taps[PIPELINE_TAPS]; // the first is next to the sink; unused ones are zero
	// Internal:
	struct stream input;
	struct read_more *others; // the inputs in `more`
	struct sink *first;
};

// Opens the input and sets `reader`. With `samples`, text in no known format is read as perf script
// output, as the tools do that tracelet replaces, and an empty input is an empty profile (`reader` stays
// NULL). 0, or -errno with nothing left open.
int pipeline_open(struct pipeline *pipeline);

// Pushes all events into `sink`, finishes it and takes ownership of it, unless it is shared. Samples get
// function names from the tables' symbolizer. 0 or -errno.
int pipeline_run(struct pipeline *pipeline, struct tables *tables, struct sink *sink);

void pipeline_close(struct pipeline *pipeline); // after pipeline_open(), with or without a run

// Open, run and close for the samples of one recording (`count` inputs, see `more`), into a sink that others
// share. `flags`: SAMPLE_BASELINE for the profile to compare with.
int pipeline_samples(const char *const *paths, size_t count, const struct reader *reader, uint32_t flags,
		     struct tables *tables, struct sink *sink);

// How many of the paths are inputs of one recording that are read together: 1 unless they are ETL files.
size_t pipeline_together(const char *const *paths, size_t count);

// Tables with a symbolizer, where the system has one; free works for tables without one, too.
struct tables pipeline_tables(bool inlined);
void pipeline_tables_free(struct tables *tables);
