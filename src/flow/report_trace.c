// Reads a recording once, into the time line of `tracelet why` and into the page; then adds the critical
// path, as pieces and as samples, and the samples of a heap profile and of the last passing run.
#include "flow/report.h"

#include "analyse/path_samples.h"
#include "analyse/table.h"
#include "base/log.h"

#include <string.h>

// ---- reasons ----

static uint8_t reason_of(void *context, const struct page_state *state) {
	struct report_trace *trace = context;
	uint16_t task_state = (state->kind & PAGE_STATE_KIND) == PAGE_DISK ? STATE_DISK : STATE_SLEEPING;
	enum reason reason = state->what ? place_of(&trace->why.places, state->what)->reason : REASON_UNKNOWN;
	if (state->reason && (reason == REASON_UNKNOWN || reason == REASON_OTHER))
		reason = reason_of_windows(state->reason);
	return (uint8_t)(reason == REASON_UNKNOWN ? reason_of_state(task_state, reason) : reason);
}

static const struct {
	uint8_t reason, colour;
} colours[] = {
	{REASON_CPU, COLOUR_RUNS},      {REASON_READY, COLOUR_READY},      {REASON_THROTTLED, COLOUR_READY},
	{REASON_SLEEP, COLOUR_SLEEPS},  {REASON_TIMEOUT, COLOUR_SLEEPS},   {REASON_MUTEX, COLOUR_LOCK},
	{REASON_RWLOCK, COLOUR_LOCK},   {REASON_CONDITION, COLOUR_LOCK},   {REASON_SEMAPHORE, COLOUR_LOCK},
	{REASON_FUTEX, COLOUR_LOCK},    {REASON_KERNEL_LOCK, COLOUR_LOCK}, {REASON_DISK, COLOUR_DISK},
	{REASON_FSYNC, COLOUR_DISK},    {REASON_PAGE_FAULT, COLOUR_DISK},  {REASON_MEMORY, COLOUR_DISK},
	{REASON_IO_URING, COLOUR_DISK},
};

// The others are waits for other tasks and for the world.
void report_colours(uint8_t all[REASON_COUNT]) {
	memset(all, COLOUR_WAITS, REASON_COUNT);
	for (size_t i = 0; i < ARRAY_SIZE(colours); i++)
		all[colours[i].reason] = colours[i].colour;
}

// ---- one sink for two ----

struct both {
	struct sink sink;
	struct report_trace *trace;
	struct sink *samples;    // the path as samples
	struct timeline *before; // of the last passing run, or NULL
};

static int push_both(struct sink *sink, const struct event *event) {
	struct both *both = CONTAINER_OF(sink, struct both, sink);
	sink_push(&both->trace->timeline.sink, event);
	sink_push(both->samples, event);
	if (both->trace->tables_set)
		sink_push(both->trace->tables_set, event);
	return event->kind == EVENT_PATH ? 0 : sink_push(&both->trace->page.sink, event);
}

static int finish_both(struct sink *sink) {
	return 0;
}

static void destroy_both(struct sink *sink) {
}

static int read_into(const char *path, struct tables *tables, struct sink *sink) {
	struct pipeline pipeline = {.path = path, .shared = true};
	int error = pipeline_open(&pipeline);
	if (error)
		return error;
	error = pipeline_run(&pipeline, tables, sink);
	pipeline_close(&pipeline);
	return error;
}

// ---- the last passing run ----

static int push_base(struct sink *sink, const struct event *event) {
	struct both *both = CONTAINER_OF(sink, struct both, sink);
	struct event marked = *event;
	if (event->kind == EVENT_PATH)
		return 0;
	sink_push(both->samples, event);
	sink_push(&both->before->sink, event);
	if (event->kind == EVENT_SAMPLE)
		marked.sample.flags |= SAMPLE_BASELINE;
	return sink_push(&both->trace->page.sink, &marked);
}

static void read_baseline(struct report_trace *trace, const char *path) {
	struct timeline timeline;
	struct both both = {.sink = {.push = push_base, .finish = finish_both, .destroy = destroy_both},
			    .trace = trace,
			    .before = &timeline};
	struct why why = {0};
	timeline_init(&timeline, &trace->tables);
	both.samples = path_samples_new(&trace->tables, SAMPLE_BASELINE, &trace->page.sink);
	trace->page.baseline = true;
	if (!read_into(path, &trace->tables, &both.sink)) {
		sink_finish(&timeline.sink);
		if (!why_find(&why, &timeline, &(struct why_question){0})) {
			sink_finish(both.samples);
			why_parts_of(&trace->base_parts, &why);
			why_compare_order(&trace->difference, &trace->why, &why);
			trace->compared = true;
		}
		why_free(&why);
	}
	sink_destroy(both.samples);
	timeline_free(&timeline);
}

static void compare(struct report_trace *trace, const struct report_files *files) {
	if (files->baseline)
		read_baseline(trace, files->baseline);
	if (!trace->compared && files->baseline_digest)
		trace->compared = why_parts_read(&trace->base_parts, files->baseline_digest);
	if (!trace->compared)
		return;
	trace->difference.baseline = files->baseline;
	why_compare(&trace->difference, &trace->parts, &trace->base_parts, files->others);
}

// ---- the whole ----

int report_trace_read(struct report_trace *trace, const struct report_files *files) {
	*trace = (struct report_trace){.tables = pipeline_tables(true)};
	struct page_reasons reasons = {.names = reason_names,
				       .colours = trace->colours,
				       .count = REASON_COUNT,
				       .of = reason_of,
				       .context = trace};
	struct both both = {.sink = {.push = push_both, .finish = finish_both, .destroy = destroy_both},
			    .trace = trace};
	trace->tables.details = true;
	report_colours(trace->colours);
	timeline_init(&trace->timeline, &trace->tables);
	page_trace_init(&trace->page, &trace->tables, &reasons);
	both.samples = path_samples_new(&trace->tables, 0, &trace->page.sink);
	trace->tables_set = files->all_tables ? table_set_new(&trace->tables) : NULL;
	int error = read_into(files->trace, &trace->tables, &both.sink);
	if (!error) {
		sink_finish(&trace->timeline.sink);
		trace->explained = !why_find(&trace->why, &trace->timeline, &(struct why_question){0});
	}
	if (trace->explained) {
		why_push_path(&trace->why, &trace->page.sink);
		sink_finish(both.samples);
		why_parts_of(&trace->parts, &trace->why);
	}
	sink_destroy(both.samples);
	if (!error)
		error = sink_finish(&trace->page.sink);
	if (!error && trace->tables_set)
		sink_finish(trace->tables_set);
	if (!error && files->heap)
		read_into(files->heap, &trace->tables, &trace->page.sink);
	if (!error && trace->explained)
		compare(trace, files);
	return error;
}

void report_trace_free(struct report_trace *trace) {
	sink_destroy(trace->tables_set);
	why_difference_free(&trace->difference);
	why_parts_free(&trace->parts);
	why_parts_free(&trace->base_parts);
	why_free(&trace->why);
	page_trace_free(&trace->page);
	timeline_free(&trace->timeline);
	pipeline_tables_free(&trace->tables);
}
