#include "unit.h"

#include "read/perf/data.h"
#include "read/reader.h"
#include "sample_perf_data.h"

#include <stdio.h>
#include <string.h>

// Keeps a line for each event.
struct listener {
	struct sink sink;
	struct tables tables;
	struct buffer text;
};

static int listen(struct sink *sink, const struct event *event) {
	struct listener *listener = CONTAINER_OF(sink, struct listener, sink);
	struct strings *strings = listener->tables.strings;
	if (event->kind == EVENT_TASK)
		buffer_printf(&listener->text, "%d task %s\n", (int)event->time,
			      strings_get(strings, event->task.name));
	if (event->kind == EVENT_FORK)
		buffer_printf(&listener->text, "%d fork\n", (int)event->time);
	if (event->kind == EVENT_START && event->time > 1000)
		buffer_printf(&listener->text, "%d start\n", (int)event->time);
	if (event->kind == EVENT_RENAME)
		buffer_printf(&listener->text, "%d rename %s\n", (int)event->time,
			      strings_get(strings, event->rename.name));
	if (event->kind != EVENT_SAMPLE)
		return 0;
	buffer_printf(&listener->text, "%d sample %s %s %d", (int)event->time,
		      strings_get(strings, event->sample.comm), strings_get(strings, event->sample.name),
		      (int)event->sample.weight);
	const struct stack *stack;
	for (uint32_t at = event->sample.stack; (stack = stacks_get(listener->tables.stacks, at));
	     at = stack->caller) {
		const struct frame *frame = stacks_frame(listener->tables.stacks, stack->frame);
		if (frame->symbol)
			assert_int_equal(frame->symbol, frame->module);
		buffer_printf(&listener->text, " %s+%x", strings_get(strings, frame->module),
			      (unsigned)frame->address);
	}
	buffer_printf(&listener->text, "\n");
	return 0;
}

static int finish(struct sink *sink) {
	return 0;
}

static int hear(struct listener *listener, struct buffer *recording) {
	struct stream input;
	*listener = (struct listener){.sink = {.push = listen, .finish = finish}, .tables = tables_new()};
	listener->tables.addresses = ADDRESSES_ALL;
	stream_of_memory(&input, recording->data, recording->size);
	int error = perf_data_reader.read(&input, "test", &listener->tables, &listener->sink);
	stream_close(&input);
	buffer_append(&listener->text, "", 1);
	buffer_free(recording);
	return error;
}

static void forget(struct listener *listener) {
	buffer_free(&listener->text);
	tables_free(&listener->tables);
}

static const char expected[] = "10 task first\n"
			       "30 sample first cpu-clock 1000 /lib/a.so+1100\n"
			       "40 rename later\n"
			       "50 sample later cpu-clock 1000 /lib/a.so+1100 /lib/a.so+1200\n";

static void test_a_file_is_read_in_order_of_time(void **state) {
	struct buffer records = {0}, file = {0};
	struct listener listener;
	put_records(&records);
	put_file(&file, &records);
	assert_int_equal(0, hear(&listener, &file));
	assert_string_equal(expected, (char *)listener.text.data);
	forget(&listener);
	buffer_free(&records);
}

static void test_a_pipe_says_the_same(void **state) {
	struct buffer pipe = {0};
	struct listener listener;
	put_pipe_header(&pipe);
	put_records(&pipe);
	assert_int_equal(0, hear(&listener, &pipe));
	assert_string_equal(expected, (char *)listener.text.data);
	forget(&listener);
}

static void put_fork(struct buffer *out, uint32_t tid, uint32_t parent, uint64_t time) {
	size_t mark = put_begin(out, 7, 0);
	put_u32(out, tid);
	put_u32(out, parent);
	put_u32(out, tid);
	put_u32(out, parent);
	put_u64(out, time);
	put_trailer(out, parent, time);
	put_end(out, mark);
}

