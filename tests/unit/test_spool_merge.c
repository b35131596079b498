// Runs of records and single events, merged by the spool reader.
#include "recorder.h"

#include "event/order.h"
#include "read/spool/merge.h"

#include <string.h>

// A record of a task; task 0 cannot be decoded.
struct task_record {
	struct record head;
	uint32_t tid, unused;
};

static bool decode(struct spool_merge *merge, struct record head, const uint8_t *body, struct event *event) {
	memcpy(&event->tid, body, sizeof(event->tid));
	event->kind = EVENT_SWITCH;
	return event->tid;
}

// Records of tasks `first`, `first` + 1 and so on. False if they are not taken as a run.
static bool take_run(struct spool_merge *merge, uint32_t cpu, const uint64_t *times, size_t count,
		     uint32_t first) {
	struct task_record records[8];
	assert_true(count && count <= ARRAY_SIZE(records));
	for (size_t i = 0; i < count; i++)
		records[i] = (struct task_record){.head = {.delta = (uint32_t)(times[i] - times[0]),
							   .size = sizeof(struct task_record)},
						  .tid = first + (uint32_t)i};
	return spool_merge_take(merge, &(struct spool_run){.cpu = cpu,
							   .size = (uint32_t)(count * sizeof(records[0])),
							   .bytes = (const uint8_t *)records,
							   .base = times[0],
							   .last = times[count - 1]});
}

static void free_both(struct spool_merge *merge, struct recorder *recorder) {
	spool_merge_free(merge);
	recorder_free(recorder);
}

static void test_runs_are_merged_with_events(void **state) {
	struct recorder recorder = recorder_new();
	struct spool_merge merge;
	spool_merge_init(&merge, &recorder.sink, decode);
	assert_true(take_run(&merge, 1, (uint64_t[]){20, 40, 60}, 3, 1));
	assert_true(take_run(&merge, 0, (uint64_t[]){10, 20, 30}, 3, 11));
	assert_true(take_run(&merge, 0, (uint64_t[]){30, 50}, 2, 14));
	push_task(&merge.sink, 1, 20, 100); // before records of that time
	push_task(&merge.sink, CPU_NONE, 20, 200);
	push_task(&merge.sink, 1, 45, 300);
	assert_int_equal(recorder.times.count, 0);
	push(&merge.sink, CPU_NONE, 45, EVENT_WATERMARK);
	assert_tids(&recorder, (uint32_t[]){11, 200, 12, 100, 1, 13, 14, 2}, 8);
	assert_int_equal(spool_merge_flush(&merge), 0);
	assert_times(&recorder, (uint64_t[]){10, 20, 20, 20, 20, 30, 30, 40, 45, 50, 60}, 11);
	free_both(&merge, &recorder);
}

static void test_a_run_that_is_late_is_not_taken(void **state) {
	struct recorder recorder = recorder_new();
	struct spool_merge merge;
	spool_merge_init(&merge, &recorder.sink, decode);
	push(&merge.sink, CPU_NONE, 15, EVENT_WATERMARK);
	assert_false(take_run(&merge, 0, (uint64_t[]){14, 20}, 2, 1));
	assert_true(take_run(&merge, 0, (uint64_t[]){15, 20}, 2, 1));
	assert_true(take_run(&merge, 0, (uint64_t[]){19, 30}, 2, 3));  // inside the previous run
	assert_false(take_run(&merge, 0, (uint64_t[]){19, 30}, 2, 5)); // and once more
	assert_true(take_run(&merge, 1, (uint64_t[]){19, 30}, 2, 5));  // on another CPU it is allowed
	assert_int_equal(spool_merge_flush(&merge), 0);
	assert_tids(&recorder, (uint32_t[]){1, 3, 5, 2, 4, 6}, 6);
	free_both(&merge, &recorder);
}

static void test_records_of_which_nothing_can_be_made_are_left_out(void **state) {
	struct recorder recorder = recorder_new();
	struct spool_merge merge;
	spool_merge_init(&merge, &recorder.sink, decode);
	assert_true(take_run(&merge, 0, (uint64_t[]){10, 20}, 2, 0));
	push(&merge.sink, CPU_NONE, 50, EVENT_WATERMARK);
	assert_true(take_run(&merge, 0, (uint64_t[]){60}, 1, 0));
	assert_int_equal(spool_merge_flush(&merge), 0);
	assert_tids(&recorder, (uint32_t[]){1}, 1);
	free_both(&merge, &recorder);
}

// Runs or events, with watermarks in between: what comes out is the same.
static void test_runs_come_out_as_events_would(void **state) {
	enum { CPUS = 5, ROUNDS = 20000 };
	struct recorder events = recorder_new(), runs = recorder_new();
	struct sink *order = order_new(&events.sink);
	struct spool_merge merge;
	spool_merge_init(&merge, &runs.sink, decode);
	uint64_t random = 1, last[CPUS] = {0}, watermark = 0;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		uint32_t cpu = (random >> 40) % CPUS;
		uint64_t times[4], count = 1 + (random >> 50) % 4;
		last[cpu] = MAX(last[cpu], watermark);
		for (size_t k = 0; k < count; k++) {
			times[k] = last[cpu] += random >> (20 + k) & 7;
			push_task(order, cpu, times[k], 1 + 4 * i + (uint32_t)k);
		}
		assert_true(take_run(&merge, cpu, times, count, 1 + 4 * i));
		if (random >> 33 & 1) {
			watermark = MAX(watermark, last[cpu] - MIN(last[cpu], 20));
			push(order, CPU_NONE, watermark, EVENT_WATERMARK);
			push(&merge.sink, CPU_NONE, watermark, EVENT_WATERMARK);
			assert_int_equal(events.tids.count, runs.tids.count);
		}
	}
	sink_finish(order);
	assert_int_equal(spool_merge_flush(&merge), 0);
	assert_tids(&events, runs.tids.items, runs.tids.count);
	assert_true(events.tids.count > ROUNDS);
	destroy(order, &events);
	free_both(&merge, &runs);
}

static void test_events_that_come_too_late_are_pushed_and_counted(void **state) {
	struct recorder recorder = recorder_new();
	struct spool_merge merge;
	spool_merge_init(&merge, &recorder.sink, decode);
	push(&merge.sink, CPU_NONE, 100, EVENT_WATERMARK);
	push(&merge.sink, 0, 99, EVENT_SWITCH);
	push(&merge.sink, CPU_NONE, 98, EVENT_META); // a fact has no place in time
	push(&merge.sink, 0, 100, EVENT_SWITCH);
	assert_times(&recorder, (uint64_t[]){99, 98}, 2);
	assert_int_equal(spool_merge_flush(&merge), 0);
	assert_times(&recorder, (uint64_t[]){99, 98, 100}, 3);
	assert_int_equal(recorder.late, 1);
	free_both(&merge, &recorder);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs_are_merged_with_events),
		cmocka_unit_test(test_a_run_that_is_late_is_not_taken),
		cmocka_unit_test(test_records_of_which_nothing_can_be_made_are_left_out),
		cmocka_unit_test(test_runs_come_out_as_events_would),
		cmocka_unit_test(test_events_that_come_too_late_are_pushed_and_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
