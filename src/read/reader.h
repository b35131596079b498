// The input side: one struct reader per format, selected by the first bytes of the input.
#pragma once

#include "base/buffer.h"
#include "base/stream.h"
#include "event/event.h"

// Another input of the same recording.
struct read_more {
	struct stream *input;
	const char *name; // for messages
};

// How to read an input; all zero is the default.
struct read_options {
	const struct read_more *more; // read together with the first input, by readers that can (`together`)
	size_t more_count;
	const char *folder;           // the input is the file `data` in it (perf); or NULL
	const char *const *manifests; // files that describe events, NULL-terminated; or NULL
	bool records;                 // push every record unchanged, as a generic event
	bool images;                  // also push loaded images, including those loaded before the trace
	bool json;                    // for describe()
};

struct reader {
	const char *name;      // for --from
	const char *extension; // without the dot
	const char *description;
	bool (*probe)(const uint8_t *head,
		      size_t size); // whether the first bytes (up to 4096) look like this format
	// Pushes all events into `sink` in time order; does not finish it. Counts events that come
	// too late (EVENT_LATE). `name` is the input's name for messages. Returns 0 or -errno, with
	// the error logged.
	int (*read)(struct stream *input, const char *name, struct tables *tables, struct sink *sink);
	// The same with options, for formats that have any; read() may then be NULL.
	int (*read_with)(struct stream *input, const char *name, const struct read_options *options,
			 struct tables *tables, struct sink *sink);
	// Prints the format's own details for `tracelet info`, as text or JSON; or NULL.
	int (*describe)(struct stream *input, const char *name, const struct read_options *options,
			struct buffer *out);
	bool has_records; // supports the option `records`
	bool together;    // reads several inputs as one recording, also those of other such readers
};

extern const struct reader spool_reader, etl_reader, folded_reader, perf_script_reader, perf_data_reader,
	etl_zip_reader, etl_gzip_reader, perfetto_reader, dhat_reader;

const struct reader *reader_by_name(const char *name);        // or NULL
const struct reader *reader_by_content(struct stream *input); // or NULL; consumes nothing
const struct reader *const *reader_list(void);                // NULL-terminated

int reader_read(const struct reader *reader, struct stream *input, const char *name,
		const struct read_options *options, struct tables *tables, struct sink *sink);

// A folder of the user's own event manifests, read with every ETL file; NULL, as in the beginning: none.
void reader_set_manifest_folder(const char *path);

// Warns about events whose CPU cannot exist, unless `count` is 0.
void reader_impossible_cpus(const char *name, uint64_t count);

// For formats whose events are out of order: runs `read` with an orderer in front of the sink.
int reader_in_order(int (*read)(struct stream *input, const char *name, const struct read_options *options,
				struct tables *tables, struct sink *sink),
		    struct stream *input, const char *name, const struct read_options *options,
		    struct tables *tables, struct sink *sink);
