#include "unit.h"

#include "event/order.h"
#include "event/record.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>

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

// ---- runs of records ----

// A record of a task; of task 0 nothing can be made.
struct task_record {
	struct record head;
	uint32_t tid, unused;
};

static bool make(struct run_maker *maker, const uint8_t *bytes, struct event *event) {
	struct task_record record;
	memcpy(&record, bytes, sizeof(record));
	event->kind = EVENT_SWITCH;
	event->tid = record.tid;
	return record.tid;
}

static struct run_maker maker = {make};

// Records of tasks `first`, `first` + 1 and so on.
static int push_run(struct sink *order, uint32_t cpu, const uint64_t *times, size_t count, uint32_t first) {
	struct task_record records[8];
	assert_true(count && count <= ARRAY_SIZE(records));
	for (size_t i = 0; i < count; i++)
		records[i] = (struct task_record){.head = {.delta = (uint32_t)(times[i] - times[0]),
							   .size = sizeof(struct task_record)},
						  .tid = first + (uint32_t)i};
	return order->push_run(order, &(struct record_run){.cpu = cpu,
							   .size = (uint32_t)(count * sizeof(records[0])),
							   .bytes = (const uint8_t *)records,
							   .base = times[0],
							   .last = times[count - 1],
							   .maker = &maker});
}

static void test_runs_are_merged_with_events(void **state) {
	struct recorder recorder = recorder_new();
	struct sink *order = order_new(&recorder.sink);
	assert_int_equal(push_run(order, 1, (uint64_t[]){20, 40, 60}, 3, 1), 0);
	assert_int_equal(push_run(order, 0, (uint64_t[]){10, 20, 30}, 3, 11), 0);
	assert_int_equal(push_run(order, 0, (uint64_t[]){30, 50}, 2, 14), 0);
	push_task(order, 1, 20, 100); // before records of that time
	push_task(order, CPU_NONE, 20, 200);
	push_task(order, 1, 45, 300);
	assert_int_equal(recorder.times.count, 0);
	push(order, CPU_NONE, 45, EVENT_WATERMARK);
	assert_tids(&recorder, (uint32_t[]){11, 200, 12, 100, 1, 13, 14, 2}, 8);
	assert_int_equal(order->push_run(order, NULL), 0); // the rest is made, and waits
	assert_int_equal(recorder.times.count, 8);
	sink_finish(order);
	assert_times(&recorder, (uint64_t[]){10, 20, 20, 20, 20, 30, 30, 40, 45, 50, 60}, 11);
	destroy(order, &recorder);
}

static void test_a_run_that_is_late_is_not_taken(void **state) {
	struct recorder recorder = recorder_new();
	struct sink *order = order_new(&recorder.sink);
	push(order, CPU_NONE, 15, EVENT_WATERMARK);
	assert_int_equal(push_run(order, 0, (uint64_t[]){14, 20}, 2, 1), 1);
	assert_int_equal(push_run(order, 0, (uint64_t[]){15, 20}, 2, 1), 0);
	assert_int_equal(push_run(order, 0, (uint64_t[]){19, 30}, 2, 3), 0); // inside the one before
	assert_int_equal(push_run(order, 0, (uint64_t[]){19, 30}, 2, 5), 1); // and once more
	assert_int_equal(push_run(order, 1, (uint64_t[]){19, 30}, 2, 5), 0); // of another CPU it may be
	order->push_run(order, NULL);
	sink_finish(order);
	assert_tids(&recorder, (uint32_t[]){1, 3, 5, 2, 4, 6}, 6);
	destroy(order, &recorder);
}

static void test_records_of_which_nothing_can_be_made_are_left_out(void **state) {
	struct recorder recorder = recorder_new();
	struct sink *order = order_new(&recorder.sink);
	assert_int_equal(push_run(order, 0, (uint64_t[]){10, 20}, 2, 0), 0);
	push(order, CPU_NONE, 50, EVENT_WATERMARK);
	assert_int_equal(push_run(order, 0, (uint64_t[]){60}, 1, 0), 0);
	order->push_run(order, NULL);
	sink_finish(order);
	assert_tids(&recorder, (uint32_t[]){1}, 1);
	destroy(order, &recorder);
}

// Runs or events, with watermarks in between: what comes out is the same.
static void test_runs_come_out_as_events_would(void **state) {
	enum { CPUS = 5, ROUNDS = 20000 };
	struct recorder recorders[2] = {recorder_new(), recorder_new()};
	struct sink *orders[2] = {order_new(&recorders[0].sink), order_new(&recorders[1].sink)};
	uint64_t random = 1, last[CPUS] = {0}, watermark = 0;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		uint32_t cpu = (random >> 40) % CPUS;
		uint64_t times[4], count = 1 + (random >> 50) % 4;
		last[cpu] = MAX(last[cpu], watermark);
		for (size_t k = 0; k < count; k++) {
			times[k] = last[cpu] += random >> (20 + k) & 7;
			push_task(orders[0], cpu, times[k], 1 + 4 * i + (uint32_t)k);
		}
		assert_int_equal(push_run(orders[1], cpu, times, count, 1 + 4 * i), 0);
		if (random >> 33 & 1) {
			watermark = MAX(watermark, last[cpu] - MIN(last[cpu], 20));
			push(orders[0], CPU_NONE, watermark, EVENT_WATERMARK);
			push(orders[1], CPU_NONE, watermark, EVENT_WATERMARK);
			assert_int_equal(recorders[0].tids.count, recorders[1].tids.count);
		}
	}
	orders[1]->push_run(orders[1], NULL);
	for (int i = 0; i < 2; i++)
		sink_finish(orders[i]);
	assert_tids(&recorders[0], recorders[1].tids.items, recorders[1].tids.count);
	assert_true(recorders[0].tids.count > ROUNDS);
	for (int i = 0; i < 2; i++)
		destroy(orders[i], &recorders[i]);
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
		cmocka_unit_test(test_runs_are_merged_with_events),
		cmocka_unit_test(test_a_run_that_is_late_is_not_taken),
		cmocka_unit_test(test_records_of_which_nothing_can_be_made_are_left_out),
		cmocka_unit_test(test_runs_come_out_as_events_would),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
