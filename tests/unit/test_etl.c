// The ETL reader on files built in the test: what no public sample has, and files
// that are truncated, damaged or unfinished.
#include "unit.h"

#include "../etl/etl_sample.h"
#include "read/etl/format.h"
#include "read/etl/info.h"
#include "read/etl/inputs.h"

#include <stdio.h>

// ---- a sink that keeps events, with the texts of their fields ----

struct kept {
	struct event event;
	char text[512]; // provider/name key=value …
};

struct keeper {
	struct sink sink;
	struct tables tables;
	ARRAY(struct kept) events;
};

static int keep(struct sink *sink, const struct event *event) {
	struct keeper *keeper = CONTAINER_OF(sink, struct keeper, sink);
	struct kept kept = {.event = *event};
	if (event->kind == EVENT_GENERIC) {
		const struct strings *strings = keeper->tables.strings;
		size_t size = (size_t)snprintf(kept.text, sizeof(kept.text), "%s/%s",
					       strings_get(strings, event->generic.provider),
					       strings_get(strings, event->generic.name));
		for (uint32_t i = 0; i < event->generic.field_count && size < sizeof(kept.text); i++) {
			const struct event_field *field = &event->generic.fields[i];
			if (field->type == FIELD_TEXT)
				size += (size_t)snprintf(kept.text + size, sizeof(kept.text) - size,
							 " %s=%.*s", field->name, (int)field->size,
							 field->text);
			else
				size += (size_t)snprintf(kept.text + size, sizeof(kept.text) - size,
							 " %s=%llu", field->name,
							 (unsigned long long)field->uint);
		}
	}
	array_push(&keeper->events, kept);
	return 0;
}

static int nothing(struct sink *sink) {
	return 0;
}

static void no_destroy(struct sink *sink) {
}

static struct keeper read_with_addresses(const struct buffer *file, const struct read_options *options,
					 enum frame_addresses addresses) {
	struct keeper keeper = {.sink = {.push = keep, .finish = nothing, .destroy = no_destroy},
				.tables = tables_new()};
	struct stream input;
	keeper.tables.addresses = addresses;
	stream_of_memory(&input, file->data, file->size);
	assert_ptr_equal(reader_by_content(&input), &etl_reader);
	assert_int_equal(etl_reader.read_with(&input, "test", options, &keeper.tables, &keeper.sink), 0);
	stream_close(&input);
	return keeper;
}

static struct keeper read_file(const struct buffer *file, const struct read_options *options) {
	return read_with_addresses(file, options, ADDRESSES_OF_UNNAMED);
}

static void keeper_free(struct keeper *keeper) {
	array_free(&keeper->events);
	tables_free(&keeper->tables);
}

static struct buffer sample_file(int compression, uint8_t pointer) {
	struct etl_writer writer;
	etl_writer_begin(&writer, compression, pointer);
	sample_etl(&writer);
	return etl_writer_end(&writer);
}

static struct keeper read_sample(void) {
	struct buffer file = sample_file(WRITER_PLAIN, 8);
	struct keeper keeper = read_file(&file, &(struct read_options){0});
	buffer_free(&file);
	return keeper;
}

static const struct kept *find_generic(const struct keeper *keeper, const char *prefix) {
	for (size_t i = 0; i < keeper->events.count; i++)
		if (keeper->events.items[i].event.kind == EVENT_GENERIC &&
		    strncmp(keeper->events.items[i].text, prefix, strlen(prefix)) == 0)
			return &keeper->events.items[i];
	fail_msg("there is no event %s", prefix);
	return NULL;
}

static const struct event *find_kind(const struct keeper *keeper, enum event_kind kind, size_t number) {
	for (size_t i = 0; i < keeper->events.count; i++)
		if (keeper->events.items[i].event.kind == kind && number-- == 0)
			return &keeper->events.items[i].event;
	fail_msg("there are too few events of kind %d", kind);
	return NULL;
}

static struct etl_info gather(const struct buffer *file, struct stream *input) {
	struct etl_info info;
	struct etl_inputs inputs = {0};
	stream_of_memory(input, file->data, file->size);
	etl_inputs_open(&inputs, input, "test", &(struct read_options){0});
	assert_int_equal(etl_info_gather(&info, &inputs, NULL), 0);
	etl_inputs_close(&inputs);
	return info;
}

// ---- the container ----

static void test_every_kind_of_record_is_read_in_both_widths(void **state) {
	for (uint8_t pointer = 4; pointer <= 8; pointer += 4) {
		struct buffer file = sample_file(WRITER_PLAIN, pointer);
		struct stream input;
		struct etl_info info = gather(&file, &input);
		assert_int_equal(info.skipped + info.unreadable, 0);
		assert_int_equal(info.total, 52);
		for (int kind = 0; kind < ETL_KIND_COUNT; kind++) {
			bool wide = kind != ETL_WPP && kind % 2 == 1;
			if (kind == ETL_WPP || wide == (pointer == 8))
				assert_int_not_equal(info.by_kind[kind], 0);
		}
		etl_info_free(&info);
		stream_close(&input);
		buffer_free(&file);
	}
}

