#include "read/reader.h"
#include "base/log.h"
#include "event/order.h"

#include <inttypes.h>
#include <string.h>

static const struct reader *const readers[] = {
	&spool_reader,       &etl_reader,  &etl_zip_reader, &etl_gzip_reader, &perf_data_reader,
	&perfetto_reader,    &dhat_reader,
	&folded_reader, // before perf-script, whose probe accepts more
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

void reader_impossible_cpus(const char *name, uint64_t count) {
	if (count)
		log_warning("%s: %" PRIu64 " event%s a CPU that cannot exist; shown without one", name, count,
			    count == 1 ? " names" : "s name");
}

int reader_in_order(int (*read)(struct stream *input, const char *name, const struct read_options *options,
				struct tables *tables, struct sink *sink),
		    struct stream *input, const char *name, const struct read_options *options,
		    struct tables *tables, struct sink *sink) {
	struct sink *order = order_new(sink);
	int error = read(input, name, options, tables, order);
	if (!error)
		error = order_flush(order);
	reader_impossible_cpus(name, order_impossible(order));
	order_free(order);
	return error;
}
