// The reader of Perfetto traces: traces from other tools.
#include "trace_keeper.h"

#include "sample_trace.h"

#include <errno.h>
#include <zlib.h>

static void read_and_free(struct keeper *keeper, struct buffer *trace) {
	read_trace(keeper, trace);
	assert_int_equal(keeper->error, 0);
	buffer_free(trace);
}

// The sample has two CPUs, each with three switches; the first of each has no previous task.
static void test_switches_of_columns_only(void **state) {
	struct buffer trace = {0};
	struct keeper keeper;
	sample_trace(&trace);
	read_and_free(&keeper, &trace);
	assert_int_equal(count_kind(&keeper, EVENT_SWITCH), 4);
	const struct event *first = nth(&keeper, EVENT_SWITCH, 0);
	assert_int_equal(first->time, 2300);
	assert_int_equal(first->tid, 10);
	assert_int_equal(first->switched.next_tid, 0);
	assert_int_equal(first->switched.state, STATE_SLEEPING);
	assert_false(first->switched.outside || first->switched.next_outside);
	assert_string_equal(TEXT(&keeper, first->switched.next_name), "swapper");
	assert_int_equal(count_kind(&keeper, EVENT_WAKING), 4);
	assert_int_equal(nth(&keeper, EVENT_WAKING, 0)->tid, 10);
	keeper_free(&keeper);
}

static void test_the_system_and_the_beginning_are_found(void **state) {
	struct buffer trace = {0};
	struct keeper keeper;
	sample_trace(&trace);
	read_and_free(&keeper, &trace);
	assert_int_equal(keeper.events.items[0].kind, EVENT_START);
	assert_int_equal(keeper.events.items[0].time, 1005);
	assert_int_equal(nth(&keeper, EVENT_CLOCK, 0)->clock.wall, 1700000000000000000);
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_META, 1)->meta.key), "kernel");
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_META, 1)->meta.value), "6.1.0");
	keeper_free(&keeper);
}

static void test_tasks_of_a_process_tree_without_time(void **state) {
	struct buffer trace = {0};
	struct keeper keeper;
	sample_trace(&trace);
	read_and_free(&keeper, &trace);
	const struct event *process = nth(&keeper, EVENT_TASK, 0), *thread = nth(&keeper, EVENT_TASK, 1);
	assert_int_equal(process->pid, 10);
	assert_string_equal(TEXT(&keeper, process->task.name), "test"); // of ./test
	assert_string_equal(TEXT(&keeper, process->task.command_line), "./test");
	assert_int_equal(thread->tid, 11);
	assert_string_equal(TEXT(&keeper, thread->task.name), "worker");
	keeper_free(&keeper);
}

// The sequence has its own clock, which is 1000 at 1000 and written as differences.
static void test_slices_of_a_thread_are_marks_in_the_clock_of_the_trace(void **state) {
	struct buffer trace = {0};
	struct keeper keeper;
	sample_trace(&trace);
	read_and_free(&keeper, &trace);
	const struct event *begin = nth(&keeper, EVENT_MARK, 0), *counter = nth(&keeper, EVENT_MARK, 1),
			   *end = nth(&keeper, EVENT_MARK, 2);
	assert_int_equal(begin->time, 1005);
	assert_int_equal(begin->tid, 11);
	assert_int_equal(begin->mark.type, MARK_SLICE_BEGIN);
	assert_string_equal(TEXT(&keeper, begin->mark.name), "name");
	assert_int_equal(end->mark.type, MARK_SLICE_END);
	assert_int_equal(end->time, 1011);
	assert_int_equal(counter->mark.type, MARK_COUNTER);
	assert_int_equal(counter->time, 1006);
	assert_int_equal(counter->pid, 10);
	assert_true(counter->mark.value == 7);
	keeper_free(&keeper);
}

static void test_samples_with_what_is_interned_behind_them(void **state) {
	struct buffer trace = {0};
	struct keeper keeper;
	sample_trace(&trace);
	read_and_free(&keeper, &trace);
	const struct event *sample = nth(&keeper, EVENT_SAMPLE, 0);
	assert_int_equal(sample->time, 2500);
	assert_int_equal(sample->pid, 10);
	const struct stack *stack = stacks_get(keeper.tables.stacks, sample->sample.stack);
	assert_non_null(stack);
	const struct frame *frame = stacks_frame(keeper.tables.stacks, stack->frame);
	assert_string_equal(TEXT(&keeper, frame->symbol), "main");
	assert_string_equal(TEXT(&keeper, frame->module), "test");
	assert_int_not_equal(stack->caller, 0);
	keeper_free(&keeper);
}