static void test_all_compressions_give_the_same_records(void **state) {
	struct buffer plain = sample_file(WRITER_PLAIN, 8);
	struct keeper expected = read_file(&plain, &(struct read_options){.records = true});
	for (int compression = WRITER_XPRESS; compression <= WRITER_HUFFMAN; compression++) {
		struct buffer file = sample_file(compression, 8);
		struct keeper keeper = read_file(&file, &(struct read_options){.records = true});
		assert_int_equal(keeper.events.count, expected.events.count);
		for (size_t i = 0; i < keeper.events.count; i++) {
			assert_int_equal(keeper.events.items[i].event.time,
					 expected.events.items[i].event.time);
			if (!strstr(keeper.events.items[i].text,
				    "EventTrace/Header")) // which says how it is compressed
				assert_string_equal(keeper.events.items[i].text,
						    expected.events.items[i].text);
		}
		keeper_free(&keeper);
		buffer_free(&file);
	}
	keeper_free(&expected);
	buffer_free(&plain);
}

static void test_records_of_all_cpus_come_in_the_order_of_time(void **state) {
	struct keeper keeper = read_sample();
	uint64_t last = 0;
	unsigned cpus = 0;
	for (size_t i = 0; i < keeper.events.count; i++) {
		const struct event *event = &keeper.events.items[i].event;
		assert_true(event->time >= last);
		last = event->time;
		if (event->cpu != CPU_NONE)
			cpus |= 1u << event->cpu;
	}
	assert_int_equal(cpus & 3, 3);
	keeper_free(&keeper);
}

static void test_buffers_of_a_circular_file_are_put_in_order(void **state) {
	struct etl_writer writer;
	etl_writer_begin(&writer, WRITER_PLAIN, 8);
	etl_writer_cpu(&writer, 0, 9000); // the newest overwrote the oldest
	sample_switch(&writer, 3, 4, 5, 0, 8000);
	etl_writer_cpu(&writer, 0, 5000);
	sample_switch(&writer, 1, 2, 5, 0, 4000);
	etl_writer_cpu(&writer, 0, 7000);
	sample_switch(&writer, 2, 3, 5, 0, 6000);
	struct buffer file = etl_writer_end(&writer);
	struct keeper keeper = read_file(&file, &(struct read_options){0});
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(find_kind(&keeper, EVENT_SWITCH, i)->tid, i + 1);
	keeper_free(&keeper);
	buffer_free(&file);
}

static void test_sessions_that_were_merged_are_put_in_order(void **state) {
	struct etl_writer writer;
	etl_writer_begin(&writer, WRITER_PLAIN, 8);
	etl_writer_cpu(&writer, 0, 9000);
	writer.logger = 2; // both for the same CPU and time
	sample_switch(&writer, 1, 2, 5, 0, 4000);
	sample_switch(&writer, 3, 4, 5, 0, 8000);
	etl_writer_cpu(&writer, 0, 9500);
	writer.logger = 3;
	sample_switch(&writer, 2, 3, 5, 0, 6000);
	sample_switch(&writer, 4, 5, 5, 0, 9000);
	struct buffer file = etl_writer_end(&writer);
	struct keeper keeper = read_file(&file, &(struct read_options){0});
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(find_kind(&keeper, EVENT_SWITCH, i)->tid, i + 1);
	keeper_free(&keeper);
	buffer_free(&file);
}

static void test_room_that_was_taken_beforehand_is_no_damage(void **state) {
	struct buffer file = sample_file(WRITER_PLAIN, 8);
	put_zeros(&file, 100 * 4096);
	struct stream input;
	struct etl_info info = gather(&file, &input);
	assert_int_equal(info.total, 52);
	assert_int_equal(info.file.unused_bytes, 100 * 4096);
	assert_int_equal(info.file.damaged_bytes, 0);
	assert_false(info.file.cut_off);
	etl_info_free(&info);
	stream_close(&input);
	buffer_free(&file);
}

static void test_damage_in_one_piece_is_one_place(void **state) {
	struct buffer file = sample_file(WRITER_PLAIN, 8);
	memset(buffer_room(&file, 100 * 4096), 0xee, 100 * 4096);
	file.size += 100 * 4096;
	struct stream input;
	struct etl_info info = gather(&file, &input);
	assert_int_equal(info.file.damaged_bytes, 100 * 4096);
	assert_int_equal(info.file.damaged_places, 1);
	etl_info_free(&info);
	stream_close(&input);
	buffer_free(&file);
}

