// Reading a recording for its samples: from a file or standard input into a sink.
#pragma once

#include "read/reader.h"
#include "write/profile.h"

// `reader` is NULL for the one that the content tells; text that tells none is
// taken for perf script's, as it is for the tools that tracelet replaces. An
// input without a byte gives nothing. 0 or -errno, said in one line.
int profile_read(const char *path, const struct reader *reader, struct tables *tables, struct sink *sink);

// The same for a profile to compare with: its samples are SAMPLE_BASELINE.
int profile_read_baseline(const char *path, const struct reader *reader, struct tables *tables,
			  struct sink *sink);

// Tables with a symbolizer as the options want it, and their end.
struct tables profile_tables_new(const struct profile_options *options);
void profile_tables_free(struct tables *tables);
