// The spool: the reader pushes what capture wrote, wherever the spool ends.
#include "spool_keeper.h"

#include "capture/copies.h"
#include "read/spool/spool.h"
#include "sample_spool.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>

// ---- every kind ----

static void test_what_is_about_the_whole_is_read(void **state) {
	struct buffer spool = {0};
	struct keeper keeper;
	sample_spool(&spool);
	read_bytes(&keeper, &spool);
	assert_int_equal(keeper.error, 0);
	assert_string_equal(keeper.said, "");
	assert_int_equal(nth(&keeper, EVENT_START, 0)->time, SAMPLE_START);
	assert_int_equal(nth(&keeper, EVENT_CLOCK, 0)->clock.wall, 1700000000000000000);
	assert_int_equal(nth(&keeper, EVENT_CLOCK, 0)->clock.monotonic, 900000);
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_META, 1)->meta.key), "scope");
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_META, 1)->meta.value), "tree");
	assert_int_equal(nth(&keeper, EVENT_WATERMARK, 0)->time, SAMPLE_START + 1400);
	const struct event *task = nth(&keeper, EVENT_TASK, 0);
	assert_int_equal(task->tid, 10);
	assert_int_equal(task->task.parent_pid, 1);
	assert_string_equal(TEXT(&keeper, task->task.name), "waits");
	assert_memory_equal(TEXT(&keeper, task->task.command_line), "./waits\0-v", 11);
	keeper_free(&keeper);
	buffer_free(&spool);
}

static void test_switches_and_wakeups_are_read(void **state) {
	struct buffer spool = {0};
	struct keeper keeper;
	sample_spool(&spool);
	read_bytes(&keeper, &spool);
	const struct event *event = nth(&keeper, EVENT_SWITCH, 0);
	assert_int_equal(event->cpu, 0);
	assert_int_equal(event->time, SAMPLE_START + 1000);
	assert_true(event->switched.outside && !event->switched.next_outside);
	assert_int_equal(event->switched.next_tid, 10);
	assert_int_equal(event->switched.next_priority, 120);
	event = nth(&keeper, EVENT_SWITCH, 2); // in between CPU 1 has one
	assert_int_equal(event->tid, 10);
	assert_int_equal(event->switched.state, STATE_PREEMPTED);
	assert_true(event->switched.next_outside);
	assert_string_equal(TEXT(&keeper, event->switched.next_name), "intruder");
	event = nth(&keeper, EVENT_SWITCH, 3);
	assert_int_equal(event->switched.state, STATE_DEAD);
	event = nth(&keeper, EVENT_WAKING, 0);
	assert_int_equal(event->tid, 10);
	assert_int_equal(event->waking.wakee_tid, 11);
	assert_int_equal(event->waking.target_cpu, 1);
	assert_int_equal(event->waking.context, 0);
	event = nth(&keeper, EVENT_WAKING, 1);
	assert_int_equal(event->waking.context, CONTEXT_HARDIRQ);
	assert_int_equal(event->tid, 0); // an interrupt, not the task that it met
	assert_int_equal(event->waking.waker_name, 0);
	keeper_free(&keeper);
	buffer_free(&spool);
}

static void test_what_a_switch_says_about_waiting_is_read(void **state) {
	struct buffer spool = {0};
	struct keeper keeper;
	spool_begin(&spool, SAMPLE_START);
	size_t batch = batch_begin(&spool, 0, SAMPLE_START + 1000);
	RECORD(&spool, record_switch, RECORD_SWITCH, SWITCH_IO_WAIT, 0, .prev_tid = 10, .prev_state = 2);
	RECORD(&spool, record_switch, RECORD_SWITCH, SWITCH_NO_IO_WAIT, 10, .prev_tid = 10, .prev_state = 2);
	RECORD(&spool, record_switch, RECORD_SWITCH, 0, 20, .prev_tid = 10, .prev_state = 2); // an old one
	RECORD(&spool, record_switch_named, RECORD_SWITCH,
	       SWITCH_PREV_OUTSIDE | SWITCH_NEXT_OUTSIDE | SWITCH_FOLLOWED, 30,
	       .base = {.prev_tid = RECORD_TID_OUTSIDE, .next_tid = 99}, .next_name = "intruder");
	batch_end(&spool, batch);
	read_bytes(&keeper, &spool);
	assert_int_equal(nth(&keeper, EVENT_SWITCH, 0)->switched.io_wait, IO_WAIT_YES);
	assert_int_equal(nth(&keeper, EVENT_SWITCH, 1)->switched.io_wait, IO_WAIT_NO);
	assert_int_equal(nth(&keeper, EVENT_SWITCH, 2)->switched.io_wait, IO_WAIT_UNKNOWN);
	assert_false(nth(&keeper, EVENT_SWITCH, 2)->switched.followed);
	assert_true(nth(&keeper, EVENT_SWITCH, 3)->switched.followed);
	assert_int_equal(nth(&keeper, EVENT_SWITCH, 3)->tid, TID_OUTSIDE);
	keeper_free(&keeper);
	buffer_free(&spool);
}

