#include "flow/explain.h"

#include "base/log.h"
#include "flow/report.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

// Longer recordings are explained by `tracelet why`, which may take more memory than the tracer of a test.
enum { MOST_MOMENTS = 1 << 20 };

struct explain {
	struct sink sink, *next;
	struct timeline timeline;
	struct explanation
		*explanation; // NULL to write only the track, and only if the recording is of a test
	bool open;
};

static void close_timeline(struct explain *explain) {
	if (explain->open)
		timeline_free(&explain->timeline);
	explain->open = false;
}

static int push(struct sink *sink, const struct event *event) {
	struct explain *explain = CONTAINER_OF(sink, struct explain, sink);
	if (explain->open) {
		bool known = explain->explanation || explain->timeline.command;
		sink_push(&explain->timeline.sink, event);
		if (explain->timeline.moment_count > MOST_MOMENTS || (event->kind == EVENT_SWITCH && !known))
			close_timeline(explain);
	}
	return sink_push(explain->next, event);
}

static char *text_of(struct buffer *buffer) {
	buffer_append(buffer, "", 1);
	return (char *)buffer->data;
}

static void keep_words(struct explanation *explanation, struct why *why) {
	struct buffer text = {0}, digest = {0};
	struct why_parts parts;
	why_cause(why, &text);
	why_parts_of(&parts, why);
	why_digest(&parts, &digest);
	why_parts_free(&parts);
	explanation->text = text_of(&text);
	explanation->digest = text_of(&digest);
}

static uint64_t now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static int add_path(struct explain *explain) {
	uint64_t begun = now();
	struct why why;
	int error = 0;
	sink_finish(&explain->timeline.sink);
	if (!why_find(&why, &explain->timeline, &(struct why_question){0})) {
		if (explain->explanation)
			keep_words(explain->explanation, &why);
		error = why_push_path(&why, explain->next);
	}
	why_free(&why);
	log_verbose("finding the critical path took %" PRIu64 " us", (now() - begun) / 1000);
	return error;
}

static int finish(struct sink *sink) {
	struct explain *explain = CONTAINER_OF(sink, struct explain, sink);
	int error = explain->open ? add_path(explain) : 0;
	close_timeline(explain);
	return error ? error : sink_finish(explain->next);
}

static void destroy(struct sink *sink) {
	struct explain *explain = CONTAINER_OF(sink, struct explain, sink);
	close_timeline(explain);
	sink_destroy(explain->next);
	free(explain);
}

static struct sink *open_explain(void *context, struct tables *tables, struct sink *next) {
	struct explain *explain = memory_alloc(sizeof(*explain));
	explain->sink = (struct sink){.push = push, .finish = finish, .destroy = destroy};
	explain->next = next;
	explain->explanation = context;
	explain->open = true;
	timeline_init(&explain->timeline, tables);
	if (explain->explanation)
		explanation_free(explain->explanation); // of an attempt that failed
	return &explain->sink;
}

struct tap explain_tap(struct explanation *explanation) {
	return (struct tap){.open = open_explain, .context = explanation};
}

// ---- without a trace ----

static int take_nothing(struct sink *sink, const struct event *event) {
	return 0;
}

static int finish_nothing(struct sink *sink) {
	return 0;
}

static void destroy_nothing(struct sink *sink) {
}

int explain_spool(const char *path, struct explanation *explanation, struct tap also) {
	struct sink nothing = {.push = take_nothing, .finish = finish_nothing, .destroy = destroy_nothing};
	struct pipeline pipeline = {.path = path,
				    .reader = &spool_reader,
				    .quiet = true,
				    .taps = {explain_tap(explanation), also}};
	int error = pipeline_open(&pipeline);
	if (error)
		return error;
	struct tables tables = pipeline_tables(true);
	error = pipeline_run(&pipeline, &tables, &nothing);
	pipeline_close(&pipeline);
	pipeline_tables_free(&tables);
	return error;
}

// ---- earlier runs ----

// Digests only: the test must not wait until the trace of another run is read.
void explain_difference(struct explanation *explanation, const char *folder,
			const struct manifest_record *record) {
	uint64_t begun = now();
	CLEANUP_FREE char *only = report_test_text(record->test);
	struct report_run run = {.most = REPORT_RECENT, .only = only};
	struct why_passes others = {0};
	struct why_parts parts = {0}, before = {0};
	struct why_difference difference = {0};
	report_add_folder(&run, folder);
	const struct report_record *own = report_add_own(&run, folder, record);
	const struct report_record *last = own ? report_last_pass(&run, own, &others) : NULL;
	const char *digest = last ? last->record.time_digest : NULL;
	if (digest && why_parts_read(&before, digest) && why_parts_read(&parts, explanation->digest)) {
		struct buffer text = {0};
		buffer_text(&text, explanation->text);
		why_compare(&difference, &parts, &before, &others);
		why_say_difference(&difference, &text);
		free(explanation->text);
		explanation->text = text_of(&text);
	}
	why_difference_free(&difference);
	why_parts_free(&parts);
	why_parts_free(&before);
	why_passes_free(&others);
	report_run_free(&run);
	log_verbose("comparing it with earlier runs took %" PRIu64 " us", (now() - begun) / 1000);
}

void explanation_free(struct explanation *explanation) {
	free(explanation->text);
	free(explanation->digest);
	*explanation = (struct explanation){0};
}
