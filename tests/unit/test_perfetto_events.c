// Samples, generic events and counters, written by the Perfetto writer and
// examined by `tracelet check`'s own walker. With TRACELET_KEEP=FILE in the
// environment the trace of the first test stays there, and the one about waits in
// FILE.waits, for the importer's test.
#include "unit.h"

#include "check/check.h"
#include "event/order.h"
#include "write/writer.h"

#include <stdio.h>
#include <unistd.h>

struct trace {
	struct tables tables;
	struct output output;
	struct sink *sink;
	char path[64];
	const char *keep;
};

static void trace_begin(struct trace *trace) {
	*trace = (struct trace){.tables = tables_new()};
	snprintf(trace->path, sizeof(trace->path), "perfetto_events.%d.pb", (int)getpid());
	assert_int_equal(output_open(&trace->output, trace->path, OUTPUT_REPLACE), 0);
	trace->sink = order_new(perfetto_writer.open(&trace->output, &trace->tables));
	sink_push(trace->sink, &(struct event){.kind = EVENT_START, .cpu = CPU_NONE, .time = 1000});
	sink_push(trace->sink,
		  &(struct event){.kind = EVENT_TASK,
				  .cpu = CPU_NONE,
				  .time = 1000,
				  .tid = 7,
				  .pid = 7,
				  .task = {.name = strings_add(trace->tables.strings, "seven")}});
}

static struct tl_check_result trace_end(struct trace *trace) {
	assert_int_equal(sink_finish(trace->sink), 0);
	sink_destroy(trace->sink);
	assert_int_equal(output_commit(&trace->output), 0);
	tables_free(&trace->tables);
	struct tl_check_result result = {.size = sizeof(result)};
	assert_int_equal(tl_check_trace(trace->path, NULL, &result), 0);
	if (trace->keep)
		assert_int_equal(rename(trace->path, trace->keep), 0);
	else
		remove(trace->path);
	return result;
}

static uint32_t stack_of(struct trace *trace, const char *outer, const char *inner) {
	struct frame frames[] = {
		{.symbol = strings_add(trace->tables.strings, outer),
		 .address = 0x10,
		 .module = strings_add(trace->tables.strings, "app.exe")},
		{.symbol = strings_add(trace->tables.strings, inner), .address = 0x20, .kind = FRAME_KERNEL},
	};
	uint32_t stack = 0;
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		stack = stacks_add(trace->tables.stacks, stack,
				   stacks_add_frame(trace->tables.stacks, &frames[i]));
	return stack;
}

static void push_sample(struct trace *trace, uint64_t time, const char *name, uint32_t stack) {
	sink_push(trace->sink, &(struct event){.kind = EVENT_SAMPLE,
					       .time = time,
					       .cpu = 1,
					       .tid = 7,
					       .pid = 7,
					       .sample = {.weight = 1000000,
							  .stack = stack,
							  .name = strings_add(trace->tables.strings, name)}});
}

static void push_generic(struct trace *trace, uint64_t time, uint32_t tid, uint64_t duration) {
	const struct event_field fields[] = {
		{.name = "size", .type = FIELD_UINT, .uint = 4096},
		{.name = "offset", .type = FIELD_INT, .sint = -1},
		{.name = "irp", .type = FIELD_HEX, .uint = 0xffff800012345678},
		{.name = "ratio", .type = FIELD_DOUBLE, .real = 0.5},
		{.name = "done", .type = FIELD_BOOL, .uint = 1},
		{.name = "file", .type = FIELD_TEXT, .text = "a.txt", .size = 5},
	};
	sink_push(trace->sink,
		  &(struct event){.kind = EVENT_GENERIC,
				  .time = time,
				  .cpu = 0,
				  .tid = tid,
				  .generic = {.provider = strings_add(trace->tables.strings, "Disk"),
					      .name = strings_add(trace->tables.strings, "Read"),
					      .field_count = ARRAY_SIZE(fields),
					      .fields = fields,
					      .duration = duration}});
}

static void test_everything_together_is_a_sound_trace(void **state) {
	struct trace trace;
	trace_begin(&trace);
	trace.keep = getenv("TRACELET_KEEP");
	push_sample(&trace, 2000, "Timer", stack_of(&trace, "main", "read"));
	push_sample(&trace, 3000, "Timer", stack_of(&trace, "main", "write"));
	push_sample(&trace, 3500, "cycles", stack_of(&trace, "main", "write"));
	push_sample(&trace, 3600, "cycles", 0);
	push_generic(&trace, 4000, 7, 0);
	push_generic(&trace, 4100, 0, 0);
	push_generic(&trace, 9000, 7, 3000);
	push_generic(&trace, 9500, 7, 4000); // overlaps: another lane
	push_generic(&trace, 9900, 7, 100);
	for (uint64_t i = 0; i < 3; i++)
		sink_push(trace.sink,
			  &(struct event){.kind = EVENT_COUNTER,
					  .time = 5000 + i,
					  .cpu = 2,
					  .counter = {.value = (double)i,
						      .name = strings_add(trace.tables.strings, "cycles")}});
	struct tl_check_result result = trace_end(&trace);
	assert_int_equal(result.defects, 0);
	// Samples, instants, two edges of each slice, counters, two edges of the whole.
	assert_int_equal(result.events, 4 + 2 + 6 + 3 + 2);
}