static void test_buffers_without_a_length_are_read_to_their_end(void **state) {
	struct etl_writer writer;
	etl_writer_begin(&writer, WRITER_PLAIN, 8);
	writer.unfinished = true;
	sample_etl(&writer);
	struct buffer file = etl_writer_end(&writer);
	struct stream input;
	struct etl_info info = gather(&file, &input);
	assert_int_equal(info.total, 52);
	assert_int_equal(info.skipped, 0);
	etl_info_free(&info);
	stream_close(&input);
	buffer_free(&file);
}

static void test_a_file_that_is_cut_off_is_read_as_far_as_it_goes(void **state) {
	struct buffer file = sample_file(WRITER_PLAIN, 8);
	file.size = 4096 + 700; // inside the second buffer
	struct stream input;
	struct etl_info info = gather(&file, &input);
	assert_true(info.file.cut_off);
	assert_in_range(info.total, 5, 20);
	assert_true(info.skipped > 0);
	etl_info_free(&info);
	stream_close(&input);
	buffer_free(&file);
}

static void test_a_damaged_buffer_costs_itself_only_and_is_counted(void **state) {
	struct buffer file = sample_file(WRITER_PLAIN, 8);
	memset(file.data + 4096, 0xee, 64); // the header of the second
	struct stream input;
	struct etl_info info = gather(&file, &input);
	assert_int_equal(info.file.damaged_bytes, 4096);
	assert_int_equal(info.file.damaged_places, 1);
	assert_int_equal(info.total, 52 - 15);
	etl_info_free(&info);
	stream_close(&input);
	buffer_free(&file);
}

static void test_a_record_that_cannot_be_one_is_counted(void **state) {
	struct etl_writer writer;
	etl_writer_begin(&writer, WRITER_PLAIN, 8);
	etl_writer_cpu(&writer, 0, 2000);
	sample_switch(&writer, 1, 2, 5, 0, 1500);
	put64(&writer.content, 0x7777777777777777u);
	put64(&writer.content, 0);
	struct buffer file = etl_writer_end(&writer);
	struct stream input;
	struct etl_info info = gather(&file, &input);
	assert_int_equal(info.total, 2);
	assert_int_equal(info.skipped, 16);
	etl_info_free(&info);
	stream_close(&input);
	buffer_free(&file);
}

// Sets the session's clock, and the time of its first record.
static void set_clock(struct buffer *file, uint32_t clock, uint64_t boot, uint64_t time) {
	enum { RECORD = 0x48, PAYLOAD = RECORD + 32, BOOT = PAYLOAD + 248, CLOCK = PAYLOAD + 272 };
	memcpy(file->data + RECORD + 16, &time, sizeof(time));
	memcpy(file->data + BOOT, &boot, sizeof(boot));
	memcpy(file->data + CLOCK, &clock, sizeof(clock));
}

static void test_every_clock_gives_nanoseconds(void **state) {
	const uint64_t start = 132500000000000000u, second = 10000000;
	const struct {
		uint32_t clock;
		uint64_t boot, time; // of the header record
		uint64_t apart;      // difference of two records that are ten million ticks apart
		bool system;
	} cases[] = {
		{ETL_CLOCK_QPC, start - second, 1000, 1000000000, false},
		{ETL_CLOCK_SYSTEM, start - second, start, 1000000000, true},
		{ETL_CLOCK_SYSTEM, 0, start, 1000000000, true},                    // boot time unknown
		{ETL_CLOCK_SYSTEM, start + 100 * second, start, 1000000000, true}, // or it was set wrong
		{ETL_CLOCK_CYCLES, start - second, 1000, 1000000000 / 300, false}, // 3 GHz
		{0, start - second, start, 1000000000, true}, // clock unknown: a FILETIME
		{0, start - second, 1000, 1000000000, false}, // clock unknown: a counter
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct etl_writer writer;
		etl_writer_begin(&writer, WRITER_PLAIN, 8);
		etl_writer_cpu(&writer, 0, cases[i].time + 3 * second);
		sample_switch(&writer, 1, 2, 5, 0, cases[i].time + second);
		sample_switch(&writer, 2, 3, 5, 0, cases[i].time + 2 * second);
		struct buffer file = etl_writer_end(&writer);
		set_clock(&file, cases[i].clock, cases[i].boot, cases[i].time);
		struct keeper keeper = read_file(&file, &(struct read_options){0});
		uint64_t first = find_kind(&keeper, EVENT_SWITCH, 0)->time,
			 next = find_kind(&keeper, EVENT_SWITCH, 1)->time;
		assert_in_range(next - first, cases[i].apart, cases[i].apart + 1);
		assert_int_not_equal(first, 0);
		struct stream input;
		struct etl_info info = gather(&file, &input);
		assert_int_equal(info.file.header.clock == ETL_CLOCK_SYSTEM, cases[i].system);
		assert_int_equal(etl_file_filetime(&info.file, cases[i].time), start);
		etl_info_free(&info);
		stream_close(&input);
		keeper_free(&keeper);
		buffer_free(&file);
	}
}

