// The ETL reader: the doors for `convert`, `dump`, `table` and `info`.
#include "read/etl_events.h"
#include "read/etl_info.h"

static int read_with(struct stream *input, const char *name, const struct read_options *options,
		     struct tables *tables, struct sink *sink) {
	struct etl_events events = {.tables = tables, .sink = sink, .options = options};
	int error = etl_events_read(&events, input, name);
	etl_events_free(&events);
	return error;
}

static int describe(struct stream *input, const char *name, const struct read_options *options,
		    struct buffer *out) {
	struct etl_info info;
	int error = etl_info_gather(&info, input, name, options->manifests);
	if (!error)
		(options->json ? etl_info_json : etl_info_text)(&info, out);
	etl_info_free(&info);
	return error;
}

const struct reader etl_reader = {
	.name = "etl",
	.extension = "etl",
	.description = "a trace of Windows",
	.probe = etl_file_probe,
	.read_with = read_with,
	.describe = describe,
	.ordered = true,
};
