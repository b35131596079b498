#include "session/convert.h"
#include "base/log.h"
#include "event/blocked.h"
#include "event/locate.h"
#include "event/order.h"
#include "session/artifact.h"
#include "session/sha256.h"
#include "symbol/symbolizer.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

// ---- a sink that shows how far the input has been read ----

struct progress {
	struct sink sink;
	struct sink *next;
	const struct stream *input;
	const char *name;
	struct timespec begun;
	uint64_t pushed;
};

enum { PROGRESS_EVERY = 1 << 16 };

static void show_progress(struct progress *progress, uint64_t more) {
	progress->pushed += more;
	if (progress->pushed < PROGRESS_EVERY || !progress->input->total)
		return;
	progress->pushed = 0;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec - progress->begun.tv_sec > 1)
		log_progress("converting %s: %" PRIu64 " %%", progress->name,
			     progress->input->offset * 100 / progress->input->total);
}

static int progress_push(struct sink *sink, const struct event *event) {
	struct progress *progress = CONTAINER_OF(sink, struct progress, sink);
	show_progress(progress, 1);
	return sink_push(progress->next, event);
}

static int progress_push_run(struct sink *sink, const struct record_run *run) {
	enum { RECORD_BYTES = 24 }; // of most
	struct progress *progress = CONTAINER_OF(sink, struct progress, sink);
	show_progress(progress, run ? run->size / RECORD_BYTES : 0);
	return progress->next->push_run(progress->next, run);
}

static int progress_finish(struct sink *sink) {
	log_progress(NULL);
	return sink_finish(CONTAINER_OF(sink, struct progress, sink)->next);
}

static void progress_destroy(struct sink *sink) {
	sink_destroy(CONTAINER_OF(sink, struct progress, sink)->next);
}

// ---- the pipeline ----

static int run_pipeline(const struct conversion *conversion, const struct reader *reader,
			struct stream *input, struct output *output, struct conversion_result *result) {
	struct tables tables = tables_new();
	tables.symbolizer = symbolizer_new(true);
	if (conversion->growing)
		symbolizer_wait_by(tables.symbolizer, conversion->growing->end, conversion->growing->context);
	struct sink *writer = conversion->writer->open(output, &tables);
	if (conversion->pictures)
		writer = pictures_new(conversion->pictures, &tables, writer);
	if (conversion->cases)
		writer = case_traces_sink(conversion->cases, &tables, writer);
	if (conversion->execs)
		writer = heap_execs_sink(conversion->execs, &tables, writer);
	struct sink *counted = tally_init(&result->tally, writer);
	struct sink *located = locate_new(&tables, blocked_new(&tables, counted));
	struct sink *order = reader->ordered ? NULL : order_new(located);
	struct progress progress = {
		.sink = {.push = progress_push, .finish = progress_finish, .destroy = progress_destroy},
		.next = order ? order : located,
		.input = input,
		.name = conversion->input,
	};
	if (progress.next->push_run)
		progress.sink.push_run = progress_push_run;
	clock_gettime(CLOCK_MONOTONIC, &progress.begun);
	struct sink *first = conversion->progress ? &progress.sink : progress.next;
	struct read_options options = {.manifests = conversion->manifests};
	int error = reader_read(reader, input, conversion->input, &options, &tables, first);
	if (!error)
		error = sink_finish(first);
	result->late = order ? order_late(order) : 0;
	sink_destroy(first);
	symbolizer_free(tables.symbolizer);
	tables_free(&tables);
	return error;
}

// While the input grows nobody has to know: it is tried again at its end.
static int not_written(const struct conversion *conversion, int error) {
	if (!conversion->growing)
		log_error("%s: cannot be written: %s", conversion->output, strerror(-error));
	return error;
}

static void add_to_sum(void *context, const void *bytes, size_t size) {
	sha256_add(context, bytes, size);
}

static int convert_stream(const struct conversion *conversion, struct stream *input,
			  struct conversion_result *result) {
	const struct reader *reader = conversion->reader ? conversion->reader : reader_by_content(input);
	if (!reader) {
		if (input->error)
			log_error("%s: cannot be read: %s", conversion->input, strerror(-input->error));
		else
			log_error("%s: %s", conversion->input,
				  stream_available(input) ? "of no format that tracelet reads" : "is empty");
		return -EINVAL;
	}
	struct output output;
	int error = output_open(&output, conversion->output, conversion->mode);
	if (error)
		return not_written(conversion, error);
	struct sha256 *sum = conversion->summed ? sha256_new() : NULL;
	if (sum) {
		output.seen = add_to_sum;
		output.seen_context = sum;
	}
	error = run_pipeline(conversion, reader, input, &output, result);
	bool told = error && !output.error; // by the reader
	if (!error && !output.error) {
		result->size = output.written + output.pending.size;
		error = output_commit(&output);
	} else if (output.error) {
		error = output.error;
	}
	if (error)
		output_abandon(&output);
	if (sum)
		artifact_sum_digits(sum, result->sha256);
	if (error)
		*result->sha256 = 0;
	return error && !told ? not_written(conversion, error) : error;
}

int convert(const struct conversion *conversion, struct conversion_result *result) {
	*result = (struct conversion_result){0};
	struct stream input;
	int error = stream_open(&input, conversion->input);
	if (error) {
		log_error("%s: cannot be read: %s", conversion->input, strerror(-error));
		return error;
	}
	if (conversion->growing) {
		input.wait = conversion->growing->more;
		input.wait_context = conversion->growing->context;
	}
	error = convert_stream(conversion, &input, result);
	stream_close(&input);
	return error;
}
