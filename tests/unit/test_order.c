#include "recorder.h"

#include "event/order.h"

#include <errno.h>
#include <malloc.h>

static void test_cpus_are_merged_up_to_the_watermark(void **state) {
	struct recorder recorder = recorder_new();
	struct sink *order = order_new(&recorder.sink);
	push(order, 1, 20, EVENT_SWITCH);
	push(order, 1, 40, EVENT_SWITCH);
	push(order, 0, 10, EVENT_SWITCH);
	push(order, 0, 30, EVENT_SWITCH);
	assert_int_equal(recorder.times.count, 0);
	push(order, CPU_NONE, 35, EVENT_WATERMARK);
	assert_times(&recorder, (uint64_t[]){10, 20, 30}, 3);
	sink_finish(order);
	assert_times(&recorder, (uint64_t[]){10, 20, 30, 40}, 4);
	assert_true(recorder.finished);
	destroy(order, &recorder);
}

static void test_a_late_event_of_a_cpu_moves_to_its_place(void **state) {
	struct recorder recorder = recorder_new();
	struct sink *order = order_new(&recorder.sink);
	for (uint64_t time = 10; time <= 50; time += 10)
		push(order, 3, time, EVENT_SWITCH);
	push(order, 3, 25, EVENT_IRQ_ENTRY);
	sink_finish(order);
	assert_times(&recorder, (uint64_t[]){10, 20, 25, 30, 40, 50}, 6);
	assert_int_equal(recorder.late, 0);
	destroy(order, &recorder);
}

static void test_reversed_input_is_sorted_without_quadratic_time(void **state) {
	enum { COUNT = 200000 };
	struct recorder recorder = recorder_new();
	struct sink *order = order_new(&recorder.sink);
	for (uint64_t i = 0; i < COUNT; i++)
		push(order, 0, COUNT - i, EVENT_SWITCH);
	sink_finish(order);
	assert_int_equal(recorder.times.count, COUNT);
	for (uint64_t i = 0; i < COUNT; i++)
		assert_int_equal(recorder.times.items[i], i + 1);
	destroy(order, &recorder);
}

static void test_an_event_behind_the_watermark_is_counted_as_late(void **state) {
	struct recorder recorder = recorder_new();
	struct sink *order = order_new(&recorder.sink);
	push(order, 0, 100, EVENT_WATERMARK);
	push(order, 0, 99, EVENT_SWITCH);
	push(order, 0, 100, EVENT_SWITCH);
	sink_finish(order);
	assert_int_equal(recorder.late, 1);
	assert_times(&recorder, (uint64_t[]){99, 100}, 2);
	destroy(order, &recorder);
}

static void test_events_without_a_time_are_pushed_on_at_once(void **state) {
	struct recorder recorder = recorder_new();
	struct sink *order = order_new(&recorder.sink);
	push_task(order, 3, 0, 1);
	push_task(order, 1, 0, 2);
	assert_tids(&recorder, (uint32_t[]){1, 2}, 2);
	push(order, CPU_NONE, 100, EVENT_WATERMARK);
	push_task(order, 0, 0, 3);
	assert_tids(&recorder, (uint32_t[]){1, 2, 3}, 3);
	sink_finish(order);
	assert_int_equal(recorder.late, 0);
	destroy(order, &recorder);
}

static void test_events_of_one_time_come_by_cpu_and_in_their_order(void **state) {
	struct recorder recorder = recorder_new();
	struct sink *order = order_new(&recorder.sink);
	for (uint32_t cpu = 3; cpu-- > 0;)
		for (uint32_t tid = 0; tid < 3; tid++)
			push_task(order, cpu, 10, tid + 10 * cpu);
	push_task(order, CPU_NONE, 10, 100); // facts about the whole trace come first
	sink_finish(order);
	assert_tids(&recorder, (uint32_t[]){100, 0, 1, 2, 10, 11, 12, 20, 21, 22}, 10);
	destroy(order, &recorder);
}

