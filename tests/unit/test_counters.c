// Counts: what the BPF programs report in pieces becomes counters of CPUs, of the test and of its
// slices; and what is written into a trace is read back.
#include "sample_spool.h"
#include "trace_keeper.h"
#include "trace_run.h"

static void read_spool(struct keeper *keeper, const struct buffer *spool) {
	struct stream input;
	stream_of_memory(&input, spool->data, spool->size);
	keeper_read(keeper, &input, &spool_reader, keep_in_order);
}

// Five events: one more than fit into a record, with the nanoseconds before them.
static void describe_five(struct buffer *spool, bool per_slice) {
	static const char names[] = "a\0ns\0001\0b\0\0001\0c\0\0001\0\0\0001\0e\0MiB\0000.5";
	struct buffer block = {0};
	struct spool_counters head = {.count = 5, .per_slice = per_slice};
	buffer_append(&block, &head, sizeof(head));
	buffer_append(&block, names, sizeof(names));
	add_block(spool, SPOOL_COUNTERS, block.data, block.size);
	buffer_free(&block);
}

static void add_counts(struct buffer *spool, uint32_t delta, uint8_t flags, uint32_t tid, uint64_t time,
		       uint64_t first) {
	RECORD(spool, record_counts, RECORD_COUNTS, flags, delta, .tid = tid, .first = 0, .count = 4,
	       .values = {time, first, first + 1, first + 2});
	RECORD(spool, record_counts, RECORD_COUNTS, flags, delta, .tid = tid, .first = 4, .count = 2,
	       .values = {first + 3, first + 4});
}

static void assert_counter(const struct keeper *keeper, size_t number, const char *name, uint32_t cpu,
			   uint32_t tid, double value) {
	const struct event *event = nth(keeper, EVENT_COUNTER, number);
	assert_string_equal(TEXT(keeper, event->counter.name), name);
	assert_string_equal(TEXT(keeper, event->counter.provider), PROVIDER_PMU);
	assert_int_equal(event->cpu, cpu);
	assert_int_equal(event->tid, tid);
	assert_true(event->counter.value == value);
	assert_true(event->counter.adds);
}

static void test_counts_are_of_a_cpu_and_of_the_test(void **state) {
	struct buffer spool = {0};
	struct keeper keeper;
	spool_begin(&spool, SAMPLE_START);
	describe_five(&spool, false);
	size_t batch = batch_begin(&spool, 1, SAMPLE_START + 100);
	add_counts(&spool, 0, 0, 0, 50, 10);               // of other tasks
	add_counts(&spool, 5, COUNTS_OF_TEST, 10, 60, 20); // at a tick
	batch_end(&spool, batch);
	read_spool(&keeper, &spool);
	assert_string_equal(keeper.said, "");
	assert_int_equal(count_kind(&keeper, EVENT_COUNTER), 3 * 4); // one of the five has no values
	assert_counter(&keeper, 0, "a", 1, 0, 10);
	assert_counter(&keeper, 3, "e", 1, 0, 7); // 14 halves
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_COUNTER, 0)->counter.unit), "ns");
	assert_counter(&keeper, 5, "b", 1, 0, 21);
	assert_counter(&keeper, 9, "b", 1, 10, 21);
	assert_int_equal(count_kind(&keeper, EVENT_GENERIC), 0);
	keeper_free(&keeper);
	buffer_free(&spool);
}

static void test_a_slice_has_its_own_counts(void **state) {
	struct buffer spool = {0};
	struct keeper keeper;
	spool_begin(&spool, SAMPLE_START);
	describe_five(&spool, true);
	size_t batch = batch_begin(&spool, 0, SAMPLE_START + 1000);
	add_counts(&spool, 0, COUNTS_OF_TEST | COUNTS_OF_SLICE, 10, 60, 20);
	add_counts(&spool, 100, COUNTS_OF_TEST, 11, 70, 30);   // a tick, and the rest,
	add_counts(&spool, 200, COUNTS_OF_TEST, 11, 80, 40);   // which is reported again
	add_counts(&spool, 200, COUNTS_OF_SLICE, 11, 150, 70); // with the whole slice
	batch_end(&spool, batch);
	read_spool(&keeper, &spool);
	assert_string_equal(keeper.said, "");
	assert_int_equal(count_kind(&keeper, EVENT_COUNTER), 3 * 2 * 4);
	assert_int_equal(count_kind(&keeper, EVENT_GENERIC), 2);
	const struct event *slice = nth(&keeper, EVENT_GENERIC, 1);
	assert_int_equal(slice->tid, 11);
	assert_int_equal(slice->generic.duration, 150);
	assert_int_equal(slice->generic.field_count, 3); // the counters with whole numbers
	assert_string_equal(slice->generic.fields[1].name, "b");
	assert_int_equal(slice->generic.fields[1].uint, 71);
	keeper_free(&keeper);
	buffer_free(&spool);
}