static void test_lives_and_interrupts_are_read(void **state) {
	struct buffer spool = {0};
	struct keeper keeper;
	sample_spool(&spool);
	read_bytes(&keeper, &spool);
	const struct event *event = nth(&keeper, EVENT_EXEC, 0);
	assert_int_equal(event->pid, 10);
	assert_string_equal(TEXT(&keeper, event->exec.file), "/bin/test");
	assert_int_equal(strings_length(keeper.tables.strings, event->exec.arguments), 17);
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_RENAME, 0)->rename.name), "renamed");
	event = nth(&keeper, EVENT_FORK, 0);
	assert_int_equal(event->fork.child_tid, 11);
	assert_int_equal(event->fork.child_pid, 10);
	event = nth(&keeper, EVENT_EXIT, 1);
	assert_int_equal(event->exit.code, 3 << 8);
	assert_true(event->exit.last && !event->exit.unknown);
	event = nth(&keeper, EVENT_IRQ_ENTRY, 0);
	assert_int_equal(event->irq.number, 24);
	assert_string_equal(TEXT(&keeper, event->irq.name), "eth0");
	assert_int_equal(nth(&keeper, EVENT_IRQ_EXIT, 0)->irq.result, 1);
	assert_int_equal(nth(&keeper, EVENT_SOFTIRQ_ENTRY, 0)->irq.number, 3);
	assert_int_equal(nth(&keeper, EVENT_SOFTIRQ_EXIT, 0)->tid, 11);
	keeper_free(&keeper);
	buffer_free(&spool);
}

// A batch reported three; the totals report the two others, and the task that was not followed.
static void test_each_loss_is_reported_once(void **state) {
	struct buffer spool = {0};
	struct keeper keeper;
	sample_spool(&spool);
	read_bytes(&keeper, &spool);
	uint64_t lost[SOURCE_COUNT] = {0};
	for (size_t i = 0; i < keeper.events.count; i++)
		if (keeper.events.items[i].kind == EVENT_LOST)
			lost[keeper.events.items[i].lost.source] += keeper.events.items[i].lost.count;
	assert_int_equal(lost[SOURCE_SCHED], 0);
	assert_int_equal(lost[SOURCE_PROCESS], 2 + 1);
	assert_int_equal(lost[SOURCE_IRQ], 3);
	assert_int_equal(nth(&keeper, EVENT_LOST, 0)->cpu, 0);
	assert_int_equal(nth(&keeper, EVENT_LOST, 0)->time, SAMPLE_START + 2000);
	keeper_free(&keeper);
	buffer_free(&spool);
}

// Reads the totals in a spool whose version has `sources` sources: the losses of interrupts, and
// all of them.
static void lost_with_sources(size_t sources, uint64_t *irq, uint64_t *all) {
	struct buffer spool = {0};
	struct keeper keeper;
	uint64_t totals[64] = {SAMPLE_START + 10, [1 + SOURCE_IRQ] = 3};
	totals[sources] = 100; // the last source
	totals[sources + 1] = 5;
	spool_begin(&spool, SAMPLE_START);
	add_block(&spool, SPOOL_LOST, totals, (2 + sources) * sizeof(*totals));
	read_bytes(&keeper, &spool);
	assert_int_equal(keeper.error, 0);
	assert_string_equal(keeper.said, "");
	*irq = *all = 0;
	for (size_t i = 0; i < keeper.events.count; i++) {
		const struct event *event = &keeper.events.items[i];
		*all += event->kind == EVENT_LOST ? event->lost.count : 0;
		*irq += event->kind == EVENT_LOST && event->lost.source == SOURCE_IRQ ? event->lost.count : 0;
	}
	keeper_free(&keeper);
	buffer_free(&spool);
}

static void test_totals_of_versions_with_other_sources_are_read(void **state) {
	uint64_t irq, all;
	lost_with_sources(24, &irq, &all); // as in the first spools of this version
	assert_int_equal(irq, 3);
	assert_int_equal(all, 3 + 100 + 5);
	lost_with_sources(RECORD_SOURCE_COUNT + 2, &irq, &all); // its last source is unknown here
	assert_int_equal(irq, 3);
	assert_int_equal(all, 3 + 5);
}

