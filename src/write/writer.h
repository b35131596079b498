// The output side: one struct writer per format. A writer is a sink that
// writes into an output; the caller commits the output after finish().
#pragma once

#include "base/file.h"
#include "event/event.h"

struct writer {
	const char *name;      // for --to
	const char *extension; // without the dot
	const char *description;
	bool binary; // not for a terminal
	struct sink *(*open)(struct output *output, struct tables *tables);
};

extern const struct writer perfetto_writer, folded_writer, svg_writer, html_writer, speedscope_writer,
	pprof_writer;

const struct writer *writer_by_name(const char *name);      // or NULL
const struct writer *writer_by_extension(const char *path); // or NULL
const struct writer *const *writer_list(void);              // ends with NULL
