#include "unit.h"

#include "event/blocked.h"

// Pushes events through the sink and keeps the samples that come out.
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

static void wakes(struct run *run, uint64_t time, uint32_t tid) {
	struct event event = {.kind = EVENT_WAKING, .time = time, .tid = 1, .waking = {.wakee_tid = tid}};
	assert_int_equal(sink_push(run->sink, &event), 0);
}

static uint32_t kernel_stack(struct run *run, const char *const *names, size_t count) {
	uint32_t stack = 0;
	for (size_t i = 0; i < count; i++) {
		struct frame frame = {.symbol = strings_add(run->tables.strings, names[i]),
				      .kind = FRAME_KERNEL};
		stack = stacks_add(run->tables.stacks, stack, stacks_add_frame(run->tables.stacks, &frame));
	}
	return stack;
}

static const char *frame_at(const struct run *run, uint32_t stack, size_t depth) {
	const struct stack *at = stacks_get(run->tables.stacks, stack);
	for (; at && depth; depth--)
		at = stacks_get(run->tables.stacks, at->caller);
	return at ? strings_get(run->tables.strings, stacks_frame(run->tables.stacks, at->frame)->symbol)
		  : NULL;
}

static void test_the_time_after_the_wakeup_is_no_wait(void **state) {
	static const char *const names[] = {"fsync", "__schedule"};
	struct run run;
	begin(&run);
	uint32_t stack = kernel_stack(&run, names, ARRAY_SIZE(names));
	wakes(&run, 50, 7); // it runs still
	leaves(&run, 100, 7, stack);
	wakes(&run, 180, 7);
	wakes(&run, 300, 7); // ready already
	comes_back(&run, 600, 7, 3);
	assert_int_equal(run.samples.count, 2);
	assert_sample(&run, 0, 7, 600, 80);
	assert_int_equal(run.samples.items[0].sample.stack, stack);
	assert_int_equal(run.samples.items[0].sample.flags, SAMPLE_WAITS);
	assert_sample(&run, 1, 7, 600, 420);
	assert_int_equal(run.samples.items[1].sample.flags, SAMPLE_READY);
	uint32_t ready = run.samples.items[1].sample.stack;
	assert_string_equal(frame_at(&run, ready, 0), "__schedule");
	assert_string_equal(frame_at(&run, ready, 1), "fsync");
	assert_string_equal(frame_at(&run, ready, 2), FRAME_READY);
	assert_null(frame_at(&run, ready, 3));
	end(&run);
}

static void test_a_task_that_is_ready_at_the_end_does_not_wait(void **state) {
	struct run run;
	begin(&run);
	leaves(&run, 100, 7, 0);
	wakes(&run, 300, 7);
	comes_back(&run, 1000, 5, 0);
	assert_int_equal(sink_finish(run.sink), 0);
	assert_int_equal(run.samples.count, 2);
	assert_sample(&run, 0, 7, 1000, 200);
	assert_sample(&run, 1, 7, 1000, 700);
	end(&run);
}

static void test_the_function_that_waits_is_not_the_scheduler(void **state) {
	static const char *const names[] = {"main",        "do_fsync", "wait_on_page",
					    "io_schedule", "schedule", "__schedule"};
	struct run run;
	begin(&run);
	uint32_t stack = kernel_stack(&run, names, ARRAY_SIZE(names));
	assert_string_equal(strings_get(run.tables.strings,
					blocked_function(run.tables.strings, run.tables.stacks, stack)),
			    "wait_on_page");
	assert_int_equal(blocked_function(run.tables.strings, run.tables.stacks, 0), 0);
	end(&run);
}

static void test_an_unfinished_wait_lasts_until_the_end(void **state) {
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

static void test_a_wait_that_is_over_says_how_long_it_was(void **state) {
	static const char *const names[] = {"do_nanosleep",
					    "__schedule",
					    "finish_task_switch",
					    "asm_sysvec_irq_work",
					    "sysvec_irq_work",
					    "__sysvec_irq_work",
					    "__traceiter_x86_irq_vector",
					    "__bpf_trace_x86_irq_vector",
					    "bpf_trace_run1",
					    "bpf_prog"};
	struct run run;
	begin(&run);
	uint32_t wanted = kernel_stack(&run, names, 2), stack = kernel_stack(&run, names, ARRAY_SIZE(names));
	struct event event = {
		.kind = EVENT_SAMPLE,
		.time = 5000,
		.tid = 7,
		.sample = {
			.stack = stack, .weight = 3000, .ready = 500, .flags = SAMPLE_WAITS | SAMPLE_WAITED}};
	assert_int_equal(sink_push(run.sink, &event), 0);
	assert_int_equal(run.samples.count, 2);
	assert_sample(&run, 0, 7, 5000, 3000);
	assert_int_equal(run.samples.items[0].sample.flags, SAMPLE_WAITS);
	assert_int_equal(run.samples.items[0].sample.stack, wanted);
	assert_sample(&run, 1, 7, 5000, 500);
	assert_int_equal(run.samples.items[1].sample.flags, SAMPLE_READY);
	end(&run);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_wait_lasts_until_the_switch_back),
		cmocka_unit_test(test_the_time_after_the_wakeup_is_no_wait),
		cmocka_unit_test(test_a_task_that_is_ready_at_the_end_does_not_wait),
		cmocka_unit_test(test_the_function_that_waits_is_not_the_scheduler),
		cmocka_unit_test(test_an_unfinished_wait_lasts_until_the_end),
		cmocka_unit_test(test_a_wait_whose_end_is_missing_is_left_out),
		cmocka_unit_test(test_other_samples_pass),
		cmocka_unit_test(test_the_tracepoint_is_not_part_of_the_stack),
		cmocka_unit_test(test_a_wait_that_is_over_says_how_long_it_was),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
