#include "flow/pipeline.h"

#include "base/log.h"
#include "base/system.h"
#include "event/blocked.h"
#include "event/locate.h"
#include "symbol/symbolizer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

static const char *name_of(const struct pipeline *pipeline) {
	return pipeline->name ? pipeline->name : pipeline->path;
}

// ---- the input ----

static bool is_text(const struct stream *input) {
	enum { LOOKED_AT = 4096 };
	size_t size = MIN(stream_available(input), (size_t)LOOKED_AT);
	return size && !memchr(input->data + input->begin, 0, size);
}

static int choose_reader(struct pipeline *pipeline) {
	struct stream *input = &pipeline->input;
	pipeline->reader = reader_by_content(input);
	if (!pipeline->reader && pipeline->samples && is_text(input))
		pipeline->reader = &perf_script_reader;
	bool empty = !stream_available(input);
	if (pipeline->reader || (empty && pipeline->samples && !input->error))
		return 0;
	if (input->error)
		log_error("%s: cannot be read: %s", name_of(pipeline), strerror(-input->error));
	else
		log_error("%s: %s", name_of(pipeline),
			  empty ? "the file is empty" : "not in a format that tracelet reads");
	return input->error ? input->error : -EINVAL;
}

// Opens another input of the recording; only some formats have several.
static int open_other(struct pipeline *pipeline, const char *path) {
	struct stream *input = memory_alloc(sizeof(*input));
	int error = stream_open(input, path);
	if (error) {
		log_error("%s: cannot be read: %s", path, strerror(-error));
		free(input);
		return error;
	}
	pipeline->others[pipeline->options.more_count++] = (struct read_more){.input = input, .name = path};
	const struct reader *reader = reader_by_content(input);
	if (pipeline->reader && pipeline->reader->together && reader && reader->together)
		return 0;
	log_error("%s: only ETL files can be read together; %s is not one",
		  pipeline->reader && pipeline->reader->together ? path : name_of(pipeline),
		  pipeline->reader && pipeline->reader->together ? "this" : "the first");
	return -EINVAL;
}

static int open_others(struct pipeline *pipeline) {
	int error = 0;
	if (!pipeline->more_count)
		return 0;
	pipeline->others = memory_alloc(pipeline->more_count * sizeof(*pipeline->others));
	pipeline->options.more = pipeline->others;
	pipeline->options.more_count = 0;
	for (size_t i = 0; !error && i < pipeline->more_count; i++)
		error = open_other(pipeline, pipeline->more[i]);
	return error;
}

static void close_inputs(struct pipeline *pipeline) {
	stream_close(&pipeline->input);
	for (size_t i = 0; pipeline->others && i < pipeline->options.more_count; i++) {
		stream_close(pipeline->others[i].input);
		free(pipeline->others[i].input);
	}
	free(pipeline->others);
	pipeline->others = NULL;
	pipeline->options.more = NULL;
	pipeline->options.more_count = 0;
}

// perf's recordings may be folders: of `perf record --threads`, and with the kernel's symbols of --kcore.
static int open_folder(struct pipeline *pipeline) {
	CLEANUP_FREE char *data = memory_format("%s/data", pipeline->path);
	if (stream_open_regular(&pipeline->input, data))
		return -EISDIR;
	CLEANUP_FREE char *kallsyms = memory_format("%s/kcore_dir/kallsyms", pipeline->path);
	struct stat status;
	if (system_link_stat(kallsyms, &status) == 0 && S_ISREG(status.st_mode))
		symbolizer_usual_kallsyms(kallsyms);
	pipeline->options.folder = pipeline->path;
	return 0;
}

static int open_first(struct pipeline *pipeline) {
	int error = stream_open(&pipeline->input, pipeline->path);
	if (error == -EISDIR)
		error = open_folder(pipeline);
	if (error)
		log_error("%s: cannot be read: %s", name_of(pipeline), strerror(-error));
	return error;
}

int pipeline_open(struct pipeline *pipeline) {
	int error = open_first(pipeline);
	if (error)
		return error;
	if (pipeline->growing) {
		pipeline->input.wait = pipeline->growing->more;
		pipeline->input.wait_context = pipeline->growing->context;
	}
	error = pipeline->reader ? 0 : choose_reader(pipeline);
	if (!error)
		error = open_others(pipeline);
	if (error)
		close_inputs(pipeline);
	return error;
}

// ---- the progress line ----

struct progress {
	struct sink sink;
	struct sink *next;
	const struct pipeline *pipeline;
	struct timespec begun;
	uint64_t pushed;
};

static void show_progress(const struct progress *progress) {
	const struct stream *input = &progress->pipeline->input;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (input->total && now.tv_sec - progress->begun.tv_sec > 1)
		log_progress("reading %s: %" PRIu64 " %%", name_of(progress->pipeline),
			     input->offset * 100 / input->total);
}