static void test_what_is_not_known_is_counted_and_said(void **state) {
	struct buffer trace = {0};
	struct keeper keeper;
	sample_trace(&trace); // has a stack sample, a heap profile, and interrupts of an unknown number
	read_and_free(&keeper, &trace);
	assert_non_null(strstr(keeper.said, "skipped 2 packets of unknown kinds"));
	assert_non_null(strstr(keeper.said, "skipped 2 events of unknown kinds"));
	keeper_free(&keeper);
}

static void test_packets_that_need_what_is_lost_are_left_out(void **state) {
	struct buffer trace = {0};
	struct keeper keeper;
	sample_system(&trace);
	size_t packet = packet_begin(&trace, 7, NEEDS_STATE);
	proto_uint(&trace, TIMESTAMP, 2000);
	size_t event = proto_begin(&trace, TRACK_EVENT);
	proto_uint(&trace, 9, INSTANT);
	proto_end(&trace, event);
	proto_end(&trace, packet);
	read_and_free(&keeper, &trace);
	assert_int_equal(count_kind(&keeper, EVENT_GENERIC), 0);
	assert_non_null(strstr(keeper.said, "1 packet refers to data that is no longer in the trace"));
	keeper_free(&keeper);
}

static void clocked_instant(struct buffer *trace, uint64_t clock, uint64_t time) {
	size_t packet = packet_begin(trace, 1, 0);
	proto_uint(trace, TIMESTAMP, time);
	proto_uint(trace, TIMESTAMP_CLOCK, clock);
	size_t event = proto_begin(trace, TRACK_EVENT);
	proto_uint(trace, 9, INSTANT);
	proto_string(trace, 23, "now");
	proto_end(trace, event);
	proto_end(trace, packet);
}

static void test_times_of_other_clocks_are_those_of_the_trace(void **state) {
	struct buffer trace = {0};
	struct keeper keeper;
	sample_system(&trace); // the wall clock is 1700000000000000000 at 1000
	clocked_instant(&trace, 1, 1700000000000000500);
	clocked_instant(&trace, 5, 77); // has never been read in a snapshot
	read_and_free(&keeper, &trace);
	assert_int_equal(count_kind(&keeper, EVENT_GENERIC), 1);
	assert_int_equal(nth(&keeper, EVENT_GENERIC, 0)->time, 1500);
	assert_non_null(strstr(keeper.said, "1 packet refers"));
	keeper_free(&keeper);
}

static void test_slices_of_no_thread_are_events_with_a_duration(void **state) {
	struct buffer trace = {0};
	struct keeper keeper;
	sample_system(&trace);
	track_event(&trace, 2000, 55, SLICE_BEGIN); // its descriptor comes later
	track_event(&trace, 2100, 55, SLICE_BEGIN);
	track_event(&trace, 2300, 55, SLICE_END);
	describe_track(&trace, 55, 0, false);
	read_and_free(&keeper, &trace);
	assert_int_equal(count_kind(&keeper, EVENT_GENERIC), 2);
	assert_int_equal(nth(&keeper, EVENT_GENERIC, 0)->time, 2300);
	assert_int_equal(nth(&keeper, EVENT_GENERIC, 0)->generic.duration, 200);
	assert_int_equal(nth(&keeper, EVENT_GENERIC, 1)->generic.duration,
			 300); // never ended: it ends with the trace
	keeper_free(&keeper);
}

// As in a merged trace: a guest's test begins far behind the events that have been read, and ends in time.
static void test_a_slice_that_begins_late_has_its_end(void **state) {
	struct buffer trace = {0};
	struct keeper keeper;
	sample_system(&trace);
	describe_track(&trace, 55, 0, false);
	track_event(&trace, 1500, 56, INSTANT);
	track_event(&trace, 9000000, 56, INSTANT);
	track_event(&trace, 2000, 55, SLICE_BEGIN);
	track_event(&trace, 3000, 55, SLICE_BEGIN);
	track_event(&trace, 4000, 55, SLICE_END);
	track_event(&trace, 9000100, 55, SLICE_END);
	track_event(&trace, 9000200, 55, SLICE_BEGIN); // not late
	track_event(&trace, 9000300, 55, SLICE_END);
	track_event(&trace, 9000900, 56, INSTANT);
	read_and_free(&keeper, &trace);
	assert_null(strstr(keeper.said, "could not be decoded"));
	assert_int_equal(count_kind(&keeper, EVENT_GENERIC), 6);
	assert_int_equal(nth(&keeper, EVENT_GENERIC, 1)->generic.duration, 1000);
	assert_int_equal(nth(&keeper, EVENT_GENERIC, 3)->time, 9000100);
	assert_int_equal(nth(&keeper, EVENT_GENERIC, 3)->generic.duration, 8998100);
	assert_int_equal(nth(&keeper, EVENT_GENERIC, 4)->generic.duration, 100);
	keeper_free(&keeper);
}