static void test_tasks_from_before_are_no_events(void **state) {
	struct buffer pipe = {0};
	struct listener listener;
	put_pipe_header(&pipe);
	put_fork(&pipe, 5, 1, 0);
	put_comm(&pipe, 5, "old", 0);
	put_fork(&pipe, 6, 5, 0);
	put_comm(&pipe, 6, "child", 0);
	put_sample(&pipe, 5, 5000, (uint64_t[]){0x1100}, 1);
	put_round(&pipe);
	put_comm(&pipe, 7, "late", 0);
	put_round(&pipe);
	put_sample(&pipe, 6, 6000, (uint64_t[]){0x1100}, 1);
	put_round(&pipe);
	assert_int_equal(0, hear(&listener, &pipe));
	assert_string_equal("5000 start\n5000 task old\n5000 task child\n5000 task late\n"
			    "5000 sample old cpu-clock 1000 +1100\n6000 sample child cpu-clock 1000 +1100\n",
			    (char *)listener.text.data);
	forget(&listener);
}

// A pipe with one event, whose id is 7.
static void put_pipe_of(struct buffer *out, uint64_t config, uint64_t sample_type, uint64_t branch_type,
			const char *name) {
	buffer_append(out, "PERFILE2", 8);
	put_u64(out, 16);
	size_t mark = put_begin(out, 64, 0);
	const uint64_t words[14] = {
		(uint64_t)112 << 32 | 1, config, 4000, sample_type, 0, 1 << 18, 0, 0, 0, branch_type};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		put_u64(out, words[i]);
	put_u64(out, 7);
	put_end(out, mark);
	mark = put_begin(out, 78, 0); // its name
	put_u64(out, 2);
	put_u64(out, 7);
	put_text(out, name);
	put_end(out, mark);
}

static void test_calls_that_the_cpu_keeps_are_the_callers(void **state) {
	enum { BRANCHES = 1 << 11, CALL_STACK = 1 << 11, ANY = 1 << 3 };
	for (int lbr = 0; lbr < 2; lbr++) {
		struct buffer pipe = {0};
		struct listener listener;
		put_pipe_of(&pipe, 0, SAMPLE_FIELDS | BRANCHES, lbr ? CALL_STACK : ANY, "cycles");
		size_t mark = put_begin(&pipe, 9, 2);
		const uint64_t words[] = {0x1100, (uint64_t)5 << 32 | 5, 100, 1000,
					  // the chain: frame pointers are not to be trusted
					  3, (uint64_t)-512, 0x1100, 0x9999,
					  // the branches
					  2, 0x1200, 0x1000, 0, 0x1300, 0x1180, 0};
		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			put_u64(&pipe, words[i]);
		put_end(&pipe, mark);
		assert_int_equal(0, hear(&listener, &pipe));
		assert_string_equal(lbr ? "100 sample :5 cycles 1000 +1100 +1200 +1300\n"
					: "100 sample :5 cycles 1000 +1100 +9999\n",
				    (char *)listener.text.data);
		forget(&listener);
	}
}

// What a BPF program of perf 6.15 writes: the moment of writing, and in the raw part the wait.
static void test_waits_in_raw_samples_are_of_their_thread(void **state) {
	enum { RAW = 1 << 10, BPF_OUTPUT = 10 };
	for (int whole = 0; whole < 2; whole++) {
		struct buffer pipe = {0};
		struct listener listener;
		put_pipe_of(&pipe, BPF_OUTPUT, SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_PERIOD | RAW, 0,
			    "offcpu-time");
		put_comm(&pipe, 6, "waiter", 50);
		size_t mark = put_begin(&pipe, 9, 2);
		put_u64(&pipe, 0x7777);
		put_u64(&pipe, (uint64_t)5 << 32 | 5);
		put_u64(&pipe, 100);
		put_u64(&pipe, 1);
		put_u32(&pipe, 60);
		const uint64_t words[] = {
			(uint64_t)6 << 32 | 6, 250000, whole ? 3 : 300, (uint64_t)-512, 0x1100, 0x1200, 1};
		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			put_u64(&pipe, words[i]);
		put_u32(&pipe, 0);
		put_end(&pipe, mark);
		assert_int_equal(0, hear(&listener, &pipe));
		assert_string_equal(
			whole ? "50 task waiter\n100 sample waiter offcpu-time 250000 +1100 +1200\n"
			      : "50 task waiter\n100 sample :5 offcpu-time 1 +7777\n",
			(char *)listener.text.data);
		forget(&listener);
	}
}