static void test_states_are_as_the_tracepoint_prints_them(void **state) {
	static const uint16_t states[][2] = {
		{0, STATE_RUNNING},   {1, STATE_SLEEPING},  {2, STATE_DISK},        {0x402, STATE_IDLE},
		{0x1000, STATE_DISK}, {0x8000, STATE_DISK}, {4, STATE_STOPPED},     {0x11, STATE_DEAD},
		{0x24, STATE_ZOMBIE}, {0x40, STATE_PARKED}, {0x200, STATE_RUNNING},
	};
	struct buffer spool = {0};
	struct keeper keeper;
	spool_begin(&spool, 1);
	size_t batch = batch_begin(&spool, 0, 10);
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		record_a_switch(&spool, (uint32_t)i, 10, states[i][0], 0);
	batch_end(&spool, batch);
	read_bytes(&keeper, &spool);
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		assert_int_equal(nth(&keeper, EVENT_SWITCH, i)->switched.state, states[i][1]);
	keeper_free(&keeper);
	buffer_free(&spool);
}

// A flight recorder keeps the last part of a test: of what came before, only which tasks are alive.
static void test_before_the_start_only_task_lives_are_passed_on(void **state) {
	struct buffer spool = {0};
	struct keeper keeper;
	spool_begin(&spool, 1000);
	size_t batch = batch_begin(&spool, 0, 500);
	record_a_switch(&spool, 0, 10, 1, 0);
	RECORD(&spool, record_fork, RECORD_FORK, 0, 100, .tid = 10, .pid = 10, .child_tid = 11,
	       .child_pid = 11);
	RECORD(&spool, record_irq, RECORD_SOFTIRQ_ENTRY, 0, 200, .tid = 10);
	record_a_switch(&spool, 500, 0, 0, 10);
	batch_end(&spool, batch);
	read_bytes(&keeper, &spool);
	assert_int_equal(keeper.events.count, 3);
	assert_int_equal(nth(&keeper, EVENT_FORK, 0)->time, 1000);
	assert_int_equal(nth(&keeper, EVENT_SWITCH, 0)->switched.next_tid, 10);
	assert_string_equal(keeper.said, "");
	keeper_free(&keeper);
	buffer_free(&spool);
}

// ---- spools that end anywhere ----

// In the same order, too.
static void assert_among(const struct keeper *part, const struct keeper *whole) {
	size_t at = 0;
	for (size_t i = 0; i < part->events.count; i++, at++) {
		const struct event *event = &part->events.items[i];
		while (at < whole->events.count && (whole->events.items[at].kind != event->kind ||
						    whole->events.items[at].time != event->time))
			at++;
		assert_true(at < whole->events.count);
	}
}

// What is pushed from a truncated spool is among what is pushed from the whole one.
static void test_cut_anywhere_all_whole_blocks_before_count(void **state) {
	struct buffer spool = {0}, part = {0};
	struct keeper whole, keeper;
	sample_spool(&spool);
	read_bytes(&whole, &spool);
	size_t pushed_before = 0, block_end = sizeof(struct spool_header);
	for (size_t size = 0; size <= spool.size; size++) {
		part = (struct buffer){.data = spool.data, .size = size};
		read_bytes(&keeper, &part);
		if (size < sizeof(struct spool_header)) {
			assert_int_equal(keeper.error, -EINVAL);
			assert_string_equal(keeper.said,
					    "tracelet: a.spool: not a tracelet spool (too short)\n");
			assert_int_equal(keeper.events.count, 0);
			keeper_free(&keeper);
			continue;
		}
		assert_int_equal(keeper.error, 0);
		assert_true(keeper.events.count >= pushed_before);
		assert_among(&keeper, &whole);
		if (size == block_end) {
			struct spool_block block = {0};
			assert_string_equal(keeper.said, "");
			if (size < spool.size)
				memcpy(&block, spool.data + size, sizeof(block));
			block_end += sizeof(block) + ((block.size + 7) & ~7u);
		} else {
			assert_non_null(strstr(keeper.said, "truncated inside a block"));
			assert_int_equal(keeper.events.count, pushed_before);
		}
		pushed_before = keeper.events.count;
		keeper_free(&keeper);
	}
	assert_int_equal(pushed_before, whole.events.count);
	keeper_free(&whole);
	buffer_free(&spool);
}

static void test_any_changed_byte_is_survived(void **state) {
	struct buffer spool = {0};
	sample_spool(&spool);
	struct keeper whole;
	read_bytes(&whole, &spool);
	for (size_t at = 0; at < spool.size; at++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			struct keeper keeper;
			spool.data[at] ^= (uint8_t)(1u << bit);
			read_bytes(&keeper, &spool);
			spool.data[at] ^= (uint8_t)(1u << bit);
			assert_true(keeper.error == 0 || keeper.error == -EINVAL);
			assert_true(keeper.events.count <= whole.events.count + 3); // plus a count of losses
			assert_true(keeper.error == 0 || *keeper.said);
			keeper_free(&keeper);
		}
	}
	keeper_free(&whole);
	buffer_free(&spool);
}

// ---- runs ----

