#include "unit.h"

#include "event/blocked.h"

// Pushes events through the sink and remembers the samples that come out.
struct run {
	struct sink end;
	struct sink *sink;
	struct tables tables;
	ARRAY(struct event) samples;
};

static int take(struct sink *sink, const struct event *event) {
	struct run *run = CONTAINER_OF(sink, struct run, end);
	if (event->kind == EVENT_SAMPLE)
		array_push(&run->samples, *event);
	return 0;
}

static int finish(struct sink *sink) {
	return 0;
}

static void keep(struct sink *sink) {
}

static void begin(struct run *run) {
	*run = (struct run){.end = {.push = take, .finish = finish, .destroy = keep}, .tables = tables_new()};
	run->sink = blocked_new(&run->tables, &run->end);
}

static void end(struct run *run) {
	sink_destroy(run->sink);
	tables_free(&run->tables);
	array_free(&run->samples);
}

static void leaves(struct run *run, uint64_t time, uint32_t tid, uint32_t stack) {
	struct event event = {.kind = EVENT_SAMPLE,
			      .time = time,
			      .tid = tid,
			      .sample = {.stack = stack, .flags = SAMPLE_WAITS}};
	assert_int_equal(sink_push(run->sink, &event), 0);
}

static void comes_back(struct run *run, uint64_t time, uint32_t tid, uint32_t cpu) {
	struct event event = {.kind = EVENT_SWITCH, .time = time, .cpu = cpu, .switched = {.next_tid = tid}};
	assert_int_equal(sink_push(run->sink, &event), 0);
}

static void assert_sample(const struct run *run, size_t at, uint32_t tid, uint64_t time, uint64_t weight) {
	assert_true(at < run->samples.count);
	assert_int_equal(run->samples.items[at].tid, tid);
	assert_int_equal(run->samples.items[at].time, time);
	assert_int_equal(run->samples.items[at].sample.weight, weight);
}

static void test_a_wait_lasts_until_the_switch_back(void **state) {
	struct run run;
	begin(&run);
	leaves(&run, 100, 7, 0);
	leaves(&run, 150, 8, 0);
	comes_back(&run, 400, 8, 1);
	assert_int_equal(run.samples.count, 1);
	comes_back(&run, 600, 7, 3);
	comes_back(&run, 700, 7, 3); // without having waited
	assert_int_equal(run.samples.count, 2);
	assert_sample(&run, 0, 8, 400, 250);
	assert_sample(&run, 1, 7, 600, 500);
	assert_int_equal(run.samples.items[1].cpu, 3);
	end(&run);
}

static void test_who_still_waits_has_waited_until_the_end(void **state) {
	struct run run;
	begin(&run);
	leaves(&run, 100, 7, 0);
	comes_back(&run, 1000, 5, 0);
	assert_int_equal(sink_finish(run.sink), 0);
	assert_int_equal(run.samples.count, 1);
	assert_sample(&run, 0, 7, 1000, 900);
	end(&run);
}

static void test_a_wait_whose_end_is_missing_is_left_out(void **state) {
	struct run run;
	begin(&run);
	leaves(&run, 100, 7, 0);
	leaves(&run, 500, 7, 0);
	comes_back(&run, 600, 7, 0);
	leaves(&run, 700, 9, 0);
	assert_int_equal(sink_push(run.sink, &(struct event){.kind = EVENT_EXIT, .time = 800, .tid = 9}), 0);
	assert_int_equal(sink_finish(run.sink), 0);
	assert_int_equal(run.samples.count, 1);
	assert_sample(&run, 0, 7, 600, 100);
	end(&run);
}

static void test_other_samples_pass(void **state) {
	struct run run;
	begin(&run);
	struct event event = {.kind = EVENT_SAMPLE, .time = 3, .tid = 7, .sample = {.weight = 11}};
	assert_int_equal(sink_push(run.sink, &event), 0);
	assert_sample(&run, 0, 7, 3, 11);
	end(&run);
}

static void test_the_tracepoint_is_not_part_of_the_stack(void **state) {
	struct run run;
	begin(&run);
	uint32_t stack = 0, wanted = 0;
	static const char *const names[] = {"main", "do_nanosleep", "__schedule", "__traceiter_sched_switch",
					    "bpf_prog"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct frame frame = {.symbol = strings_add(run.tables.strings, names[i]),
				      .kind = FRAME_KERNEL};
		stack = stacks_add(run.tables.stacks, stack, stacks_add_frame(run.tables.stacks, &frame));
		if (i == 2)
			wanted = stack;
	}
	leaves(&run, 1, 7, stack);
	comes_back(&run, 2, 7, 0);
	assert_int_equal(run.samples.items[0].sample.stack, wanted);
	end(&run);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_wait_lasts_until_the_switch_back),
		cmocka_unit_test(test_who_still_waits_has_waited_until_the_end),
		cmocka_unit_test(test_a_wait_whose_end_is_missing_is_left_out),
		cmocka_unit_test(test_other_samples_pass),
		cmocka_unit_test(test_the_tracepoint_is_not_part_of_the_stack),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
