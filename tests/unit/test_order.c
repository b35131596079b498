#include "unit.h"

#include "event/order.h"

// A sink that remembers the times it was given.
struct recorder {
	struct sink sink;
	ARRAY(uint64_t) times;
	bool finished;
};

static int record(struct sink *sink, const struct event *event) {
	struct recorder *recorder = CONTAINER_OF(sink, struct recorder, sink);
	if (event->kind != EVENT_WATERMARK)
		array_push(&recorder->times, event->time);
	return 0;
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
	sink_destroy(order);
	array_free(&recorder.times);
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
	sink_destroy(order);
	array_free(&recorder.times);
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
	sink_destroy(order);
	array_free(&recorder.times);
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
	sink_destroy(order);
	array_free(&recorder.times);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpus_are_merged_up_to_the_watermark),
		cmocka_unit_test(test_a_late_event_of_a_cpu_moves_to_its_place),
		cmocka_unit_test(test_reversed_input_is_sorted_without_quadratic_time),
		cmocka_unit_test(test_an_event_behind_the_watermark_is_counted_as_late),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
