#include "session/profile.h"

#include "base/log.h"
#include "event/blocked.h"
#include "event/locate.h"
#include "event/order.h"
#include "symbol/symbolizer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

// A sink in front that marks what belongs to the baseline and shows how far the
// input has been read.
struct tap {
	struct sink sink;
	struct sink *next;
	const struct stream *input;
	const char *name;
	uint32_t flags;
	uint64_t pushed;
	struct timespec begun;
};

enum { PROGRESS_EVERY = 1 << 16 };

static void show_progress(struct tap *tap) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec - tap->begun.tv_sec > 1 && tap->input->total)
		log_progress("reading %s: %" PRIu64 " %%", tap->name,
			     tap->input->offset * 100 / tap->input->total);
}

static int tap_push(struct sink *sink, const struct event *event) {
	struct tap *tap = CONTAINER_OF(sink, struct tap, sink);
	if (++tap->pushed % PROGRESS_EVERY == 0)
		show_progress(tap);
	if (!tap->flags || event->kind != EVENT_SAMPLE)
		return sink_push(tap->next, event);
	struct event marked = *event;
	marked.sample.flags |= tap->flags;
	return sink_push(tap->next, &marked);
}

// The sink behind is the caller's to finish.
static int tap_finish(struct sink *sink) {
	return 0;
}

static void tap_destroy(struct sink *sink) {
}

static const struct reader *choose_reader(struct stream *input) {
	const struct reader *reader = reader_by_content(input);
	size_t size = MIN(stream_available(input), 4096u);
	bool text = size && !memchr(input->data + input->begin, 0, size);
	return reader ? reader : text ? &perf_script_reader : NULL;
}

static int read_stream(struct stream *input, const char *path, const struct reader *reader,
		       struct tables *tables, struct sink *sink, uint32_t flags) {
	if (!reader)
		reader = choose_reader(input);
	if (!reader && input->error) {
		log_error("%s: cannot be read: %s", path, strerror(-input->error));
		return input->error;
	}
	if (!reader && !stream_available(input))
		return 0;
	if (!reader) {
		log_error("%s: of no format that tracelet reads", path);
		return -EINVAL;
	}
	struct tap tap = {.sink = {.push = tap_push, .finish = tap_finish, .destroy = tap_destroy},
			  .next = sink,
			  .input = input,
			  .name = path,
			  .flags = flags};
	clock_gettime(CLOCK_MONOTONIC, &tap.begun);
	if (!tables->symbolizer)
		tables->symbolizer = symbolizer_new(true);
	// Our own recordings tell addresses, and who maps what, in any order.
	bool raw = reader == &spool_reader;
	struct sink *first = raw ? order_new(locate_new(tables, blocked_new(tables, &tap.sink))) : &tap.sink;
	int error = reader_read(reader, input, path, &(struct read_options){0}, tables, first);
	if (raw && !error)
		error = sink_finish(first);
	if (raw)
		sink_destroy(first);
	log_progress(NULL);
	return error;
}

static int read_path(const char *path, const struct reader *reader, struct tables *tables, struct sink *sink,
		     uint32_t flags) {
	struct stream input;
	int error = stream_open(&input, path);
	if (error) {
		log_error("%s: cannot be read: %s", path, strerror(-error));
		return error;
	}
	error = read_stream(&input, path, reader, tables, sink, flags);
	stream_close(&input);
	return error;
}

int profile_read(const char *path, const struct reader *reader, struct tables *tables, struct sink *sink) {
	return read_path(path, reader, tables, sink, 0);
}

int profile_read_baseline(const char *path, const struct reader *reader, struct tables *tables,
			  struct sink *sink) {
	return read_path(path, reader, tables, sink, SAMPLE_BASELINE);
}

struct tables profile_tables_new(const struct profile_options *options) {
	struct tables tables = tables_new();
	tables.symbolizer = symbolizer_new(!options->no_inline);
	return tables;
}

void profile_tables_free(struct tables *tables) {
	symbolizer_free(tables->symbolizer);
	tables_free(tables);
}