// ---- from records to events ----

static void test_switches_have_both_threads_and_how_the_old_one_left(void **state) {
	struct keeper keeper = read_sample();
	const struct event *event = find_kind(&keeper, EVENT_SWITCH, 0);
	assert_int_equal(event->time, 140000);
	assert_int_equal(event->tid, APP_MAIN);
	assert_int_equal(event->pid, APP);
	assert_int_equal(event->switched.next_tid, 0);
	assert_int_equal(event->switched.state, STATE_SLEEPING);
	assert_int_equal(event->switched.wait_reason, 6 + 1);
	assert_int_equal(find_kind(&keeper, EVENT_SWITCH, 4)->switched.state, STATE_RUNNING); // preempted
	assert_int_equal(find_kind(&keeper, EVENT_SWITCH, 5)->switched.state, STATE_DEAD);
	keeper_free(&keeper);
}

static void test_a_thread_is_readied_by_the_thread_running_there(void **state) {
	struct keeper keeper = read_sample();
	const struct event *event = find_kind(&keeper, EVENT_WAKING, 0);
	assert_int_equal(event->tid, APP_WORKER);
	assert_int_equal(event->waking.wakee_tid, APP_MAIN);
	keeper_free(&keeper);
}

static void test_tasks_are_reported_with_names_and_ends(void **state) {
	struct keeper keeper = read_sample();
	const struct event *event = find_kind(&keeper, EVENT_TASK, 0);
	assert_int_equal(event->pid, APP);
	assert_string_equal(strings_get(keeper.tables.strings, event->task.command_line), "app.exe --go");
	event = find_kind(&keeper, EVENT_TASK, 1);
	assert_int_equal(event->tid, APP_MAIN);
	assert_string_equal(strings_get(keeper.tables.strings, event->task.name), "main loop");
	event = find_kind(&keeper, EVENT_FORK, 0);
	assert_int_equal(event->fork.child_pid, CHILD);
	assert_int_equal(event->fork.parent_pid, APP);
	event = find_kind(&keeper, EVENT_FORK, 1);
	assert_int_equal(event->fork.child_tid, CHILD_MAIN);
	event = find_kind(&keeper, EVENT_EXIT, 1);
	assert_int_equal(event->pid, CHILD);
	assert_int_equal(event->exit.status, 3);
	keeper_free(&keeper);
}

static void test_the_first_version_of_a_thread_has_the_thread_first(void **state) {
	struct etl_writer writer;
	struct buffer p = {0};
	etl_writer_begin(&writer, WRITER_PLAIN, 8);
	etl_writer_cpu(&writer, 0, 2000);
	put32(&p, APP_MAIN);
	put32(&p, APP);
	etl_system(&writer, 5, 1, 0, 4, 4, 1500, &p);
	struct buffer file = etl_writer_end(&writer);
	struct keeper keeper = read_file(&file, &(struct read_options){0});
	const struct event *event = find_kind(&keeper, EVENT_FORK, 0);
	assert_int_equal(event->fork.child_tid, APP_MAIN);
	assert_int_equal(event->fork.child_pid, APP);
	keeper_free(&keeper);
	buffer_free(&file);
	buffer_free(&p);
}

static void test_counters_at_a_switch_have_their_names(void **state) {
	struct etl_writer writer;
	struct buffer p = {0};
	etl_writer_begin(&writer, WRITER_PLAIN, 8);
	etl_writer_cpu(&writer, 0, 2000);
	put64(&p, 1000);
	put64(&p, 2000);
	put64(&p, 3000);
	put32(&p, APP_MAIN);
	put32(&p, APP_WORKER);
	put_zeros(&p, 16);
	etl_perfinfo(&writer, 5, 36, 0x0304, 1500, &p); // three counters, version 4
	put32(&p, 2);
	put_utf16(&p, "TotalCycles");
	put_utf16(&p, "CacheMisses");
	etl_perfinfo(&writer, 0x0f, 48, 2, 1600, &p);
	struct buffer file = etl_writer_end(&writer);
	struct keeper keeper = read_file(&file, &(struct read_options){.records = true});
	const char *text = find_generic(&keeper, "Windows Kernel/Thread/CSwitch")->text;
	assert_non_null(strstr(text, "NewThreadId=44 OldThreadId=48"));
	assert_non_null(strstr(text, "Reserved=0 TotalCycles=1000 CacheMisses=2000 Counter2=3000"));
	keeper_free(&keeper);
	buffer_free(&file);
	buffer_free(&p);
}

static const char *frame_name(const struct keeper *keeper, uint32_t stack, unsigned depth) {
	const struct stack *at = stacks_get(keeper->tables.stacks, stack);
	while (at && depth--)
		at = stacks_get(keeper->tables.stacks, at->caller);
	return at ? strings_get(keeper->tables.strings,
				stacks_frame(keeper->tables.stacks, at->frame)->symbol)
		  : NULL;
}