static void test_bpf_programs_have_their_names(void **state) {
	const uint64_t kernel = 0xffffffff81000000, program = 0xffffffffc0000000, in_kernel = (uint64_t)-128;
	struct buffer pipe = {0};
	struct listener listener;
	put_pipe_header(&pipe);
	put_mmap(&pipe, UINT32_MAX, kernel, UINT64_MAX - kernel, kernel, "[kernel.kallsyms]_text", 1);
	put_kernel_symbol(&pipe, program, 0x80, 0, "bpf_prog_1_first", 10);
	put_kernel_symbol(&pipe, program, 0x80, 1, "bpf_prog_1_first", 30); // it is removed
	put_kernel_symbol(&pipe, program, 0x40, 0, "bpf_prog_2_second", 40);
	put_kernel_symbol(&pipe, program + 0x1000, 0, 0, "nothing", 40);
	for (uint64_t time = 20; time <= 50; time += 30)
		put_sample(&pipe, 5, time, (uint64_t[]){in_kernel, program + 16, program + 0x1001}, 3);
	put_round(&pipe);
	assert_int_equal(0, hear(&listener, &pipe));
	assert_string_equal(
		"20 sample :5 cpu-clock 1000 bpf_prog_1_first+c0000010 [kernel.kallsyms]+c0001001\n"
		"50 sample :5 cpu-clock 1000 bpf_prog_2_second+c0000010 [kernel.kallsyms]+c0001001\n",
		(char *)listener.text.data);
	forget(&listener);
}

static void test_what_is_cut_off_leaves_the_rest(void **state) {
	struct buffer pipe = {0};
	struct listener listener;
	put_pipe_header(&pipe);
	put_records(&pipe);
	pipe.size -= 20; // the last sample is complete, the rounds are not
	assert_int_equal(0, hear(&listener, &pipe));
	assert_non_null(strstr((char *)listener.text.data, "40 rename later"));
	forget(&listener);
}

// The header has no data size yet, and the last page is truncated.
static void test_a_recording_that_was_killed_is_read(void **state) {
	enum { SIZE_OF_RECORDS = 48 };
	struct buffer records = {0}, file = {0};
	struct listener listener;
	put_records(&records);
	put_file(&file, &records);
	memset(file.data + SIZE_OF_RECORDS, 0, 8);
	for (int i = 0; i < 100; i++)
		put_u64(&file, 0);
	assert_int_equal(0, hear(&listener, &file));
	assert_string_equal(expected, (char *)listener.text.data);
	forget(&listener);
	buffer_free(&records);
}

static void test_the_other_byte_order_is_said_to_be_so(void **state) {
	struct buffer file = {0};
	struct listener listener;
	buffer_append(&file, "2ELIFREP\0\0\0\0\0\0\0\x68", 16);
	assert_int_not_equal(0, hear(&listener, &file));
	forget(&listener);
}

static void test_a_record_without_a_size_costs_itself(void **state) {
	struct buffer pipe = {0};
	struct listener listener;
	put_pipe_header(&pipe);
	put_u64(&pipe, 9);
	put_u64(&pipe, 0x1234);
	put_records(&pipe);
	assert_int_equal(0, hear(&listener, &pipe));
	assert_string_equal(expected, (char *)listener.text.data);
	forget(&listener);
}

static void add(struct space *space, uint64_t begin, uint64_t end, uint64_t offset, uint32_t module) {
	space_add(space, &(struct space_map){.begin = begin, .end = end, .offset = offset, .module = module});
}

static void assert_found(struct space *space, uint64_t address, uint32_t module, uint64_t position) {
	const struct space_map *map = space_find(space, address);
	assert_int_equal(module, map ? map->module : 0);
	if (map)
		assert_int_equal(position, address - map->begin + map->offset);
}