static int progress_push(struct sink *sink, const struct event *event) {
	enum { EVERY = 1 << 16 };
	struct progress *progress = CONTAINER_OF(sink, struct progress, sink);
	if (++progress->pushed % EVERY == 0)
		show_progress(progress);
	return sink_push(progress->next, event);
}

static int progress_finish(struct sink *sink) {
	log_progress(NULL);
	return sink_finish(CONTAINER_OF(sink, struct progress, sink)->next);
}

static void progress_destroy(struct sink *sink) {
	struct progress *progress = CONTAINER_OF(sink, struct progress, sink);
	log_progress(NULL);
	sink_destroy(progress->next);
	free(progress);
}

// Without a terminal to show it on, events do not pass through it.
static struct sink *progress_new(const struct pipeline *pipeline, struct sink *next) {
	if (pipeline->quiet || (pipeline->lines && system_is_terminal(STDOUT_FILENO)) ||
	    log_get_level() == LOG_QUIET || !system_is_terminal(STDERR_FILENO))
		return next;
	struct progress *progress = memory_alloc(sizeof(*progress));
	progress->sink = (struct sink){
		.push = progress_push, .finish = progress_finish, .destroy = progress_destroy};
	progress->next = next;
	progress->pipeline = pipeline;
	clock_gettime(CLOCK_MONOTONIC, &progress->begun);
	return &progress->sink;
}

// ---- a sink that several inputs share ----

struct shared {
	struct sink sink;
	struct sink *next;
	uint32_t sample_flags;
};

static int shared_push(struct sink *sink, const struct event *event) {
	struct shared *shared = CONTAINER_OF(sink, struct shared, sink);
	if (!shared->sample_flags || event->kind != EVENT_SAMPLE)
		return sink_push(shared->next, event);
	struct event marked = *event;
	marked.sample.flags |= shared->sample_flags;
	return sink_push(shared->next, &marked);
}

static int shared_finish(struct sink *sink) {
	return 0;
}

static void shared_destroy(struct sink *sink) {
	free(CONTAINER_OF(sink, struct shared, sink));
}

static struct sink *shared_new(struct sink *next, uint32_t sample_flags) {
	struct shared *shared = memory_alloc(sizeof(*shared));
	shared->sink = (struct sink){.push = shared_push, .finish = shared_finish, .destroy = shared_destroy};
	shared->next = next;
	shared->sample_flags = sample_flags;
	return &shared->sink;
}

// ---- the whole ----

int pipeline_run(struct pipeline *pipeline, struct tables *tables, struct sink *sink) {
	if (pipeline->shared)
		sink = shared_new(sink, pipeline->sample_flags);
	for (size_t i = 0; i < PIPELINE_TAPS && pipeline->taps[i].open; i++)
		sink = pipeline->taps[i].open(pipeline->taps[i].context, tables, sink);
	if (pipeline->tally)
		sink = tally_init(pipeline->tally, sink);
	sink = blocked_new(tables, sink);
	if (!pipeline->raw)
		sink = locate_new(tables, sink);
	sink = pipeline->first = progress_new(pipeline, sink);
	int error = pipeline->reader ? reader_read(pipeline->reader, &pipeline->input, name_of(pipeline),
						   &pipeline->options, tables, sink)
				     : 0;
	return error ? error : sink_finish(sink);
}

void pipeline_close(struct pipeline *pipeline) {
	sink_destroy(pipeline->first);
	pipeline->first = NULL;
	close_inputs(pipeline);
}

size_t pipeline_together(const char *const *paths, size_t count) {
	size_t together = 0;
	for (bool found = true; found && together < count && strcmp(paths[together], "-") != 0;) {
		struct stream input;
		if (stream_open(&input, paths[together]))
			break;
		const struct reader *reader = reader_by_content(&input);
		found = reader && reader->together;
		together += found;
		stream_close(&input);
	}
	return MAX(together, (size_t)1);
}

int pipeline_samples(const char *const *paths, size_t count, const struct reader *reader, uint32_t flags,
		     struct tables *tables, struct sink *sink) {
	struct pipeline pipeline = {.path = paths[0],
				    .more = paths + 1,
				    .more_count = count - 1,
				    .reader = reader,
				    .samples = true,
				    .shared = true,
				    .sample_flags = flags};
	int error = pipeline_open(&pipeline);
	if (error)
		return error;
	error = pipeline_run(&pipeline, tables, sink);
	pipeline_close(&pipeline);
	return error;
}

struct tables pipeline_tables(bool inlined) {
	struct tables tables = tables_new();
	tables.symbolizer = symbolizer_new(inlined);
	return tables;
}

void pipeline_tables_free(struct tables *tables) {
	symbolizer_free(tables->symbolizer);
	tables_free(tables);
}