static void test_a_key_stands_for_the_next_definition_that_follows(void **state) {
	struct keeper keeper = read_sample();
	const struct event *first = find_kind(&keeper, EVENT_SAMPLE, 2),
			   *second = find_kind(&keeper, EVENT_SAMPLE, 3);
	assert_string_equal(frame_name(&keeper, first->sample.stack, 0), "app.exe+0x500");
	assert_string_equal(frame_name(&keeper, first->sample.stack, 1), "app.exe+0x900");
	assert_null(frame_name(&keeper, first->sample.stack, 2));
	assert_string_equal(frame_name(&keeper, second->sample.stack, 0), "app.exe+0x777");
	assert_null(frame_name(&keeper, second->sample.stack, 1));
	keeper_free(&keeper);
}

static void test_functions_without_a_name_are_one_for_each_module(void **state) {
	struct buffer file = sample_file(WRITER_PLAIN, 8);
	struct keeper keeper = read_with_addresses(&file, &(struct read_options){0}, ADDRESSES_NONE);
	const struct event *first = find_kind(&keeper, EVENT_SAMPLE, 2),
			   *second = find_kind(&keeper, EVENT_SAMPLE, 3);
	assert_string_equal(frame_name(&keeper, first->sample.stack, 0), "app.exe!?");
	assert_string_equal(frame_name(&keeper, second->sample.stack, 0), "app.exe!?");
	assert_int_equal(stacks_get(keeper.tables.stacks, first->sample.stack)->frame,
			 stacks_get(keeper.tables.stacks, second->sample.stack)->frame);
	keeper_free(&keeper);
	buffer_free(&file);
}

static void put_provider_task(struct etl_writer *writer, uint16_t id, uint8_t opcode, struct buffer *payload,
			      uint64_t time) {
	size_t begin = writer->content.size;
	etl_event(writer, "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716", id, 0, 4, 4, time, NULL, payload);
	writer->content.data[begin + 45] = opcode;
}

static void test_a_provider_also_describes_processes(void **state) {
	struct etl_writer writer;
	struct buffer p = {0};
	etl_writer_begin(&writer, WRITER_PLAIN, 8);
	etl_writer_cpu(&writer, 0, 1);
	put32(&p, 700);
	put64(&p, 0);
	put32(&p, 4);
	put32(&p, 1);
	put_utf16(&p, "\\Device\\HarddiskVolume1\\late.exe");
	put_provider_task(&writer, 1, 1, &p, 1000);
	put32(&p, 700);
	put32(&p, 704);
	put_zeros(&p, 7 * 8);
	put_provider_task(&writer, 3, 1, &p, 1100);
	struct buffer file = etl_writer_end(&writer);
	struct keeper keeper = read_file(&file, &(struct read_options){0});
	const struct event *process = find_kind(&keeper, EVENT_FORK, 0),
			   *thread = find_kind(&keeper, EVENT_FORK, 1);
	assert_int_equal(process->fork.child_pid, 700);
	assert_int_equal(process->fork.parent_pid, 4);
	assert_string_equal(strings_get(keeper.tables.strings, process->fork.name), "late.exe");
	assert_int_equal(thread->fork.child_tid, 704);
	assert_int_equal(thread->fork.child_pid, 700);
	assert_non_null(find_generic(&keeper, "Microsoft-Windows-Kernel-Process/"));
	keeper_free(&keeper);
	buffer_free(&file);
	buffer_free(&p);
}

static void test_samples_have_their_process_and_the_idle_thread_has_none(void **state) {
	struct keeper keeper = read_sample();
	const struct event *kernel = find_kind(&keeper, EVENT_SAMPLE, 0),
			   *method = find_kind(&keeper, EVENT_SAMPLE, 1);
	assert_int_equal(kernel->pid, CHILD);
	assert_string_equal(frame_name(&keeper, kernel->sample.stack, 0), "ntoskrnl.exe+0x10");
	assert_int_equal(kernel->sample.weight, 1000000);
	assert_int_equal(method->pid, APP);
	assert_string_equal(frame_name(&keeper, method->sample.stack, 0), "Hand.Made.Run");
	size_t samples = 0;
	for (size_t i = 0; i < keeper.events.count; i++)
		samples += keeper.events.items[i].event.kind == EVENT_SAMPLE;
	assert_int_equal(samples, 4);
	keeper_free(&keeper);
}

