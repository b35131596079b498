// The reader of Perfetto traces: switches, wakeups and interrupts that our writer wrote come back, also
// those at the border of the test and after a gap.
#include "trace_back.h"

static void test_a_switch_names_the_task_that_left(void **state) {
	struct keeper keeper;
	trace_begin("system");
	a_switch(1, 1100, 0, 10, "test", 110);
	a_switch(1, 1200, 10, 11, "worker", 130);
	push((struct event){
		.kind = EVENT_WAKING,
		.cpu = 1,
		.time = 1250,
		.tid = 11,
		.waking = {.wakee_tid = 10, .target_cpu = 3, .priority = 110, .context = CONTEXT_SOFTIRQ}});
	a_switch(1, 1300, 11, 0, "swapper/1", 120);
	back(&keeper);
	assert_int_equal(count_kind(&keeper, EVENT_SWITCH), 3);
	const struct event *second = nth(&keeper, EVENT_SWITCH, 1);
	assert_int_equal(second->cpu, 1);
	assert_int_equal(second->time, 1200);
	assert_int_equal(second->tid, 10);
	assert_int_equal(second->switched.next_tid, 11);
	assert_int_equal(second->switched.priority, 110);
	assert_int_equal(second->switched.next_priority, 130);
	assert_int_equal(second->switched.state, STATE_SLEEPING);
	assert_string_equal(TEXT(&keeper, second->switched.next_name), "worker");
	assert_int_equal(nth(&keeper, EVENT_SWITCH, 0)->tid, 0);
	const struct event *waking = nth(&keeper, EVENT_WAKING, 0);
	assert_int_equal(waking->tid, 11);
	assert_int_equal(waking->waking.wakee_tid, 10);
	assert_int_equal(waking->waking.target_cpu, 3);
	assert_int_equal(waking->waking.priority, 110);
	assert_int_equal(waking->waking.context, CONTEXT_SOFTIRQ);
	keeper_free(&keeper);
}

static void test_time_outside_the_test_is_reported_as_such(void **state) {
	struct keeper keeper;
	trace_begin("tree");
	a_task(10, 10, "test", "", 0);
	cross(1100, 77, 10, "test", true, false);
	cross(1200, 10, 99, "intruder", false, true);
	cross(1300, 99, 98, "another", true, true);
	push((struct event){
		.kind = EVENT_WAKING,
		.time = 1350,
		.tid = 77,
		.waking = {.wakee_tid = 10, .waker_name = text("helper"), .waker_outside = true}});
	cross(1400, 98, 10, "test", true, false);
	back(&keeper);
	assert_int_equal(count_kind(&keeper, EVENT_SWITCH), 4); // and none for the CPU's initial state
	assert_int_equal(count_kind(&keeper, EVENT_RENAME), 0); // nor for the waker's name
	const struct event *in = nth(&keeper, EVENT_SWITCH, 0), *out = nth(&keeper, EVENT_SWITCH, 1),
			   *other = nth(&keeper, EVENT_SWITCH, 2);
	assert_int_equal(in->tid, TID_OUTSIDE);
	assert_true(in->switched.outside && !in->switched.next_outside);
	assert_int_equal(out->switched.next_tid, 99);
	assert_true(!out->switched.outside && out->switched.next_outside);
	assert_int_equal(other->tid, 99);
	assert_int_equal(other->switched.next_tid, TID_OUTSIDE);
	assert_true(other->switched.outside && other->switched.next_outside && !other->switched.followed);
	const struct event *waking = nth(&keeper, EVENT_WAKING, 0);
	assert_int_equal(waking->tid, 77);
	assert_true(waking->waking.waker_outside);
	assert_string_equal(TEXT(&keeper, waking->waking.waker_name), "helper");
	keeper_free(&keeper);
}

static void wake_in(uint64_t time, uint32_t tid, uint16_t context) {
	push((struct event){.kind = EVENT_WAKING,
			    .time = time,
			    .tid = tid,
			    .waking = {.wakee_tid = 10, .context = context}});
}

static void test_an_interrupt_that_wakes_is_no_task(void **state) {
	struct keeper keeper;
	trace_begin("tree");
	a_task(10, 10, "test", "", 0);
	cross(1100, 77, 10, "test", true, false);
	wake_in(1150, 0, CONTEXT_HARDIRQ);
	wake_in(1160, 10, CONTEXT_SOFTIRQ); // loopback: the task itself
	cross(1200, 10, 99, "intruder", false, true);
	wake_in(1250, 0, CONTEXT_SOFTIRQ);
	cross(1300, 99, 98, "another", true, true);
	wake_in(1350, 0, CONTEXT_HARDIRQ);
	cross(1400, 98, 10, "test", true, false);
	back(&keeper);
	assert_int_equal(count_kind(&keeper, EVENT_WAKING), 4);
	static const uint32_t wakers[] = {0, 10, 0, 0};
	for (size_t i = 0; i < ARRAY_SIZE(wakers); i++) {
		const struct event *waking = nth(&keeper, EVENT_WAKING, i);
		assert_int_equal(waking->tid, wakers[i]);
		assert_false(waking->waking.waker_outside);
		assert_int_equal(waking->waking.waker_name, 0);
	}
	keeper_free(&keeper);
}

