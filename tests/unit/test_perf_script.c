#include "unit.h"

#include "base/buffer.h"
#include "read/perf/script.h"

#include <stdio.h>
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

static struct slice own_frame(const char *line) {
	return script_own_frame(parse(line).rest);
}

static void test_data_may_come_before_the_frame(void **state) {
	static const char frame[] = "55c033d7516f main+0x36 (/tmp/w)";
	static const char *const before[] = {
		"    ",                                       // no data
		"                0     ",                     // -F addr
		"     7ffd1c0a9f80 [unknown] ([stack])     ", // with its name
		" ffff88810aaaf000     ",
		("     7ffd1c0a9f80          5080021 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK "
		 "No|BLK  N/A"
		 "                7                0     "), // perf mem
	};
	static const char *const after[] = {"", "      123456000", "      123456000 4K 4K"};
	for (size_t i = 0; i < ARRAY_SIZE(before); i++)
		for (size_t j = 0; j < ARRAY_SIZE(after); j++) {
			char line[512], expected[128];
			snprintf(line, sizeof(line), "w 1 [000] 1.5: 250000 cpu-clock:%s%s%s", before[i],
				 frame, after[j]);
			snprintf(expected, sizeof(expected), "%s%s", frame, after[j]);
			assert_slice(expected, own_frame(line));
		}
	assert_slice("4005d0 add", own_frame("w 1 1.5: cycles:           4005d0 add"));
	assert_slice("4005d0", own_frame("w 1 1.5: cycles:                0           4005d0"));
	assert_slice("", own_frame("w 1 1.5: raw_syscalls:sys_enter: NR 1 (1, 7ffe, 3)"));
	assert_slice("", own_frame("w 1 1.5: cycles:"));
}

static void assert_kind(enum frame_kind kind, const char *line) {
	struct tables tables = tables_new();
	struct script_lines *lines = script_lines_new(&tables);
	struct script_frames frames;
	static const char user[] = "\t  401000 f+0x1 ([unknown])";
	assert_true(script_frame(lines, user, strlen(user), &frames)); // what is remembered of f is not used
	assert_int_equal(FRAME_USER, stacks_frame(tables.stacks, frames.ids[0])->kind);
	assert_true(script_frame(lines, line, strlen(line), &frames));
	assert_int_equal(kind, stacks_frame(tables.stacks, frames.ids[0])->kind);
	script_lines_free(lines);
	tables_free(&tables);
}

static void test_the_kernel_is_known_by_its_addresses_and_files(void **state) {
	assert_kind(FRAME_KERNEL, "\tffffffff81000000 f+0x1");
	assert_kind(FRAME_KERNEL, "\tffffffffc0301000 f+0x1 ([unknown])");
	assert_kind(FRAME_KERNEL, "\tffffffff81000000 f+0x1 (/usr/lib/debug/boot/vmlinux-6.1.0-13-amd64)");
	assert_kind(FRAME_KERNEL, "\tffffffff81000000 f+0x1 (vmlinux)");
	assert_kind(FRAME_USER, "\t401000 f+0x1 (/opt/vmlinux/tool)");
	assert_kind(FRAME_USER, "\tffffffffff600400 f+0x1 ([unknown])"); // vsyscall
	assert_kind(FRAME_USER, "\tffffffffffffffff f+0x1 ([unknown])");
}

static void assert_rust(const char *expected, const char *name) {
	struct buffer out = {0};
	bool rust = script_rust_name((struct slice){name, strlen(name)}, &out);
	assert_int_equal(expected != NULL, rust);
	if (expected)
		assert_slice(expected, (struct slice){(char *)out.data, out.size});
	buffer_free(&out);
}

static void test_half_demangled_names_of_rust(void **state) {
	assert_rust("<term::terminfo::TerminfoTerminal<T>>::new",
		    "_$LT$term..terminfo..TerminfoTerminal$LT$T$GT$$GT$::new::hcd1c44cd143417f6");
	assert_rust("<u8 as core::clone::Clone>::clone",
		    "_$LT$u8$u20$as$u20$core..clone..Clone$GT$::clone::h7bfab8630dda96cf");
	assert_rust("core::fmt::write", "core::fmt::write::h7bfab8630dda96cf [clone .llvm.123]");
	assert_rust("a::$strange$::$", "a::$strange$::$::h7bfab8630dda96cf");
	assert_rust("std::(&'a [u8], *mut @)::f",
		    "std::$LP$$RF$$u27$a$u20$$u5b$u8$u5d$$C$$u20$$BP$mut$u20$$SP$$RP$::f::h7bfab8630dda96cf");
	assert_rust(NULL, "std::vector<int>::push_back");
	assert_rust(NULL, "a::h0000000000000001"); // a name that somebody chose
	assert_rust(NULL, "::h7bfab8630dda96cf");
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
		cmocka_unit_test(test_data_may_come_before_the_frame),
		cmocka_unit_test(test_the_kernel_is_known_by_its_addresses_and_files),
		cmocka_unit_test(test_half_demangled_names_of_rust),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