static void test_interrupts_and_disk_requests_have_a_duration(void **state) {
	struct keeper keeper = read_sample();
	const struct kept *isr = find_generic(&keeper, "Windows Kernel/PerfInfo/ISR");
	assert_int_equal(isr->event.generic.duration, 1000);
	assert_non_null(strstr(isr->text, "Vector=81"));
	assert_non_null(strstr(isr->text, "Function=ntoskrnl.exe+0x234"));
	assert_int_equal(find_generic(&keeper, "Windows Kernel/PerfInfo/DPC")->event.generic.duration, 5000);
	const struct kept *disk = find_generic(&keeper, "Windows Kernel/DiskIO/Read");
	assert_int_equal(disk->event.generic.duration, 30000);
	assert_int_equal(disk->event.pid, APP);
	assert_non_null(strstr(disk->text, "FileName=\\Device\\HarddiskVolume1\\data.bin"));
	keeper_free(&keeper);
}

static void test_faults_belong_to_the_thread_that_runs(void **state) {
	struct keeper keeper = read_sample();
	const struct kept *fault = find_generic(&keeper, "Windows Kernel/Memory/DemandZeroFault");
	assert_int_equal(fault->event.tid, APP_MAIN);
	assert_int_equal(fault->event.pid, APP);
	find_generic(&keeper, "Windows Kernel/Memory/TransitionFault");
	assert_non_null(strstr(find_generic(&keeper, "Windows Kernel/Memory/VirtualAlloc")->text,
			       "RegionSize=1048576"));
	keeper_free(&keeper);
}

static void test_the_drivers_counter_is_reported_as_differences(void **state) {
	struct keeper keeper = read_sample();
	const struct event *app = find_kind(&keeper, EVENT_COUNTER, 0),
			   *later = find_kind(&keeper, EVENT_COUNTER, 3);
	assert_string_equal(strings_get(keeper.tables.strings, app->counter.name), "ld_spec");
	assert_int_equal(app->cpu, 3);
	assert_true(app->counter.value == 1000);
	assert_string_equal(strings_get(keeper.tables.strings, later->counter.name), "r70");
	assert_true(later->counter.value == 5000);
	keeper_free(&keeper);
}

static void test_losses_of_the_session_are_reported(void **state) {
	struct buffer file = sample_file(WRITER_PLAIN, 8);
	file.data[0x48 + 32 + 276] = 3; // buffers
	struct keeper keeper = read_file(&file, &(struct read_options){0});
	assert_int_equal(find_kind(&keeper, EVENT_LOST, 0)->lost.count, 7);
	assert_int_equal(find_kind(&keeper, EVENT_LOST, 1)->lost.count, 3);
	assert_int_equal(find_kind(&keeper, EVENT_LOST, 1)->lost.source, SOURCE_BUFFER);
	keeper_free(&keeper);
	buffer_free(&file);
}

// ---- the machine ----

#define SYSTEM_CONFIG "9b79ee91-b5fd-41c0-a243-4248e266e9d0"
#define PERF_INFO     "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc"

// Text in a field of fixed size.
static void put_fixed(struct buffer *p, const char *text, size_t units) {
	size_t begin = p->size;
	put_utf16(p, text);
	put_zeros(p, begin + units * 2 - p->size);
}

static void sample_machine(struct etl_writer *writer, uint64_t time) {
	struct buffer p = {0};
	put32(&p, 3000);
	put32(&p, 8);
	put32(&p, 4096); // MB
	put32(&p, 4096);
	put32(&p, 65536);
	put_fixed(&p, "HAND-MADE", 256);
	put_fixed(&p, "", 134);
	put_zeros(&p, 28);
	etl_system(writer, 0x0b, 10, 3, 4, 4, time, &p);
	put_utf16(&p, "\\Device\\HarddiskVolume1\\");
	put_utf16(&p, "C:\\");
	etl_full(writer, false, SYSTEM_CONFIG, 35, 0, 4, 4, time + 1, &p);
	put_utf16(&p, "\\??\\");
	put_utf16(&p, "");
	etl_full(writer, false, SYSTEM_CONFIG, 35, 0, 4, 4, time + 2, &p);
	buffer_append(&p, "the second phase", 17);
	etl_full(writer, false, PERF_INFO, 34, 0, APP_MAIN, APP, time + 3, &p);
	buffer_free(&p);
}

static struct buffer machine_file(void) {
	struct etl_writer writer;
	etl_writer_begin(&writer, WRITER_PLAIN, 8);
	etl_writer_cpu(&writer, 0, 9000);
	sample_image(&writer, APP, SAMPLE_APP_BASE, "\\Device\\HarddiskVolume1\\app.exe", 1014);
	sample_image(&writer, APP, SAMPLE_KERNEL_BASE, "\\Device\\HarddiskVolume10\\b.dll", 1015);
	sample_disk(&writer, 300, 2600);
	sample_machine(&writer, 5000); // at the end, as in real files
	return etl_writer_end(&writer);
}