// ---- packed ----

// A packet that contains those of `trace`, compressed.
static void pack(struct buffer *packed, const struct buffer *trace) {
	uLongf size = compressBound((uLong)trace->size);
	uint8_t *bytes = memory_alloc(size);
	assert_int_equal(compress(bytes, &size, trace->data, (uLong)trace->size), Z_OK);
	size_t packet = proto_begin(packed, 1);
	proto_bytes(packed, COMPRESSED, bytes, size);
	proto_end(packed, packet);
	free(bytes);
}

static void test_compressed_packets_are_unpacked(void **state) {
	struct buffer trace = {0}, packed = {0};
	struct keeper plain, keeper;
	sample_system(&trace);
	pack(&packed, &trace);
	trace.size = 0;
	sample_sched(&trace);
	pack(&packed, &trace);
	trace.size = 0;
	sample_system(&trace);
	sample_sched(&trace);
	read_and_free(&plain, &trace);
	read_and_free(&keeper, &packed);
	assert_int_equal(keeper.events.count, plain.events.count);
	assert_int_equal(count_kind(&keeper, EVENT_SWITCH), 4);
	assert_string_equal(keeper.said, plain.said);
	keeper_free(&plain);
	keeper_free(&keeper);
}

static void test_a_compressed_packet_that_is_damaged_is_left_out(void **state) {
	struct buffer trace = {0}, packed = {0};
	struct keeper keeper;
	sample_sched(&trace);
	sample_system(&packed);
	pack(&packed, &trace);
	packed.data[packed.size - 10] ^= 0xff;
	read_and_free(&keeper, &packed);
	assert_non_null(strstr(keeper.said, "a compressed part that is damaged"));
	assert_int_equal(count_kind(&keeper, EVENT_TASK), 2);
	keeper_free(&keeper);
	buffer_free(&trace);
}

// ---- recognizing the format ----

static bool probe(const void *bytes, size_t size) {
	return perfetto_reader.probe(bytes, size);
}

static void test_a_trace_is_recognised_by_its_first_packet(void **state) {
	struct buffer trace = {0};
	sample_trace(&trace);
	assert_true(probe(trace.data, MIN(trace.size, 4096)));
	assert_true(probe(trace.data, 8)); // the packet is longer
	buffer_free(&trace);
	assert_false(probe("", 0));
	assert_false(probe("\n", 1));
	assert_false(probe("\nmain;f 1\nmain;g 2\n", 19));       // folded stacks with an empty line in front
	assert_false(probe("\n\4\10\1\20\2\n\4\10\1\20\2", 12)); // pprof: sample types
	assert_false(probe("\177ELF\2\1\1", 7));
}

static void test_what_is_no_trace_is_refused_in_one_line(void **state) {
	struct buffer trace = {0};
	struct keeper keeper;
	buffer_append(&trace, "something else", 14);
	read_trace(&keeper, &trace);
	assert_int_equal(keeper.error, -EINVAL);
	assert_int_equal(keeper.events.count, 0);
	assert_non_null(strstr(keeper.said, "a.pb: not a Perfetto trace"));
	keeper_free(&keeper);
	trace.size = 0;
	read_trace(&keeper, &trace);
	assert_int_equal(keeper.error, -EINVAL);
	assert_non_null(strstr(keeper.said, "it is empty"));
	keeper_free(&keeper);
	buffer_free(&trace);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switches_of_columns_only),
		cmocka_unit_test(test_the_system_and_the_beginning_are_found),
		cmocka_unit_test(test_tasks_of_a_process_tree_without_time),
		cmocka_unit_test(test_slices_of_a_thread_are_marks_in_the_clock_of_the_trace),
		cmocka_unit_test(test_samples_with_what_is_interned_behind_them),
		cmocka_unit_test(test_what_is_not_known_is_counted_and_said),
		cmocka_unit_test(test_packets_that_need_what_is_lost_are_left_out),
		cmocka_unit_test(test_times_of_other_clocks_are_those_of_the_trace),
		cmocka_unit_test(test_slices_of_no_thread_are_events_with_a_duration),
		cmocka_unit_test(test_a_slice_that_begins_late_has_its_end),
		cmocka_unit_test(test_compressed_packets_are_unpacked),
		cmocka_unit_test(test_a_compressed_packet_that_is_damaged_is_left_out),
		cmocka_unit_test(test_a_trace_is_recognised_by_its_first_packet),
		cmocka_unit_test(test_what_is_no_trace_is_refused_in_one_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
