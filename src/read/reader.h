// The input side: one struct reader per format, told apart by the first bytes.
#pragma once

#include "base/stream.h"
#include "event/event.h"

struct reader {
	const char *name;       // for --from
	const char *extension;  // without the dot
	const char *description;
	bool (*probe)(const uint8_t *head, size_t size); // the first bytes (up to 4096) look like it
	// Pushes all events into `sink`; does not finish it. `name` is the input's, for messages. A
	// failure has been said in one line; events before it have been pushed. 0 or -errno.
	int (*read)(struct stream *input, const char *name, struct tables *tables, struct sink *sink);
};

extern const struct reader spool_reader, folded_reader, perf_script_reader, perf_data_reader;

const struct reader *reader_by_name(const char *name);       // or NULL
const struct reader *reader_by_content(struct stream *input); // or NULL; consumes nothing
const struct reader *const *reader_list(void);                // ends with NULL