// With `runs`, batches wait undecoded.
static void read_as(struct keeper *keeper, const struct buffer *spool, bool runs) {
	struct reader reader = spool_reader;
	struct stream input;
	if (!runs)
		reader.read = spool_read_one_by_one;
	stream_of_memory(&input, spool->data, spool->size);
	keeper_read(keeper, &input, &reader, keep_all);
}

static void assert_same(const struct buffer *spool) {
	struct keeper runs, events;
	read_as(&runs, spool, true);
	read_as(&events, spool, false);
	assert_int_equal(runs.error, events.error);
	assert_string_equal(runs.said, events.said);
	assert_int_equal(runs.events.count, events.events.count);
	for (size_t i = 0; i < runs.events.count; i++)
		assert_int_equal(runs.events.items[i].time, events.events.items[i].time);
	for (int kind = 0; kind < EVENT_KIND_COUNT; kind++)
		assert_int_equal(count_kind(&runs, (enum event_kind)kind),
				 count_kind(&events, (enum event_kind)kind));
	keeper_free(&runs);
	keeper_free(&events);
}

static void test_batches_that_wait_as_they_are_make_the_same_events(void **state) {
	struct buffer spool = {0};
	struct keeper keeper;
	sample_spool(&spool);
	assert_same(&spool);
	read_as(&keeper, &spool, true);
	assert_true(nth(&keeper, EVENT_SWITCH, 0)->switched.outside);
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_RENAME, 0)->rename.name), "renamed");
	keeper_free(&keeper);
	for (size_t at = 0; at < spool.size; at++) {
		spool.data[at] ^= (uint8_t)(1u << at % 8);
		assert_same(&spool);
		spool.data[at] ^= (uint8_t)(1u << at % 8);
	}
	buffer_free(&spool);
}

// ---- hostile spools ----

static void assert_bad(struct buffer *spool, const char *words, size_t events) {
	struct keeper keeper;
	read_bytes(&keeper, spool);
	if (!strstr(keeper.said, words))
		fail_msg("said: %s", keeper.said);
	assert_int_equal(keeper.events.count, events);
	keeper_free(&keeper);
	buffer_free(spool);
}

static void test_what_is_no_spool_is_refused(void **state) {
	struct buffer spool = {0};
	spool_begin(&spool, 1);
	spool.data[3] = 'x';
	assert_bad(&spool, "a.spool: not a tracelet spool\n", 0);
	spool_begin(&spool, 1);
	spool.data[offsetof(struct spool_header, version)] = 7;
	assert_bad(&spool, "a spool of version 7; this tracelet reads version 5", 0);
	spool_begin(&spool, UINT64_MAX);
	assert_bad(&spool, "damaged header", 0);
}

static void test_a_block_of_four_gigabytes_ends_the_spool(void **state) {
	struct buffer spool = {0};
	spool_begin(&spool, 1);
	buffer_append(&spool, &(struct spool_block){.type = SPOOL_BATCH, .size = UINT32_MAX},
		      sizeof(struct spool_block));
	spool_fact(&spool, "behind", "it");
	assert_bad(&spool, "not a block at offset 32; ignoring the rest", 1);
}

static void test_an_unknown_block_is_skipped(void **state) {
	struct buffer spool = {0};
	spool_begin(&spool, 1);
	add_block(&spool, 4711, "something", 9);
	add_block(&spool, 0, NULL, 0);
	spool_fact(&spool, "behind", "it");
	assert_bad(&spool, "2 records could not be decoded", 2);
}

static void test_blocks_shorter_than_their_content_are_counted(void **state) {
	static const uint32_t types[] = {SPOOL_BATCH, SPOOL_WATERMARK, SPOOL_CLOCK,  SPOOL_META,
					 SPOOL_TASK,  SPOOL_LOST,      SPOOL_READING};
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct buffer spool = {0};
		spool_begin(&spool, 1);
		add_block(&spool, types[i], "abc", 3);
		assert_bad(&spool, "1 record could not be decoded", 1);
	}
}

static void test_a_record_size_that_cannot_be_ends_its_batch(void **state) {
	static const uint16_t sizes[] = {0, 7, 9000, UINT16_MAX};
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct buffer spool = {0};
		spool_begin(&spool, 1);
		size_t batch = batch_begin(&spool, 0, 100);
		record_a_switch(&spool, 0, 10, 1, 0);
		struct record bad = {.kind = RECORD_SWITCH, .size = sizes[i]};
		buffer_append(&spool, &bad, sizeof(bad));
		record_a_switch(&spool, 5, 0, 0, 10);
		batch_end(&spool, batch);
		spool_fact(&spool, "behind", "it");
		assert_bad(&spool, "1 record could not be decoded", 3);
	}
}