static void leave(uint64_t time, uint16_t task_state, enum io_wait io_wait) {
	push((struct event){.kind = EVENT_SWITCH,
			    .time = time,
			    .tid = 10,
			    .switched = {.next_tid = 0, .state = task_state, .io_wait = (uint8_t)io_wait}});
	a_switch(0, time + 50, 0, 10, "test", 120);
}

static void test_a_wait_for_a_device_comes_back(void **state) {
	struct keeper keeper;
	trace_begin("system");
	a_task(10, 10, "test", "", 0);
	a_switch(0, 1100, 0, 10, "test", 120);
	leave(1200, STATE_DISK, IO_WAIT_YES);
	leave(1300, STATE_DISK, IO_WAIT_NO);
	leave(1400, STATE_DISK, IO_WAIT_UNKNOWN);
	leave(1500, STATE_SLEEPING, IO_WAIT_YES);
	push((struct event){.kind = EVENT_SWITCH, // the first one of its CPU
			    .cpu = 1,
			    .time = 1600,
			    .tid = 10,
			    .switched = {.state = STATE_DISK, .io_wait = IO_WAIT_YES}});
	back(&keeper);
	static const uint8_t waits[] = {IO_WAIT_YES, IO_WAIT_NO, IO_WAIT_UNKNOWN, IO_WAIT_YES};
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		assert_int_equal(nth(&keeper, EVENT_SWITCH, 1 + 2 * i)->switched.io_wait, waits[i]);
		assert_int_equal(nth(&keeper, EVENT_SWITCH, 2 + 2 * i)->switched.io_wait, IO_WAIT_UNKNOWN);
	}
	assert_int_equal(nth(&keeper, EVENT_SWITCH, 9)->switched.io_wait, IO_WAIT_YES);
	keeper_free(&keeper);
}

static void test_losses_come_back_and_the_time_without_records(void **state) {
	struct keeper keeper;
	trace_begin("system");
	a_switch(1, 1100, 0, 10, "test", 120);
	push((struct event){
		.kind = EVENT_LOST, .cpu = 1, .time = 1200, .lost = {.count = 7, .source = SOURCE_SCHED}});
	push((struct event){.kind = EVENT_LOST,
			    .cpu = CPU_NONE,
			    .time = 1250,
			    .lost = {.count = 2, .source = SOURCE_MARKER}});
	a_switch(1, 1300, 12, 10, "test", 120);
	back(&keeper);
	assert_int_equal(count_kind(&keeper, EVENT_LOST), 2);
	assert_int_equal(nth(&keeper, EVENT_LOST, 0)->cpu, 1);
	assert_int_equal(nth(&keeper, EVENT_LOST, 0)->lost.count, 7);
	assert_int_equal(nth(&keeper, EVENT_LOST, 0)->lost.source, SOURCE_SCHED);
	assert_int_equal(nth(&keeper, EVENT_LOST, 1)->cpu, CPU_NONE);
	assert_int_equal(nth(&keeper, EVENT_LOST, 1)->lost.source, SOURCE_MARKER);
	assert_int_equal(nth(&keeper, EVENT_SWITCH, 1)->switched.next_tid, TID_OUTSIDE + (1 << 20) + 1);
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_SWITCH, 1)->switched.next_name),
			    "(events lost)");
	keeper_free(&keeper);
}

// The missing switch is noticed only when the next one comes: until then a task seemed to be there.
static void test_the_waker_before_a_gap_is_known(void **state) {
	struct keeper keeper;
	trace_begin("system");
	a_switch(0, 1100, 0, 10, "test", 120);
	push((struct event){.kind = EVENT_WAKING, .time = 1150, .tid = 10, .waking = {.wakee_tid = 11}});
	a_switch(0, 1200, 12, 13, "other", 120);
	back(&keeper);
	assert_int_equal(nth(&keeper, EVENT_WAKING, 0)->tid, 10);
	assert_int_equal(nth(&keeper, EVENT_WAKING, 0)->time, 1150);
	assert_int_equal(count_kind(&keeper, EVENT_SWITCH), 4);
	const struct event *after = nth(&keeper, EVENT_SWITCH, 3);
	assert_int_equal(after->time, 1200);
	assert_int_equal(after->tid, 12); // the task that left is known, and how
	assert_int_equal(after->switched.state, STATE_SLEEPING);
	keeper_free(&keeper);
}

