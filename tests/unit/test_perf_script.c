#include "unit.h"

#include "read/perf/script.h"

#include <string.h>

static struct script_header parse(const char *line) {
	struct script_header header;
	assert_true(script_header(line, strlen(line), &header));
	return header;
}

static void assert_slice(const char *expected, struct slice slice) {
	assert_int_equal(strlen(expected), slice.size);
	assert_memory_equal(expected, slice.text, slice.size);
}

static void test_a_header_with_everything(void **state) {
	struct script_header header = parse("java 24636/25607 [003] 4794564.109216:     250000 cycles:u: ");
	assert_slice("java", header.comm);
	assert_slice("cycles:u", header.event);
	assert_slice("", header.rest);
	assert_true(header.has_task && header.has_pid && header.has_cpu && header.strict);
	assert_int_equal(24636, header.pid);
	assert_int_equal(25607, header.tid);
	assert_int_equal(3, header.cpu);
	assert_int_equal(4794564109216000, header.time);
	assert_int_equal(250000, header.period);
}

static void test_numbers_in_the_name_are_not_the_task(void **state) {
	struct script_header header = parse("tokio 1 2   77 [000] 1.5:  9 cycles:");
	assert_slice("tokio 1 2", header.comm);
	assert_int_equal(77, header.tid);
	assert_false(header.has_pid);
}

static void test_what_is_missing_is_not_made_up(void **state) {
	struct script_header header = parse("swapper     0 cycles:");
	assert_slice("swapper", header.comm);
	assert_slice("cycles", header.event);
	assert_int_equal(0, header.period);
	assert_false(header.has_cpu);

	header = parse("V8 WorkerThread 25607 4794564.109216: cycles:");
	assert_slice("V8 WorkerThread", header.comm);
	assert_int_equal(25607, header.tid);

	header = parse("my task ");
	assert_slice("my task", header.comm);
	assert_false(header.has_task || header.strict);
}

static void test_no_task_is_minus_one(void **state) {
	struct script_header header = parse(":-1    -1 [000] 1.5: 9 cycles:");
	assert_slice(":-1", header.comm);
	assert_int_equal(UINT32_MAX, header.tid);
}

static void test_nanoseconds_are_read_in_full(void **state) {
	assert_int_equal(1123456789, parse("a 1 1.123456789: cycles:").time);
	assert_int_equal(1100000000, parse("a 1 1.1: cycles:").time);
}

static void test_a_tracepoint_s_fields_are_the_rest(void **state) {
	struct script_header header = parse("a 1 [000] 1.5: sched:sched_switch: prev_comm=a ==> next_comm=b");
	assert_slice("sched:sched_switch", header.event);
	assert_slice("prev_comm=a ==> next_comm=b", header.rest);
}

static void test_other_records_are_no_samples(void **state) {
	assert_true(parse("a 1 [000] 1.5: PERF_RECORD_MMAP2 1/1: [0x400000]").other);
	assert_false(parse("a 1 [000] 1.5: 1 cycles:").other);
}

static void test_a_long_line_without_numbers_is_no_header(void **state) {
	static const char line[] = "this is not what perf prints";
	struct script_header header;
	assert_false(script_header(line, strlen(line), &header));
}

static void test_a_function_is_one_frame_wherever_in_it_it_was(void **state) {
	struct tables tables = tables_new();
	struct script_lines *lines = script_lines_new(&tables);
	struct script_frames frames;
	static const char *const texts[] = {"\t  401000 main+0x1 (/bin/a)",
					    "\t  401fff main+0x1000 (/bin/a)"};
	uint32_t ids[2];
	for (int i = 0; i < 2; i++) {
		assert_true(script_frame(lines, texts[i], strlen(texts[i]), &frames));
		assert_int_equal(1, frames.count);
		ids[i] = frames.ids[0];
	}
	assert_int_equal(ids[0], ids[1]);
	script_lines_free(lines);
	tables_free(&tables);
}

static void test_inlined_calls_come_innermost_first(void **state) {
	struct tables tables = tables_new();
	struct script_lines *lines = script_lines_new(&tables);
	struct script_frames frames;
	static const char line[] = "\t7f00 La;::outer->Lb;::inner+0x4 (/tmp/perf-1.map)";
	assert_true(script_frame(lines, line, strlen(line), &frames));
	assert_int_equal(2, frames.count);
	const struct frame *inner = stacks_frame(tables.stacks, frames.ids[0]);
	assert_string_equal("Lb;::inner", strings_get(tables.strings, inner->symbol));
	assert_int_equal(FRAME_INLINED, inner->kind);
	assert_int_equal(FRAME_JIT, stacks_frame(tables.stacks, frames.ids[1])->kind);
	script_lines_free(lines);
	tables_free(&tables);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_header_with_everything),
		cmocka_unit_test(test_numbers_in_the_name_are_not_the_task),
		cmocka_unit_test(test_what_is_missing_is_not_made_up),
		cmocka_unit_test(test_no_task_is_minus_one),
		cmocka_unit_test(test_nanoseconds_are_read_in_full),
		cmocka_unit_test(test_a_tracepoint_s_fields_are_the_rest),
		cmocka_unit_test(test_other_records_are_no_samples),
		cmocka_unit_test(test_a_long_line_without_numbers_is_no_header),
		cmocka_unit_test(test_a_function_is_one_frame_wherever_in_it_it_was),
		cmocka_unit_test(test_inlined_calls_come_innermost_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
