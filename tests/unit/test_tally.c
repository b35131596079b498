// Unreported switches are noticed where consecutive switches of a CPU do not join. Stacks count as broken
// once the test is a program of its own.
#include "unit.h"

#include "event/tally.h"

enum { TEST = 10, CHILD = 11, FOREIGN = 90, OTHER = 91, FROM_OUTSIDE = 1, TO_OUTSIDE = 2, FOLLOWED = 4 };

static int take(struct sink *sink, const struct event *event) {
	return 0;
}

static int end(struct sink *sink) {
	return 0;
}

static void destroy(struct sink *sink) {
}

static struct tally tally;
static uint64_t now;

static int begin(void **state) {
	static struct sink last;
	last = (struct sink){.push = take, .finish = end, .destroy = destroy};
	tally_init(&tally, &last);
	now = 0;
	return 0;
}

static int finish(void **state) {
	sink_destroy(&tally.sink);
	return 0;
}

static void switch_on(uint32_t cpu, uint32_t tid, uint32_t next, unsigned sides) {
	const struct event event = {.kind = EVENT_SWITCH,
				    .time = ++now,
				    .cpu = cpu,
				    .tid = tid,
				    .switched = {.next_tid = next,
						 .outside = sides & FROM_OUTSIDE,
						 .next_outside = sides & TO_OUTSIDE,
						 .followed = sides & FOLLOWED}};
	assert_int_equal(sink_push(&tally.sink, &event), 0);
}

static void test_a_task_that_is_followed_has_to_leave(void **state) {
	switch_on(0, TEST, FOREIGN, TO_OUTSIDE);
	switch_on(0, FOREIGN, OTHER, FROM_OUTSIDE | TO_OUTSIDE | FOLLOWED);
	switch_on(0, OTHER, 77, FROM_OUTSIDE | TO_OUTSIDE);
	assert_int_equal(tally.gaps, 0);
	switch_on(0, TID_OUTSIDE, FOREIGN, FROM_OUTSIDE | TO_OUTSIDE | FOLLOWED);
	assert_int_equal(tally.gaps, 0);
	switch_on(0, OTHER, TEST, FROM_OUTSIDE);
	assert_int_equal(tally.gaps, 1);
}

static void test_switches_that_join_have_no_gap(void **state) {
	switch_on(0, FOREIGN, TEST, FROM_OUTSIDE);
	switch_on(0, TEST, CHILD, 0);
	switch_on(1, FOREIGN, TEST, FROM_OUTSIDE);
	switch_on(0, CHILD, FOREIGN, TO_OUTSIDE);
	switch_on(0, FOREIGN, OTHER, FROM_OUTSIDE | TO_OUTSIDE);
	switch_on(0, 77, CHILD, FROM_OUTSIDE); // other tasks may run in between
	assert_int_equal(tally.gaps, 0);
	assert_int_equal(tally.kinds[EVENT_SWITCH], 6);
}

static void test_a_task_that_left_unseen_is_a_gap(void **state) {
	switch_on(0, FOREIGN, TEST, FROM_OUTSIDE);
	switch_on(0, CHILD, FOREIGN, TO_OUTSIDE);
	assert_int_equal(tally.gaps, 1);
}

static void test_a_task_of_the_test_that_came_unseen_is_a_gap(void **state) {
	switch_on(0, TEST, FOREIGN, TO_OUTSIDE);
	switch_on(0, FOREIGN, OTHER, FROM_OUTSIDE | TO_OUTSIDE);
	switch_on(0, TEST, FOREIGN, TO_OUTSIDE);
	assert_int_equal(tally.gaps, 1);
}

static void test_so_is_one_that_came_unseen_where_others_have_no_names(void **state) {
	switch_on(0, TEST, TID_OUTSIDE, TO_OUTSIDE);
	switch_on(0, TEST, TID_OUTSIDE, TO_OUTSIDE);
	assert_int_equal(tally.gaps, 1);
}

static void test_what_was_before_the_first_switch_of_a_cpu_is_not_known(void **state) {
	switch_on(0, TEST, FOREIGN, TO_OUTSIDE);
	switch_on(1, CHILD, FOREIGN, TO_OUTSIDE);
	assert_int_equal(tally.gaps, 0);
}

static void test_events_that_are_counted_as_lost_are_no_gap(void **state) {
	switch_on(0, FOREIGN, TEST, FROM_OUTSIDE);
	assert_int_equal(
		sink_push(&tally.sink, &(struct event){.kind = EVENT_LOST,
						       .time = ++now,
						       .lost = {.count = 3, .source = SOURCE_SCHED}}),
		0);
	switch_on(0, CHILD, FOREIGN, TO_OUTSIDE);
	assert_int_equal(tally.gaps, 0);
	assert_int_equal(tally.lost[SOURCE_SCHED], 3);
}

static void wait_with_broken_stack(void) {
	const struct event event = {.kind = EVENT_SAMPLE,
				    .time = ++now,
				    .tid = TEST,
				    .sample = {.flags = SAMPLE_WAITS | SAMPLE_WAITED | SAMPLE_BROKEN}};
	assert_int_equal(sink_push(&tally.sink, &event), 0);
}

// A program that has to be read from disk makes its execve() wait, in a copy of the tracer.
static void test_stacks_from_before_the_exec_are_not_broken(void **state) {
	wait_with_broken_stack();
	assert_int_equal(tally.broken, 0);
	const struct event exec = {.kind = EVENT_EXEC, .time = ++now, .tid = TEST, .exec = {.old_tid = TEST}};
	assert_int_equal(sink_push(&tally.sink, &exec), 0);
	wait_with_broken_stack();
	assert_int_equal(tally.broken, 1);
	assert_int_equal(tally.waits, 2);
}

#define WITH_TALLY(test) cmocka_unit_test_setup_teardown(test, begin, finish)

int main(void) {
	const struct CMUnitTest tests[] = {
		WITH_TALLY(test_stacks_from_before_the_exec_are_not_broken),
		WITH_TALLY(test_switches_that_join_have_no_gap),
		WITH_TALLY(test_a_task_that_is_followed_has_to_leave),
		WITH_TALLY(test_a_task_that_left_unseen_is_a_gap),
		WITH_TALLY(test_a_task_of_the_test_that_came_unseen_is_a_gap),
		WITH_TALLY(test_so_is_one_that_came_unseen_where_others_have_no_names),
		WITH_TALLY(test_what_was_before_the_first_switch_of_a_cpu_is_not_known),
		WITH_TALLY(test_events_that_are_counted_as_lost_are_no_gap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