static void test_the_task_that_follows_the_test_is_named_after_a_gap(void **state) {
	struct keeper keeper;
	trace_begin("tree");
	a_task(10, 10, "test", "", 0);
	cross(1100, 10, 99, "intruder", false, true); // its arrival was not recorded
	back(&keeper);
	const struct event *out = nth(&keeper, EVENT_SWITCH, 0);
	assert_int_equal(out->switched.next_tid, 99);
	assert_true(out->switched.next_outside && out->switched.followed); // so it is written as it was
	keeper_free(&keeper);
}

static void test_tasks_that_the_test_has_to_wait_for_come_back(void **state) {
	struct keeper keeper;
	trace_begin("tree");
	a_task(10, 10, "test", "", 0);
	cross(1100, 10, 99, "first", false, true);
	push((struct event){.kind = EVENT_SWITCH,
			    .time = 1200,
			    .tid = 99,
			    .switched = {.next_tid = 98,
					 .next_name = text("second"),
					 .outside = true,
					 .next_outside = true,
					 .followed = true}});
	cross(1300, 98, 97, "another", true, true);
	back(&keeper);
	assert_int_equal(count_kind(&keeper, EVENT_SWITCH), 3);
	const struct event *second = nth(&keeper, EVENT_SWITCH, 1), *last = nth(&keeper, EVENT_SWITCH, 2);
	assert_int_equal(second->switched.next_tid, 98);
	assert_string_equal(TEXT(&keeper, second->switched.next_name), "second");
	assert_true(second->switched.followed);
	assert_int_equal(last->tid, 98);
	assert_int_equal(last->switched.next_tid, TID_OUTSIDE);
	assert_false(last->switched.followed);
	keeper_free(&keeper);
}

// A pseudo task leaves a CPU in the same state whether a gap or a task follows: a trace that is
// read and written again is unchanged.
static void test_time_outside_the_test_that_a_gap_ends_is_like_any_other(void **state) {
	struct keeper keeper;
	trace_begin("tree");
	a_task(10, 10, "test", "", 0);
	a_task(11, 11, "second", "", 0);
	cross(1100, 77, 10, "test", true, false);
	cross(1200, 10, 77, "other", false, true);
	cross(1300, 77, 78, "another", true, true);
	cross(1400, 11, 77, "other", false, true); // a task of the test that arrived unnoticed
	back(&keeper);
	const struct event *gap = nth(&keeper, EVENT_SWITCH, 3);
	assert_int_equal(gap->tid, TID_OUTSIDE);
	assert_int_equal(gap->switched.next_tid, TID_LOST);
	assert_int_equal(gap->switched.state, STATE_SLEEPING);
	keeper_free(&keeper);
}

static void test_interrupts_come_back(void **state) {
	struct keeper keeper;
	trace_begin("system");
	static const enum event_kind kinds[] = {EVENT_IRQ_ENTRY, EVENT_IRQ_EXIT, EVENT_SOFTIRQ_ENTRY,
						EVENT_SOFTIRQ_EXIT};
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		push((struct event){.kind = kinds[i],
				    .cpu = 2,
				    .time = 1100 + i,
				    .tid = 10,
				    .irq = {.number = 24, .name = i ? 0 : text("eth0"), .result = i == 1}});
	back(&keeper);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct event *event = nth(&keeper, kinds[i], 0);
		assert_int_equal(event->cpu, 2);
		assert_int_equal(event->time, 1100 + i);
		assert_int_equal(event->tid, 10);
		assert_int_equal(event->irq.number, 24);
	}
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_IRQ_ENTRY, 0)->irq.name), "eth0");
	assert_int_equal(nth(&keeper, EVENT_IRQ_EXIT, 0)->irq.result, 1);
	keeper_free(&keeper);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_switch_names_the_task_that_left),
		cmocka_unit_test(test_time_outside_the_test_is_reported_as_such),
		cmocka_unit_test(test_an_interrupt_that_wakes_is_no_task),
		cmocka_unit_test(test_a_wait_for_a_device_comes_back),
		cmocka_unit_test(test_losses_come_back_and_the_time_without_records),
		cmocka_unit_test(test_the_waker_before_a_gap_is_known),
		cmocka_unit_test(test_tasks_that_the_test_has_to_wait_for_come_back),
		cmocka_unit_test(test_the_task_that_follows_the_test_is_named_after_a_gap),
		cmocka_unit_test(test_time_outside_the_test_that_a_gap_ends_is_like_any_other),
		cmocka_unit_test(test_interrupts_come_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
