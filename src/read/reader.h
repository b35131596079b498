// The input side: one struct reader per format, told apart by the first bytes.
#pragma once

#include "base/buffer.h"
#include "base/stream.h"
#include "event/event.h"

// How an input is read; all zero is the usual way.
struct read_options {
	const char *const *manifests; // files that describe events, ends with NULL; or NULL
	bool records;                 // every record as it stands, as generic events
	bool images;                  // loaded images too, also those that were there before
	bool json;                    // of describe()
};

struct reader {
	const char *name;      // for --from
	const char *extension; // without the dot
	const char *description;
	bool (*probe)(const uint8_t *head, size_t size); // the first bytes (up to 4096) look like it
	// Pushes all events into `sink`; does not finish it. `name` is the input's, for messages. A
	// failure has been said in one line; events before it have been pushed. 0 or -errno.
	int (*read)(struct stream *input, const char *name, struct tables *tables, struct sink *sink);
	// The same with options, where a format has any; then read() may be missing.
	int (*read_with)(struct stream *input, const char *name, const struct read_options *options,
			 struct tables *tables, struct sink *sink);
	// What `tracelet info` tells about the format's own matters, as text or JSON; or NULL.
	int (*describe)(struct stream *input, const char *name, const struct read_options *options,
			struct buffer *out);
	bool ordered;     // pushes its events in the order of time
	bool has_records; // knows the option `records`
};

extern const struct reader spool_reader, etl_reader, folded_reader, perf_script_reader, perf_data_reader,
	etl_zip_reader, perfetto_reader, dhat_reader;

const struct reader *reader_by_name(const char *name);        // or NULL
const struct reader *reader_by_content(struct stream *input); // or NULL; consumes nothing
const struct reader *const *reader_list(void);                // ends with NULL

int reader_read(const struct reader *reader, struct stream *input, const char *name,
		const struct read_options *options, struct tables *tables, struct sink *sink);
