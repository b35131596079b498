#include "cli/look.h"
#include "base/log.h"
#include "base/system.h"
#include "event/blocked.h"
#include "event/locate.h"
#include "event/order.h"
#include "symbol/symbolizer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

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

// ---- a sink that shows how far the input has been read ----

struct progress {
	struct sink sink;
	struct sink *next;
	const struct look *look;
	time_t begun;
	uint64_t pushed;
};

enum { PROGRESS_EVERY = 1 << 16 };

static int progress_push(struct sink *sink, const struct event *event) {
	struct progress *progress = CONTAINER_OF(sink, struct progress, sink);
	const struct stream *input = &progress->look->input;
	if (++progress->pushed % PROGRESS_EVERY == 0 && input->total && time(NULL) - progress->begun > 1)
		log_progress("reading %s: %" PRIu64 " %%", progress->look->path,
			     input->offset * 100 / input->total);
	return sink_push(progress->next, event);
}

static int progress_finish(struct sink *sink) {
	log_progress(NULL);
	return sink_finish(CONTAINER_OF(sink, struct progress, sink)->next);
}

static void progress_destroy(struct sink *sink) {
	sink_destroy(CONTAINER_OF(sink, struct progress, sink)->next);
}

int look_read(struct look *look, const struct read_options *options, struct tables *tables,
	      struct sink *sink) {
	if (!look->reader->ordered)
		sink = blocked_new(tables, sink);
	if (look->names) {
		tables->symbolizer = symbolizer_new(true);
		sink = locate_new(tables, sink);
	}
	struct progress progress = {
		.sink = {.push = progress_push, .finish = progress_finish, .destroy = progress_destroy},
		.next = look->reader->ordered ? sink : order_new(sink),
		.look = look,
		.begun = time(NULL),
	};
	// A progress line among lines of output helps nobody.
	struct sink *first = look->lines && system_is_terminal(STDOUT_FILENO) ? progress.next
									      : &progress.sink;
	int error = reader_read(look->reader, &look->input, look->path, options, tables, first);
	if (!error)
		error = sink_finish(first);
	log_progress(NULL);
	sink_destroy(first);
	if (look->names)
		symbolizer_free(tables->symbolizer);
	tables->symbolizer = NULL;
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