static void test_pieces_that_do_not_fit_are_left_out(void **state) {
	struct buffer spool = {0};
	struct keeper keeper;
	spool_begin(&spool, SAMPLE_START);
	size_t batch = batch_begin(&spool, 0, SAMPLE_START + 900);
	add_counts(&spool, 0, 0, 0, 1, 1); // no description says what they are
	batch_end(&spool, batch);
	describe_five(&spool, true);
	batch = batch_begin(&spool, 0, SAMPLE_START + 1000);
	RECORD(&spool, record_counts, RECORD_COUNTS, 0, 0, .first = 4, .count = 2); // the first part is lost
	RECORD(&spool, record_counts, RECORD_COUNTS, 0, 1, .first = 0, .count = 4);
	RECORD(&spool, record_counts, RECORD_COUNTS, 0, 2, .first = 4, .count = 2);  // of another time
	RECORD(&spool, record_counts, RECORD_COUNTS, 0, 3, .first = 16, .count = 2); // too many
	RECORD(&spool, record_counts, RECORD_COUNTS, 0, 3, .first = 0, .count = 9);
	RECORD(&spool, record_counts, RECORD_COUNTS, 0, 3, .tid = UINT32_MAX, .first = 0, .count = 1);
	batch_end(&spool, batch);
	struct spool_counters head = {.count = COUNTERS_MOST + 1};
	add_block(&spool, SPOOL_COUNTERS, &head, sizeof(head));
	read_spool(&keeper, &spool);
	assert_int_equal(count_kind(&keeper, EVENT_COUNTER), 0);
	assert_non_null(strstr(keeper.said, "4 records could not be decoded"));
	keeper_free(&keeper);
	buffer_free(&spool);
}

// ---- in a Perfetto trace ----

static void push_count(uint64_t time, uint32_t cpu, uint32_t tid, double value) {
	push((struct event){.kind = EVENT_COUNTER,
			    .time = time,
			    .cpu = cpu,
			    .tid = tid,
			    .counter = {.value = value,
					.name = text("cycles"),
					.unit = text("ns"),
					.provider = text(PROVIDER_PMU),
					.adds = true}});
}

static void test_counters_come_back_from_a_trace(void **state) {
	static const struct event_field fields[] = {{.name = "cycles", .type = FIELD_UINT, .uint = 70}};
	struct keeper keeper;
	struct buffer trace = {0};
	trace_begin("tree");
	push((struct event){.kind = EVENT_TASK, .cpu = CPU_NONE, .time = START, .tid = 11, .pid = 10});
	push_count(2000, 3, 0, 70);
	push_count(2001, 3, 11, 70);
	push_count(2100, 3, 0, 0);
	push_count(2200, 3, 0, 0); // still nothing: not written
	push_count(2300, 3, 0, 0.5);
	push((struct event){.kind = EVENT_GENERIC,
			    .time = 2400,
			    .cpu = 3,
			    .tid = 11,
			    .generic = {.provider = text(PROVIDER_PMU),
					.name = text("slice"),
					.fields = fields,
					.field_count = 1,
					.duration = 300}});
	trace_finish(&trace);
	read_trace(&keeper, &trace);
	assert_string_equal(keeper.said, "");
	assert_int_equal(count_kind(&keeper, EVENT_COUNTER), 4);
	assert_counter(&keeper, 0, "cycles", 3, 0, 70);
	assert_counter(&keeper, 1, "cycles", CPU_NONE, 0, 70); // of the test: the task is not recorded
	assert_counter(&keeper, 2, "cycles", 3, 0, 0);
	assert_counter(&keeper, 3, "cycles", 3, 0, 0.5);
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_COUNTER, 3)->counter.unit), "ns");
	const struct event *slice = nth(&keeper, EVENT_GENERIC, 0);
	assert_int_equal(slice->tid, 11);
	assert_int_equal(slice->pid, 10);
	assert_int_equal(slice->generic.duration, 300);
	assert_int_equal(slice->generic.fields[0].uint, 70);
	keeper_free(&keeper);
	buffer_free(&trace);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts_are_of_a_cpu_and_of_the_test),
		cmocka_unit_test(test_a_slice_has_its_own_counts),
		cmocka_unit_test(test_pieces_that_do_not_fit_are_left_out),
		cmocka_unit_test(test_counters_come_back_from_a_trace),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