static void test_a_new_mapping_covers_the_old_one(void **state) {
	struct space space = {0};
	add(&space, 100, 200, 0, 1);
	add(&space, 140, 160, 0, 2); // in its middle
	assert_found(&space, 139, 1, 39);
	assert_found(&space, 140, 2, 0);
	assert_found(&space, 160, 1, 60);
	assert_found(&space, 99, 0, 0);
	assert_found(&space, 200, 0, 0);
	add(&space, 50, 150, 7, 3); // its beginning and half of the second
	assert_found(&space, 149, 3, 106);
	assert_found(&space, 150, 2, 10);
	add(&space, 0, 1000, 0, 4); // everything
	assert_int_equal(1, space.maps.count);
	assert_found(&space, 150, 4, 150);
	array_free(&space.maps);
}

static void test_a_child_has_its_parent_s_mappings(void **state) {
	struct spaces spaces = {0};
	add(space_of(&spaces, 1), 100, 200, 0, 1);
	spaces_fork(&spaces, 1, 2);
	assert_found(space_of(&spaces, 2), 150, 1, 50);
	spaces_exec(&spaces, 2);
	assert_found(space_of(&spaces, 2), 150, 0, 0);
	assert_found(space_of(&spaces, 1), 150, 1, 50);
	spaces_free(&spaces);
}

static void test_formats_of_tracepoints(void **state) {
	static const char format[] = "name: sched_switch\nID: 316\nformat:\n"
				     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
				     "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
				     "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n";
	struct buffer data = {0};
	buffer_append(&data,
		      "\x17\x08\x44tracing"
		      "0.6\0\0\x08\0\x10\0\0",
		      10 + 4 + 6);
	buffer_append(&data, "header_page\0\0\0\0\0\0\0\0\0", 12 + 8);
	buffer_append(&data, "header_event\0\0\0\0\0\0\0\0\0", 13 + 8);
	put_u32(&data, 0); // ftrace's own
	put_u32(&data, 1); // one system
	buffer_append(&data, "sched", 6);
	put_u32(&data, 1);
	put_u64(&data, sizeof(format) - 1);
	buffer_append(&data, format, sizeof(format) - 1);
	struct tables tables = tables_new();
	struct trace_formats formats = {0};
	trace_formats_read(&formats, cursor_of(data.data, data.size), tables.strings);
	const struct trace_format *found = trace_format_by_id(&formats, 316);
	assert_non_null(found);
	assert_string_equal("sched:sched_switch", strings_get(tables.strings, found->name));
	uint8_t raw[28] = {0};
	int32_t pid = -5;
	int64_t value;
	memcpy(raw + 24, &pid, 4);
	assert_true(trace_field_number(trace_field_by_name(found, "prev_pid"), raw, sizeof(raw), &value));
	assert_int_equal(-5, value);
	assert_false(trace_field_number(trace_field_by_name(found, "prev_pid"), raw, 26, &value));
	trace_formats_free(&formats);
	tables_free(&tables);
	buffer_free(&data);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_file_is_read_in_order_of_time),
		cmocka_unit_test(test_a_pipe_says_the_same),
		cmocka_unit_test(test_tasks_from_before_are_no_events),
		cmocka_unit_test(test_calls_that_the_cpu_keeps_are_the_callers),
		cmocka_unit_test(test_waits_in_raw_samples_are_of_their_thread),
		cmocka_unit_test(test_bpf_programs_have_their_names),
		cmocka_unit_test(test_what_is_cut_off_leaves_the_rest),
		cmocka_unit_test(test_a_recording_that_was_killed_is_read),
		cmocka_unit_test(test_the_other_byte_order_is_said_to_be_so),
		cmocka_unit_test(test_a_record_without_a_size_costs_itself),
		cmocka_unit_test(test_a_new_mapping_covers_the_old_one),
		cmocka_unit_test(test_a_child_has_its_parent_s_mappings),
		cmocka_unit_test(test_formats_of_tracepoints),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