static void test_paths_have_the_letters_of_their_drives(void **state) {
	struct buffer file = machine_file();
	struct keeper keeper = read_file(&file, &(struct read_options){.images = true});
	assert_non_null(
		strstr(find_generic(&keeper, "Windows Kernel/Image/DCStart")->text, "FileName=C:\\app.exe"));
	assert_non_null(
		strstr(find_generic(&keeper, "Windows Kernel/DiskIO/Read")->text, "FileName=C:\\data.bin"));
	size_t others = 0; // a volume whose number only begins like that one
	for (size_t i = 0; i < keeper.events.count; i++)
		others += strstr(keeper.events.items[i].text, "=\\Device\\HarddiskVolume10\\b.dll") != NULL;
	assert_int_equal(others, 1);
	keeper_free(&keeper);
	keeper = read_file(&file, &(struct read_options){.records = true}); // records stay as they are
	assert_non_null(strstr(find_generic(&keeper, "Windows Kernel/Image/DCStart")->text,
			       "FileName=\\Device\\HarddiskVolume1\\app.exe"));
	keeper_free(&keeper);
	buffer_free(&file);
}

static void test_a_marker_is_a_mark_of_the_whole_trace(void **state) {
	struct buffer file = machine_file();
	struct keeper keeper = read_file(&file, &(struct read_options){0});
	const struct event *mark = find_kind(&keeper, EVENT_MARK, 0);
	assert_int_equal(mark->mark.type, MARK_INSTANT);
	assert_true(mark->mark.no_task);
	assert_string_equal(strings_get(keeper.tables.strings, mark->mark.name), "the second phase");
	keeper_free(&keeper);
	buffer_free(&file);
}

static void test_the_machine_is_described(void **state) {
	struct buffer file = machine_file(), text = {0};
	struct stream input;
	struct etl_info info = gather(&file, &input);
	etl_info_machine_text(&info, &text);
	buffer_append(&text, "", 1);
	assert_string_equal((char *)text.data, "machine    HAND-MADE, 4.29 GB of memory\n");
	etl_info_free(&info);
	stream_close(&input);
	buffer_free(&text);
	buffer_free(&file);
}

// ---- schemas ----

static void test_tracelogging_lists_structs_and_addresses(void **state) {
	struct keeper keeper = read_sample();
	assert_string_equal(find_generic(&keeper, "Hand.Source/Measured")->text,
			    "Hand.Source/Measured Text=h\xc3\xa9llo Numbers=10, 20, 30 "
			    "Peer={Address=192.168.0.7 Open=true}");
	keeper_free(&keeper);
}

static void test_a_manifest_that_comes_after_its_event_still_describes_it(void **state) {
	struct keeper keeper = read_sample();
	assert_string_equal(find_generic(&keeper, "Hand-EventSource/Work")->text,
			    "Hand-EventSource/Work item=first kind=One");
	keeper_free(&keeper);
}

static void test_events_without_a_description_keep_their_bytes(void **state) {
	struct keeper keeper = read_sample();
	assert_string_equal(find_generic(&keeper, SAMPLE_MANIFEST)->text,
			    SAMPLE_MANIFEST "/event 3 Payload=efbeadde");
	keeper_free(&keeper);
}

static void test_a_manifest_of_the_user_describes_events(void **state) {
	static const char text[] =
		"<?xml version=\"1.0\"?><instrumentationManifest><instrumentation><events><provider "
		"name=\"Mine\" guid=\"{" SAMPLE_MANIFEST "}\"><events><event value=\"3\" symbol=\"Beef\" "
		"template=\"T\"/></events><templates><template tid=\"T\">"
		"<data name=\"code\" inType=\"win:UInt32\" "
		"outType=\"win:HexInt32\"/></template></templates></provider></events>"
		"</instrumentation></instrumentationManifest>";
	char path[] = "etl_manifest.XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	FILE *out = fdopen(fd, "wb");
	fputs(text, out);
	fclose(out);
	struct buffer file = sample_file(WRITER_PLAIN, 8);
	struct keeper keeper = read_file(
		&file, &(struct read_options){.manifests = (const char *const[]){path, NULL}});
	assert_string_equal(find_generic(&keeper, "Mine/")->text, "Mine/Beef code=3735928559");
	keeper_free(&keeper);
	buffer_free(&file);
	remove(path);
}

// Payloads of real context switches, from catapult's tests.
static void test_real_payloads_of_switches_decode_exactly(void **state) {
	static const uint8_t payload[] = {0xcc, 8, 0, 0, 0, 0, 0, 0, 8,    0,    1,    0,
					  0,    0, 2, 4, 1, 0, 0, 0, 0x87, 0x6d, 0x88, 0x34};
	struct etl_schemas schemas;
	struct etl_decoder decoder = {.plain = true};
	struct etl_record record = {.payload = payload, .size = sizeof(payload), .pointer = 8};
	etl_schemas_init(&schemas);
	etl_decode(&decoder, &record, etl_kernel_schema(&schemas, 5, 36, 2));
	static const struct {
		const char *name;
		uint64_t value;
	} fields[] = {{"NewThreadId", 2252},  {"OldThreadId", 0},    {"NewThreadPriority", 8},
		      {"PreviousCState", 1},  {"OldThreadState", 2}, {"NewThreadWaitTime", 1},
		      {"Reserved", 881356167}};
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		uint64_t value;
		assert_true(etl_decoded_number(&decoder, fields[i].name, &value));
		assert_int_equal(value, fields[i].value);
	}
	assert_int_equal(decoder.left, 0);
	etl_decoder_free(&decoder);
	etl_schemas_free(&schemas);
}

