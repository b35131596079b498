// The interface of the ETL reader, for `convert`, `dump`, `table` and `info`. Packed files have readers of
// their own, so that their first bytes are recognised; the rest is the same.
#include "read/etl/events.h"
#include "read/etl/info.h"

static int read_with(struct stream *input, const char *name, const struct read_options *options,
		     struct tables *tables, struct sink *sink) {
	struct etl_events events = {.tables = tables, .sink = sink, .options = options};
	struct etl_inputs inputs = {0};
	int error = etl_inputs_open(&inputs, input, name, options);
	if (!error) {
		error = etl_events_read(&events, &inputs);
		etl_events_free(&events);
	}
	etl_inputs_close(&inputs);
	return error;
}

static int describe(struct stream *input, const char *name, const struct read_options *options,
		    struct buffer *out) {
	struct etl_info info;
	struct etl_inputs inputs = {0};
	int error = etl_inputs_open(&inputs, input, name, options);
	if (!error) {
		error = etl_info_gather(&info, &inputs, options->manifests);
		if (!error)
			(options->json ? etl_info_json : etl_info_text)(&info, out);
		etl_info_free(&info);
	}
	etl_inputs_close(&inputs);
	return error;
}

#define READER(...)                                                                                          \
	{ __VA_ARGS__, .read_with = read_with, .describe = describe, .has_records = true, .together = true }

const struct reader etl_reader = READER(.name = "etl", .extension = "etl", .description = "a Windows trace",
					.probe = etl_file_probe);
const struct reader etl_zip_reader = READER(.name = "etl.zip", .extension = "zip",
					    .description = "Windows traces in a zip file",
					    .probe = etl_zip_probe);
const struct reader etl_gzip_reader = READER(.name = "etl.gz", .extension = "gz",
					     .description = "a Windows trace that gzip packed",
					     .probe = etl_gzip_probe);