static void push_switch(struct trace *trace, uint64_t time, uint32_t tid, uint16_t task_state,
			uint8_t io_wait, uint32_t next, bool outside) {
	sink_push(trace->sink, &(struct event){.kind = EVENT_SWITCH,
					       .time = time,
					       .cpu = 1,
					       .tid = tid,
					       .switched = {.next_tid = next,
							    .state = task_state,
							    .outside = outside,
							    .next_outside = !outside,
							    .io_wait = io_wait}});
}

static void push_waking(struct trace *trace, uint64_t time, uint32_t tid, uint16_t context) {
	sink_push(trace->sink,
		  &(struct event){.kind = EVENT_WAKING,
				  .time = time,
				  .cpu = 1,
				  .tid = tid,
				  .waking = {.wakee_tid = 7, .target_cpu = 1, .context = context}});
}

static void test_why_a_task_waited_and_what_woke_it_is_in_the_trace(void **state) {
	struct trace trace;
	char keep[4096];
	trace_begin(&trace);
	if (getenv("TRACELET_KEEP")) {
		snprintf(keep, sizeof(keep), "%s.waits", getenv("TRACELET_KEEP"));
		trace.keep = keep;
	}
	sink_push(trace.sink, &(struct event){.kind = EVENT_META,
					      .cpu = CPU_NONE,
					      .time = 1000,
					      .meta = {strings_add(trace.tables.strings, "scope"),
						       strings_add(trace.tables.strings, "tree")}});
	push_switch(&trace, 2000, 99, 0, IO_WAIT_UNKNOWN, 7, true);
	push_switch(&trace, 3000, 7, STATE_DISK, IO_WAIT_YES, 99, false); // a device, its interrupt
	push_waking(&trace, 4000, 0, CONTEXT_HARDIRQ);
	push_switch(&trace, 5000, 99, 0, IO_WAIT_UNKNOWN, 7, true);
	push_switch(&trace, 6000, 7, STATE_SLEEPING, IO_WAIT_NO, 99, false); // a socket, a softirq
	push_waking(&trace, 7000, 0, CONTEXT_SOFTIRQ);
	push_sample(&trace, 8000, "off-cpu", stack_of(&trace, "main", "sock_recvmsg"));
	push_switch(&trace, 8000, 99, 0, IO_WAIT_UNKNOWN, 7, true);
	push_switch(&trace, 9000, 7, STATE_DISK, IO_WAIT_NO, 99, false); // a child after vfork, which wakes
	push_waking(&trace, 9500, 77, 0);
	push_switch(&trace, 9600, 99, 0, IO_WAIT_UNKNOWN, 7, true);
	assert_int_equal(trace_end(&trace).defects, 0);
}

static void test_a_stack_is_written_once_for_each_sampled_event(void **state) {
	struct trace trace;
	trace_begin(&trace);
	uint32_t stack = stack_of(&trace, "main", "read");
	push_sample(&trace, 2000, "Timer", stack);
	sink_push(trace.sink, &(struct event){.kind = EVENT_WATERMARK, .cpu = CPU_NONE, .time = 2001});
	uint64_t first = trace.output.pending.size;
	push_sample(&trace, 3000, "Timer", stack);
	sink_push(trace.sink, &(struct event){.kind = EVENT_WATERMARK, .cpu = CPU_NONE, .time = 3001});
	assert_in_range(trace.output.pending.size - first, 20, 48);
	assert_int_equal(trace_end(&trace).defects, 0);
}

static void test_an_overly_deep_stack_is_cut_and_stays_sound(void **state) {
	struct trace trace;
	trace_begin(&trace);
	uint32_t stack = 0;
	for (uint64_t i = 0; i < 10000; i++)
		stack = stacks_add(trace.tables.stacks, stack,
				   stacks_add_frame(trace.tables.stacks, &(struct frame){.address = i}));
	push_sample(&trace, 2000, "Timer", stack);
	assert_int_equal(trace_end(&trace).defects, 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_together_is_a_sound_trace),
		cmocka_unit_test(test_why_a_task_waited_and_what_woke_it_is_in_the_trace),
		cmocka_unit_test(test_a_stack_is_written_once_for_each_sampled_event),
		cmocka_unit_test(test_an_overly_deep_stack_is_cut_and_stays_sound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