// ---- values ----

static void assert_formatted(struct buffer *text, const char *expected) {
	buffer_append(text, "", 1);
	assert_string_equal((char *)text->data, expected);
	text->size = 0;
}

static void test_values_look_as_people_expect(void **state) {
	struct buffer text = {0};
	static const uint8_t guid[] = {0x33, 0x22, 0x11, 0,    0x55, 0x44, 0x77, 0x66,
				       0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
	format_guid(&text, guid);
	assert_formatted(&text, "00112233-4455-6677-8899-aabbccddeeff");
	format_filetime(&text, 132404548206236167u);
	assert_formatted(&text, "2020-07-29T00:07:00.6236167Z");
	format_filetime(&text, 0);
	assert_formatted(&text, "1601-01-01T00:00:00.0000000Z");
	static const uint8_t address[16] = {0x20, 1, 0x0d, 0xb8, [15] = 1};
	format_ip6(&text, address);
	assert_formatted(&text, "2001:db8::1");
	static const uint8_t any[16] = {0};
	format_ip6(&text, any);
	assert_formatted(&text, "::");
	static const uint8_t units[] = {0x3d, 0xd8, 0x00, 0xde,
					'x',  0,    0x00, 0xd8}; // an emoji, x, half of a pair
	format_utf16(&text, units, 4);
	assert_formatted(&text, "\xf0\x9f\x98\x80x\xef\xbf\xbd");
	format_hex(&text, 0);
	assert_formatted(&text, "0x0");
	format_hex(&text, UINT64_MAX);
	assert_formatted(&text, "0xffffffffffffffff");
	buffer_free(&text);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_of_record_is_read_in_both_widths),
		cmocka_unit_test(test_all_compressions_give_the_same_records),
		cmocka_unit_test(test_records_of_all_cpus_come_in_the_order_of_time),
		cmocka_unit_test(test_buffers_of_a_circular_file_are_put_in_order),
		cmocka_unit_test(test_sessions_that_were_merged_are_put_in_order),
		cmocka_unit_test(test_room_that_was_taken_beforehand_is_no_damage),
		cmocka_unit_test(test_damage_in_one_piece_is_one_place),
		cmocka_unit_test(test_buffers_without_a_length_are_read_to_their_end),
		cmocka_unit_test(test_a_file_that_is_cut_off_is_read_as_far_as_it_goes),
		cmocka_unit_test(test_a_damaged_buffer_costs_itself_only_and_is_counted),
		cmocka_unit_test(test_a_record_that_cannot_be_one_is_counted),
		cmocka_unit_test(test_every_clock_gives_nanoseconds),
		cmocka_unit_test(test_switches_have_both_threads_and_how_the_old_one_left),
		cmocka_unit_test(test_a_thread_is_readied_by_the_thread_running_there),
		cmocka_unit_test(test_tasks_are_reported_with_names_and_ends),
		cmocka_unit_test(test_the_first_version_of_a_thread_has_the_thread_first),
		cmocka_unit_test(test_counters_at_a_switch_have_their_names),
		cmocka_unit_test(test_a_key_stands_for_the_next_definition_that_follows),
		cmocka_unit_test(test_functions_without_a_name_are_one_for_each_module),
		cmocka_unit_test(test_a_provider_also_describes_processes),
		cmocka_unit_test(test_samples_have_their_process_and_the_idle_thread_has_none),
		cmocka_unit_test(test_interrupts_and_disk_requests_have_a_duration),
		cmocka_unit_test(test_faults_belong_to_the_thread_that_runs),
		cmocka_unit_test(test_the_drivers_counter_is_reported_as_differences),
		cmocka_unit_test(test_losses_of_the_session_are_reported),
		cmocka_unit_test(test_paths_have_the_letters_of_their_drives),
		cmocka_unit_test(test_a_marker_is_a_mark_of_the_whole_trace),
		cmocka_unit_test(test_the_machine_is_described),
		cmocka_unit_test(test_tracelogging_lists_structs_and_addresses),
		cmocka_unit_test(test_a_manifest_that_comes_after_its_event_still_describes_it),
		cmocka_unit_test(test_events_without_a_description_keep_their_bytes),
		cmocka_unit_test(test_a_manifest_of_the_user_describes_events),
		cmocka_unit_test(test_real_payloads_of_switches_decode_exactly),
		cmocka_unit_test(test_values_look_as_people_expect),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
