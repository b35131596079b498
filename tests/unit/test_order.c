#include "unit.h"

#include "event/order.h"

#include <errno.h>
#include <malloc.h>

// A sink that remembers the times and tasks it was given.
struct recorder {
	struct sink sink;
	ARRAY(uint64_t) times;
	ARRAY(uint32_t) tids;
	uint64_t watermark;
	size_t before_watermark; // events that came before the last one
	int error;               // what it answers
	bool finished, forgets;
};

static int record(struct sink *sink, const struct event *event) {
	struct recorder *recorder = CONTAINER_OF(sink, struct recorder, sink);
	if (event->kind == EVENT_WATERMARK) {
		recorder->watermark = event->time;
		recorder->before_watermark = recorder->times.count;
	} else if (!recorder->forgets) {
		array_push(&recorder->times, event->time);
		array_push(&recorder->tids, event->tid);
	}
	return recorder->error;
}

static int record_finish(struct sink *sink) {
	CONTAINER_OF(sink, struct recorder, sink)->finished = true;
	return 0;
}

static void keep(struct sink *sink) {
}

static struct recorder recorder_new(void) {
	return (struct recorder){.sink = {.push = record, .finish = record_finish, .destroy = keep}};
}

static void push(struct sink *order, uint32_t cpu, uint64_t time, enum event_kind kind) {
	assert_int_equal(sink_push(order, &(struct event){.kind = kind, .cpu = cpu, .time = time}), 0);
}

static void push_task(struct sink *order, uint32_t cpu, uint64_t time, uint32_t tid) {
	struct event event = {.kind = EVENT_SWITCH, .cpu = cpu, .time = time, .tid = tid};
	assert_int_equal(sink_push(order, &event), 0);
}

static void destroy(struct sink *order, struct recorder *recorder) {
	sink_destroy(order);
	array_free(&recorder->times);
	array_free(&recorder->tids);
}

static void assert_tids(const struct recorder *recorder, const uint32_t *tids, size_t count) {
	assert_int_equal(recorder->tids.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(recorder->tids.items[i], tids[i]);
}

static void assert_times(const struct recorder *recorder, const uint64_t *times, size_t count) {
	assert_int_equal(recorder->times.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(recorder->times.items[i], times[i]);
}

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
	assert_int_equal(order_late(order), 0);
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
	assert_int_equal(order_late(order), 1);
	sink_finish(order);
	assert_times(&recorder, (uint64_t[]){99, 100}, 2);
	destroy(order, &recorder);
}

static void test_events_of_one_time_come_by_cpu_and_in_their_order(void **state) {
	struct recorder recorder = recorder_new();
	struct sink *order = order_new(&recorder.sink);
	for (uint32_t cpu = 3; cpu-- > 0;)
		for (uint32_t tid = 0; tid < 3; tid++)
			push_task(order, cpu, 10, tid + 10 * cpu);
	push_task(order, CPU_NONE, 10, 100); // what is about the whole comes first
	sink_finish(order);
	assert_tids(&recorder, (uint32_t[]){100, 0, 1, 2, 10, 11, 12, 20, 21, 22}, 10);
	destroy(order, &recorder);
}

// More than may be moved one by one; and still the order of equal times is kept.
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
	assert_int_equal(order_late(order), 0);
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
	push(order, CPU_NONE, 15, EVENT_WATERMARK); // an older one says nothing new
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
		cmocka_unit_test(test_events_of_one_time_come_by_cpu_and_in_their_order),
		cmocka_unit_test(test_a_queue_that_is_sorted_keeps_equal_times_in_order),
		cmocka_unit_test(test_many_cpus_come_out_in_one_order),
		cmocka_unit_test(test_a_watermark_is_passed_on_behind_what_it_releases),
		cmocka_unit_test(test_memory_is_for_one_window_only),
		cmocka_unit_test(test_an_error_behind_stops_the_flow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