static void test_marks_are_read(void **state) {
	struct buffer spool = {0};
	struct keeper keeper;
	spool_begin(&spool, SAMPLE_START);
	sample_marks(&spool);
	read_bytes(&keeper, &spool);
	assert_string_equal(keeper.said, "");
	assert_int_equal(count_kind(&keeper, EVENT_MARK), 7);
	const struct event *mark = nth(&keeper, EVENT_MARK, 3);
	assert_int_equal(mark->mark.type, MARK_COUNTER);
	assert_int_equal(mark->tid, 11);
	assert_int_equal(mark->pid, 10);
	assert_int_equal(mark->cpu, CPU_NONE);
	assert_int_equal(mark->time, SAMPLE_START + 1273);
	assert_true(mark->mark.value == 2.5);
	assert_string_equal(TEXT(&keeper, mark->mark.name), "depth");
	const struct event *lost = nth(&keeper, EVENT_LOST, 0);
	assert_int_equal(lost->lost.source, SOURCE_MARKER);
	assert_int_equal(lost->lost.count, 2);
	keeper_free(&keeper);
	buffer_free(&spool);
}

static void add_reading(struct buffer *spool, uint64_t time, uint32_t pid) {
	struct {
		struct spool_reading reading;
		char name[8];
	} block = {{.time = time, .value = 2.5, .pid = pid}, "live"};
	add_block(spool, SPOOL_READING, &block, sizeof(block.reading) + 5);
}

static void test_numbers_about_a_process_are_marks_of_it(void **state) {
	struct buffer spool = {0};
	struct keeper keeper;
	spool_begin(&spool, SAMPLE_START);
	add_reading(&spool, SAMPLE_START + 7, 10);
	read_bytes(&keeper, &spool);
	assert_string_equal(keeper.said, "");
	const struct event *mark = nth(&keeper, EVENT_MARK, 0);
	assert_int_equal(mark->mark.type, MARK_COUNTER);
	assert_int_equal(mark->tid, 10);
	assert_int_equal(mark->pid, 10);
	assert_int_equal(mark->time, SAMPLE_START + 7);
	assert_true(mark->mark.value == 2.5);
	assert_string_equal(TEXT(&keeper, mark->mark.name), "live");
	keeper_free(&keeper);
	spool.size = sizeof(struct spool_header);
	add_reading(&spool, SAMPLE_START + 7, UINT32_MAX); // belongs to no task
	add_reading(&spool, UINT64_MAX, 10);
	assert_bad(&spool, "2 records could not be decoded", 1);
}

static void test_marks_that_make_no_sense_are_counted(void **state) {
	struct buffer spool = {0};
	spool_begin(&spool, 1);
	size_t batch = batch_begin(&spool, BATCH_NO_CPU, 100);
	record_a_mark(&spool, 0, 10, 10, 0, "no type", 0);
	record_a_mark(&spool, 1, 10, 10, MARK_TYPE_COUNT, "a type too far", 0);
	record_a_mark(&spool, 2, TID_OUTSIDE, 10, 1, "nobody's", 0);
	record_a_mark(&spool, 3, 10, UINT32_MAX, 1, "nobody's", 0);
	size_t at = spool.size;
	record_a_mark(&spool, 4, 10, 10, 1, "short", 0);
	spool.data[at + offsetof(struct record_mark, text_size) + 1] = 1; // 261 bytes
	record_a_switch(&spool, 5, 10, 1, 0);                             // without a CPU
	record_a_mark(&spool, 6, 10, 10, 1, "good", 0);
	batch_end(&spool, batch);
	assert_bad(&spool, "6 records could not be decoded", 2);
}

static void test_a_batch_is_as_long_as_it_says_and_not_longer(void **state) {
	struct buffer spool = {0};
	spool_begin(&spool, 1);
	struct batch batch = {.base = 100, .size = 1000};
	add_block(&spool, SPOOL_BATCH, &batch, sizeof(batch));
	assert_bad(&spool, "1 record could not be decoded", 1);
}

// Each is one record that no kernel writes, between two valid ones.
static void test_ids_times_and_cpus_that_cannot_be_are_left_out(void **state) {
	for (int i = 0; i < 10; i++) {
		struct buffer spool = {0};
		spool_begin(&spool, 1);
		size_t batch = batch_begin(&spool, i == 0 ? CPU_COUNT_MOST : 0,
					   i == 1 ? UINT64_MAX - 5 : 100);
		static const uint32_t tids[] = {0, TID_OUTSIDE, UINT32_MAX};
		if (i < 2)
			record_a_switch(&spool, 0, 1, 1, 2);
		else if (i == 2)
			record_a_switch(&spool, 0, 1, 1, UINT32_MAX);
		else if (i == 3)
			record_a_switch(&spool, 0, TID_OUTSIDE, 1, 2); // outside, without saying so
		else if (i < 7)
			RECORD(&spool, record_exit, RECORD_EXIT, 0, 0, .tid = tids[i - 4], .pid = 5);
		else
			RECORD(&spool, record_fork, RECORD_FORK, 0, 0, .child_tid = 5,
			       .child_pid = tids[i - 7]);
		batch_end(&spool, batch);
		spool_fact(&spool, "behind", "it");
		assert_bad(&spool, "1 record could not be decoded", 2);
	}
}

