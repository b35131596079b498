#include "read/reader.h"

#include <string.h>

static const struct reader *const readers[] = {
	&spool_reader,       &etl_reader, &etl_zip_reader, &perf_data_reader, &perfetto_reader, &dhat_reader,
	&folded_reader, // before perf-script, which takes more for its own
	&perf_script_reader, NULL,
};

enum { PROBE_SIZE = 4096 };

const struct reader *reader_by_name(const char *name) {
	for (size_t i = 0; readers[i]; i++)
		if (strcmp(readers[i]->name, name) == 0)
			return readers[i];
	return NULL;
}

const struct reader *reader_by_content(struct stream *input) {
	const uint8_t *head = stream_need(input, PROBE_SIZE);
	size_t size = head ? PROBE_SIZE : stream_available(input);
	for (size_t i = 0; readers[i]; i++)
		if (size && readers[i]->probe(input->data + input->begin, size))
			return readers[i];
	return NULL;
}

const struct reader *const *reader_list(void) {
	return readers;
}

int reader_read(const struct reader *reader, struct stream *input, const char *name,
		const struct read_options *options, struct tables *tables, struct sink *sink) {
	return reader->read_with ? reader->read_with(input, name, options, tables, sink)
				 : reader->read(input, name, tables, sink);
}