// More than are moved one by one; the order of equal times is still kept.
static void test_a_queue_that_is_sorted_keeps_equal_times_in_order(void **state) {
	enum { COUNT = 4000 };
	struct recorder recorder = recorder_new();
	struct sink *order = order_new(&recorder.sink);
	for (uint32_t i = 0; i < COUNT; i++)
		push_task(order, 0, 1000 - i / 4, i);
	push(order, CPU_NONE, 500, EVENT_WATERMARK);
	sink_finish(order);
	assert_int_equal(recorder.tids.count, COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(recorder.tids.items[i], (COUNT / 4 - 1 - i / 4) * 4 + i % 4);
	destroy(order, &recorder);
}

static void test_many_cpus_come_out_in_one_order(void **state) {
	enum { CPUS = 500, COUNT = 100000 };
	struct recorder recorder = recorder_new();
	struct sink *order = order_new(&recorder.sink);
	uint64_t random = 1, times[CPUS] = {0};
	for (uint32_t i = 0; i < COUNT; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		uint32_t cpu = random >> 40 & 0xffff;
		times[cpu % CPUS] += random >> 60;
		push_task(order, cpu % CPUS, times[cpu % CPUS], i);
	}
	sink_finish(order);
	assert_int_equal(recorder.times.count, COUNT);
	for (size_t i = 1; i < COUNT; i++)
		assert_true(recorder.times.items[i - 1] <= recorder.times.items[i]);
	assert_int_equal(recorder.late, 0);
	destroy(order, &recorder);
}

// The CPU comes from a file, and indexes an array.
static void test_an_event_of_a_cpu_that_cannot_exist_has_none(void **state) {
	struct recorder recorder = recorder_new();
	struct sink *order = order_new(&recorder.sink);
	struct mallinfo2 before = mallinfo2();
	push(order, 50000000, 10, EVENT_SWITCH);
	push(order, CPU_COUNT_MOST, 11, EVENT_SWITCH);
	push(order, CPU_COUNT_MOST - 1, 12, EVENT_SWITCH);
	push(order, CPU_NONE, 13, EVENT_SWITCH);
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd < before.uordblks + before.hblkhd + (4 << 20));
	sink_finish(order);
	assert_times(&recorder, (uint64_t[]){10, 11, 12, 13}, 4);
	assert_int_equal(recorder.cpus.items[0], CPU_NONE);
	assert_int_equal(recorder.cpus.items[1], CPU_NONE);
	assert_int_equal(recorder.cpus.items[2], CPU_COUNT_MOST - 1);
	assert_int_equal(recorder.cpus.items[3], CPU_NONE);
	assert_int_equal(order_impossible(order), 2);
	destroy(order, &recorder);
}

static void test_a_watermark_is_passed_on_behind_what_it_releases(void **state) {
	struct recorder recorder = recorder_new();
	struct sink *order = order_new(&recorder.sink);
	push(order, 0, 10, EVENT_SWITCH);
	push(order, 0, 20, EVENT_SWITCH); // not earlier than the watermark: stays
	push(order, CPU_NONE, 20, EVENT_WATERMARK);
	assert_int_equal(recorder.watermark, 20);
	assert_int_equal(recorder.before_watermark, 1);
	push(order, CPU_NONE, 15, EVENT_WATERMARK); // an older watermark changes nothing
	assert_int_equal(recorder.watermark, 20);
	push(order, CPU_NONE, UINT64_MAX, EVENT_WATERMARK);
	assert_times(&recorder, (uint64_t[]){10, 20}, 2);
	destroy(order, &recorder);
}

static void test_memory_is_for_one_window_only(void **state) {
	struct recorder recorder = recorder_new();
	recorder.forgets = true;
	struct sink *order = order_new(&recorder.sink);
	struct mallinfo2 before = mallinfo2();
	for (uint64_t time = 1; time < 1000000; time++) {
		push(order, time & 3, time, EVENT_SWITCH);
		if (time % 1000 == 0)
			push(order, CPU_NONE, time - 100, EVENT_WATERMARK);
	}
	struct mallinfo2 after = mallinfo2();
	assert_true(after.uordblks < before.uordblks + (1 << 20));
	destroy(order, &recorder);
}

static void test_an_error_behind_stops_the_flow(void **state) {
	struct recorder recorder = recorder_new();
	recorder.error = -EIO;
	struct sink *order = order_new(&recorder.sink);
	push(order, 0, 10, EVENT_SWITCH);
	assert_int_equal(sink_push(order, &(struct event){.kind = EVENT_WATERMARK, .time = 20}), -EIO);
	push(order, 0, 30, EVENT_SWITCH);
	assert_int_equal(sink_finish(order), -EIO);
	assert_false(recorder.finished);
	destroy(order, &recorder);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpus_are_merged_up_to_the_watermark),
		cmocka_unit_test(test_a_late_event_of_a_cpu_moves_to_its_place),
		cmocka_unit_test(test_reversed_input_is_sorted_without_quadratic_time),
		cmocka_unit_test(test_an_event_behind_the_watermark_is_counted_as_late),
		cmocka_unit_test(test_events_without_a_time_are_pushed_on_at_once),
		cmocka_unit_test(test_events_of_one_time_come_by_cpu_and_in_their_order),
		cmocka_unit_test(test_a_queue_that_is_sorted_keeps_equal_times_in_order),
		cmocka_unit_test(test_many_cpus_come_out_in_one_order),
		cmocka_unit_test(test_an_event_of_a_cpu_that_cannot_exist_has_none),
		cmocka_unit_test(test_a_watermark_is_passed_on_behind_what_it_releases),
		cmocka_unit_test(test_memory_is_for_one_window_only),
		cmocka_unit_test(test_an_error_behind_stops_the_flow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