static void test_an_exec_longer_than_its_record_is_left_out(void **state) {
	struct buffer spool = {0};
	spool_begin(&spool, 1);
	size_t batch = batch_begin(&spool, 0, 100);
	RECORD(&spool, record_exec, RECORD_EXEC, 0, 0, .tid = 5, .pid = 5, .file_size = 60000,
	       .arguments_size = 60000);
	batch_end(&spool, batch);
	assert_bad(&spool, "1 record could not be decoded", 1);
}

static void test_a_read_that_fails_is_an_error(void **state) {
	struct stream input;
	struct keeper keeper;
	struct buffer spool = {0};
	sample_spool(&spool);
	stream_of_memory(&input, spool.data, 200);
	input.error = -EIO;
	read_stream(&keeper, &input);
	assert_int_equal(keeper.error, -EIO);
	assert_string_equal(keeper.said, "tracelet: a.spool: cannot be read: Input/output error\n");
	keeper_free(&keeper);
	buffer_free(&spool);
}

static void test_formats_are_distinguished_by_their_first_bytes(void **state) {
	struct stream input;
	struct buffer spool = {0};
	sample_spool(&spool);
	stream_of_memory(&input, spool.data, spool.size);
	assert_ptr_equal(reader_by_content(&input), &spool_reader);
	assert_int_equal(input.offset, 0);
	stream_close(&input);
	stream_of_memory(&input, "tracelet spoo", 13);
	assert_null(reader_by_content(&input));
	stream_close(&input);
	stream_of_memory(&input, NULL, 0);
	assert_null(reader_by_content(&input));
	stream_close(&input);
	assert_ptr_equal(reader_by_name("spool"), &spool_reader);
	assert_null(reader_by_name("spoo"));
	buffer_free(&spool);
}

// ---- the writer ----

static void test_what_is_written_is_read(void **state) {
	struct spool spool = open_spool(in_folder("spool"));
	spool_meta(&spool, "key", "value");
	spool_meta(&spool, "", "");
	spool_task(&spool, &(struct spool_task){.tid = 5, .pid = 4, .parent_pid = 3}, "a name", "a\0b", 4);
	spool_watermark(&spool, 123456);
	spool_clock(&spool);
	spool_close(&spool);
	spool_close(&spool);
	struct keeper keeper;
	read_file(&keeper, in_folder("spool"));
	assert_string_equal(keeper.said, "");
	assert_int_equal(count_kind(&keeper, EVENT_CLOCK), 2);
	assert_true(nth(&keeper, EVENT_CLOCK, 0)->time >= nth(&keeper, EVENT_START, 0)->time);
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_META, 0)->meta.value), "value");
	assert_int_equal(nth(&keeper, EVENT_META, 1)->meta.value, 0);
	assert_int_equal(nth(&keeper, EVENT_TASK, 0)->pid, 4);
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_TASK, 0)->task.name), "a name");
	assert_int_equal(nth(&keeper, EVENT_WATERMARK, 0)->time, 123456);
	keeper_free(&keeper);
}

static void test_what_was_flushed_is_there_without_a_close(void **state) {
	struct spool spool = open_spool(in_folder("spool"));
	spool_meta(&spool, "first", "1");
	assert_int_equal(spool_flush(&spool), 0);
	spool_meta(&spool, "second", "2");
	struct keeper keeper;
	read_file(&keeper, in_folder("spool"));
	assert_int_equal(count_kind(&keeper, EVENT_META), 1);
	assert_string_equal(keeper.said, "");
	keeper_free(&keeper);
	spool_close(&spool);
}

static void test_large_content_is_written_without_a_flush(void **state) {
	struct spool spool = open_spool(in_folder("spool"));
	char *value = memory_alloc(100001);
	memset(value, 'x', 100000);
	for (int i = 0; i < 20; i++)
		spool_meta(&spool, "large", value);
	assert_true(spool.written > 1000000);
	assert_true(spool.pending.size < 600000);
	spool_close(&spool);
	struct keeper keeper;
	read_file(&keeper, in_folder("spool"));
	assert_int_equal(count_kind(&keeper, EVENT_META), 20);
	keeper_free(&keeper);
	free(value);
}

static void test_a_value_of_megabytes_is_cut_to_fit_a_block(void **state) {
	struct spool spool = open_spool(in_folder("spool"));
	char *value = memory_alloc((4 << 20) + 1);
	memset(value, 'x', 4 << 20);
	spool_meta(&spool, "huge", value);
	spool_task(&spool, &(struct spool_task){.tid = 5, .pid = 5}, "name", value, 4 << 20);
	spool_meta(&spool, "behind", "it");
	spool_close(&spool);
	struct keeper keeper;
	read_file(&keeper, in_folder("spool"));
	assert_string_equal(keeper.said, "");
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_META, 1)->meta.key), "behind");
	keeper_free(&keeper);
	free(value);
}

