// One Perfetto trace from the events that a test pushes. `check` must find
// nothing in any of them.
#pragma once

#include "trace_view.h"

#include "check/check.h"
#include "event/order.h"
#include "write/writer.h"

#include <sys/mman.h>
#include <unistd.h>

enum { START = 1000 };

static struct {
	struct tables tables;
	struct output output;
	struct sink *sink;
} run;

static inline uint32_t text(const char *string) {
	return strings_add(run.tables.strings, string);
}

static inline void push(struct event event) {
	assert_int_equal(sink_push(run.sink, &event), 0);
}

static inline void fact(const char *key, const char *value) {
	push((struct event){
		.kind = EVENT_META, .cpu = CPU_NONE, .time = START, .meta = {text(key), text(value)}});
}

static inline void trace_open(bool ordered) {
	run.tables = tables_new();
	run.output = (struct output){.fd = memfd_create("trace", MFD_CLOEXEC)};
	assert_true(run.output.fd >= 0);
	run.sink = perfetto_writer.open(&run.output, &run.tables);
	if (ordered)
		run.sink = order_new(run.sink);
}

static inline void trace_begin(const char *scope) {
	trace_open(false);
	push((struct event){.kind = EVENT_START, .cpu = CPU_NONE, .time = START});
	fact("test", "unit");
	fact("scope", scope);
}

static inline void complain(const struct tl_finding *finding, void *context) {
	print_error("check: %s at %llu: %s\n", finding->kind, (unsigned long long)finding->offset,
		    finding->text);
}

static inline void assert_good(const struct buffer *trace) {
	struct stream input;
	struct tl_check_result result = TL_INIT(result);
	struct tl_check_opts options = {.size = sizeof(options), .on_finding = complain};
	stream_of_memory(&input, trace->data, trace->size);
	assert_int_equal(check_stream(&input, &options, &result), 0);
	stream_close(&input);
	assert_int_equal(result.defects + result.notes, 0);
	assert_int_equal(result.bytes, trace->size);
}

static inline void trace_finish(struct buffer *trace) {
	assert_int_equal(sink_finish(run.sink), 0);
	sink_destroy(run.sink);
	trace->size = 0;
	size_t written = (size_t)run.output.written;
	assert_int_equal(pread(run.output.fd, buffer_room(trace, written + 1), written, 0), written);
	trace->size = written;
	buffer_append(trace, run.output.pending.data, run.output.pending.size);
	output_abandon(&run.output);
	tables_free(&run.tables);
	assert_good(trace);
}

static inline struct view trace_end(void) {
	struct buffer trace = {0};
	trace_finish(&trace);
	struct view view = view_trace(&trace);
	buffer_free(&trace);
	return view;
}
