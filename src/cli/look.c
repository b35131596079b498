#include "cli/look.h"
#include "base/log.h"
#include "event/order.h"

#include <errno.h>
#include <string.h>

int look_open(struct look *look, const char *path) {
	*look = (struct look){.path = path};
	int error = stream_open(&look->input, path);
	if (error) {
		log_error("%s: cannot be read: %s", path, strerror(-error));
		return error;
	}
	look->reader = reader_by_content(&look->input);
	if (look->reader)
		return 0;
	if (look->input.error)
		log_error("%s: cannot be read: %s", path, strerror(-look->input.error));
	else
		log_error("%s: %s", path,
			  stream_available(&look->input) ? "of no format that tracelet reads" : "is empty");
	look_close(look);
	return -EINVAL;
}

void look_close(struct look *look) {
	stream_close(&look->input);
}

int look_read(struct look *look, const struct read_options *options, struct tables *tables,
		   struct sink *sink) {
	struct sink *first = look->reader->ordered ? sink : order_new(sink);
	int error = reader_read(look->reader, &look->input, look->path, options, tables, first);
	if (!error)
		error = sink_finish(first);
	sink_destroy(first);
	return error;
}

bool parse_time(const char *text, uint64_t *nanoseconds) {
	static const struct {
		const char *unit;
		double scale;
	} units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
	char *end;
	errno = 0;
	double number = strtod(text, &end);
	if (end == text || errno || !(number >= 0))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(end, units[i].unit) != 0)
			continue;
		number *= units[i].scale;
		if (number >= 1.8e19)
			return false;
		*nanoseconds = (uint64_t)number;
		return true;
	}
	return false;
}