// Events stop at the limit, even smaller ones after it; facts about the whole recording do not.
static void test_a_limit_is_for_events(void **state) {
	static const char batch[1000];
	struct stat status;
	struct spool spool = open_spool(in_folder("spool"));
	spool.limit = 2500;
	for (int i = 0; i < 4; i++)
		spool_append(&spool, SPOOL_BATCH, batch, sizeof(batch));
	assert_true(spool.full);
	spool_flush(&spool);
	uint64_t written = spool.written;
	assert_in_range(written, 2000, 2500);
	spool_append(&spool, SPOOL_BATCH, batch, 8);
	spool_flush(&spool);
	assert_int_equal(written, spool.written);
	spool_meta(&spool, "result", "passed");
	spool_close(&spool);
	assert_int_equal(stat(in_folder("spool"), &status), 0);
	assert_true((uint64_t)status.st_size > written);
}

// A full disk: the first failure is kept, and what was written can be read.
static void test_a_full_disk_leaves_what_was_written(void **state) {
	struct rlimit before, limit;
	struct spool spool = open_spool(in_folder("spool"));
	getrlimit(RLIMIT_FSIZE, &before);
	limit = (struct rlimit){.rlim_cur = 1000, .rlim_max = before.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	spool_meta(&spool, "first", "1");
	int good = spool_flush(&spool);
	for (int i = 0; i < 100; i++)
		spool_meta(&spool, "more", "and more");
	int full = spool_flush(&spool);
	setrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_DFL);
	spool_meta(&spool, "again", "there is room");
	int still = spool_flush(&spool);
	spool_close(&spool);
	assert_int_equal(good, 0);
	assert_int_equal(full, -EFBIG);
	assert_int_equal(still, -EFBIG); // a gap in the file would be worse than an end
	struct stat status;
	assert_int_equal(stat(in_folder("spool"), &status), 0);
	assert_int_equal(status.st_size, 1000);
	struct keeper keeper;
	read_file(&keeper, in_folder("spool"));
	assert_int_equal(keeper.error, 0);
	assert_true(count_kind(&keeper, EVENT_META) > 10);
	keeper_free(&keeper);
}

// ---- copied stacks ----

// What the kernel delivers: one kernel address, one user address, and a stack of `size` bytes.
static void copied_sample(struct buffer *batch, uint32_t size) {
	uint64_t addresses[SAMPLE_ADDRESSES] = {0xffffffff81000010, 0x1234};
	struct sample_copied copied = {.pc = 0x1000, .stack = 0x7000, .frame = 0x7100, .size = size};
	struct record_sample sample = {.head = {.kind = RECORD_SAMPLE, .flags = SAMPLE_STACK_COPIED},
				       .tid = 7,
				       .pid = 7,
				       .period = 1001001,
				       .kernel_frames = 1,
				       .user_frames = 1};
	sample.head.size = (uint16_t)(sizeof(sample) + sizeof(addresses) + sizeof(copied) + size);
	struct batch head = {.base = SAMPLE_START + 5, .cpu = 1, .size = sample.head.size};
	buffer_append(batch, &head, sizeof(head));
	buffer_append(batch, &sample, sizeof(sample));
	buffer_append(batch, addresses, sizeof(addresses));
	buffer_append(batch, &copied, sizeof(copied));
	for (uint32_t i = 0; i < size; i++)
		buffer_append(batch, &(uint8_t){(uint8_t)(i % 7 ? 0 : i)}, 1);
}

// The bytes of the copy are valid only during the push.
struct copy_keeper {
	struct sink sink;
	struct event sample;
	struct sample_copy copy;
	uint8_t bytes[8192];
};

static int keep_copy(struct sink *sink, const struct event *event) {
	struct copy_keeper *keeper = CONTAINER_OF(sink, struct copy_keeper, sink);
	if (event->kind != EVENT_SAMPLE)
		return 0;
	keeper->sample = *event;
	keeper->copy = *event->sample.copy;
	memcpy(keeper->bytes, keeper->copy.bytes, keeper->copy.size);
	return 0;
}

static void read_one_copy(struct copy_keeper *keeper, const struct batch *batch) {
	struct buffer spool = {0};
	struct stream input;
	struct tables tables = tables_new();
	spool_begin(&spool, SAMPLE_START);
	add_block(&spool, SPOOL_BATCH, batch, sizeof(*batch) + batch->size);
	*keeper = (struct copy_keeper){.sink = {.push = keep_copy}};
	stream_of_memory(&input, spool.data, spool.size);
	assert_int_equal(spool_reader.read(&input, "a.spool", &tables, &keeper->sink), 0);
	stream_close(&input);
	tables_free(&tables);
	buffer_free(&spool);
}

