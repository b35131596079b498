// The output side: one struct writer per format. A writer is a sink that
// writes into an output; the caller commits the output after finish().
#pragma once

#include "base/file.h"
#include "event/event.h"

struct writer {
	const char *name;      // for --to
	const char *extension; // without the dot
	const char *description;
	bool binary; // refuse to write it to a terminal
	struct sink *(*open)(struct output *output, struct tables *tables);
};

// All writers, in the order in which they are listed: NAME is defined as NAME_writer.
#define WRITERS(EACH)                                                                                        \
	EACH(perfetto) EACH(folded) EACH(svg) EACH(html) EACH(speedscope) EACH(pprof) EACH(gecko)

#define DECLARE_WRITER(name) extern const struct writer name##_writer;
WRITERS(DECLARE_WRITER)

const struct writer *writer_by_name(const char *name);      // or NULL
const struct writer *writer_by_extension(const char *path); // or NULL
const struct writer *const *writer_list(void);              // NULL-terminated