static void test_a_copied_stack_comes_out_of_its_packing(void **state) {
	struct buffer batch = {0};
	struct copies copies = {0};
	struct copy_keeper plain, unpacked;
	copied_sample(&batch, 4096);
	const struct batch *given = (const struct batch *)batch.data, *packed = copies_pack(&copies, given);
	assert_true(packed->size < given->size / 5);
	assert_int_equal(packed->size % 8, 0);
	read_one_copy(&plain, given);
	read_one_copy(&unpacked, packed);
	assert_int_equal(plain.copy.size, 4096);
	assert_int_equal(unpacked.copy.size, 4096);
	assert_memory_equal(plain.bytes, unpacked.bytes, 4096);
	assert_int_equal(unpacked.copy.pc, 0x1000);
	assert_int_equal(unpacked.sample.sample.weight, 1001001);
	assert_int_equal(unpacked.sample.sample.stack, plain.sample.sample.stack);
	copies_free(&copies);
	buffer_free(&batch);
}

static void test_a_damaged_packing_costs_the_copy_only(void **state) {
	struct buffer batch = {0}, damaged = {0};
	struct copies copies = {0};
	struct copy_keeper keeper;
	copied_sample(&batch, 4096);
	const struct batch *packed = copies_pack(&copies, (const struct batch *)batch.data);
	buffer_append(&damaged, packed, sizeof(*packed) + packed->size);
	memset(damaged.data + sizeof(*packed) + sizeof(struct record_sample) + 8 +
		       sizeof(struct sample_copied),
	       0xff, 16);
	read_one_copy(&keeper, (const struct batch *)damaged.data);
	assert_int_equal(keeper.copy.size, 0);
	assert_int_equal(keeper.sample.tid, 7);
	copies_free(&copies);
	buffer_free(&batch);
	buffer_free(&damaged);
}

static void test_what_has_no_copy_is_left_as_it_is(void **state) {
	struct copies copies = {0};
	struct batch empty = {.base = 1};
	assert_ptr_equal(copies_pack(&copies, &empty), &empty);
	copies_free(&copies);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_copied_stack_comes_out_of_its_packing),
		cmocka_unit_test(test_a_damaged_packing_costs_the_copy_only),
		cmocka_unit_test(test_what_has_no_copy_is_left_as_it_is),
		cmocka_unit_test(test_what_is_about_the_whole_is_read),
		cmocka_unit_test(test_switches_and_wakeups_are_read),
		cmocka_unit_test(test_what_a_switch_says_about_waiting_is_read),
		cmocka_unit_test(test_lives_and_interrupts_are_read),
		cmocka_unit_test(test_each_loss_is_reported_once),
		cmocka_unit_test(test_totals_of_versions_with_other_sources_are_read),
		cmocka_unit_test(test_states_are_as_the_tracepoint_prints_them),
		cmocka_unit_test(test_before_the_start_only_task_lives_are_passed_on),
		cmocka_unit_test(test_cut_anywhere_all_whole_blocks_before_count),
		cmocka_unit_test(test_any_changed_byte_is_survived),
		cmocka_unit_test(test_batches_that_wait_as_they_are_make_the_same_events),
		cmocka_unit_test(test_what_is_no_spool_is_refused),
		cmocka_unit_test(test_a_block_of_four_gigabytes_ends_the_spool),
		cmocka_unit_test(test_marks_are_read),
		cmocka_unit_test(test_numbers_about_a_process_are_marks_of_it),
		cmocka_unit_test(test_marks_that_make_no_sense_are_counted),
		cmocka_unit_test(test_an_unknown_block_is_skipped),
		cmocka_unit_test(test_blocks_shorter_than_their_content_are_counted),
		cmocka_unit_test(test_a_record_size_that_cannot_be_ends_its_batch),
		cmocka_unit_test(test_a_batch_is_as_long_as_it_says_and_not_longer),
		cmocka_unit_test(test_ids_times_and_cpus_that_cannot_be_are_left_out),
		cmocka_unit_test(test_an_exec_longer_than_its_record_is_left_out),
		cmocka_unit_test(test_a_read_that_fails_is_an_error),
		cmocka_unit_test(test_formats_are_distinguished_by_their_first_bytes),
		IN_FOLDER(test_what_is_written_is_read),
		IN_FOLDER(test_what_was_flushed_is_there_without_a_close),
		IN_FOLDER(test_large_content_is_written_without_a_flush),
		IN_FOLDER(test_a_value_of_megabytes_is_cut_to_fit_a_block),
		IN_FOLDER(test_a_full_disk_leaves_what_was_written),
		IN_FOLDER(test_a_limit_is_for_events),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
