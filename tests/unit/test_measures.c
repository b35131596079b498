// What is measured about a whole test: each event in sight, sums by hand.
#include "unit.h"

#include "analyse/measures.h"
#include "event/points.h"

#include <string.h>

struct run {
	struct sink end, *sink;
	struct tables tables;
	struct measures measures;
};

static int take(struct sink *sink, const struct event *event) {
	return 0;
}

static int finish(struct sink *sink) {
	return 0;
}

static void keep(struct sink *sink) {
}

static void begin(struct run *run) {
	*run = (struct run){.end = {.push = take, .finish = finish, .destroy = keep}, .tables = tables_new()};
	run->sink = measures_open(&run->measures, &run->tables, &run->end);
}

static void end(struct run *run) {
	assert_int_equal(sink_finish(run->sink), 0);
	sink_destroy(run->sink);
}

static void done(struct run *run) {
	measures_free(&run->measures);
	tables_free(&run->tables);
}

static void push(struct run *run, struct event event) {
	assert_int_equal(sink_push(run->sink, &event), 0);
}

// `tid` leaves the CPU in this state, `next` gets it; 0 is the idle task.
static void switches(struct run *run, uint64_t time, uint32_t tid, uint16_t state, uint32_t next) {
	push(run, (struct event){.kind = EVENT_SWITCH,
				 .time = time,
				 .tid = tid,
				 .switched = {.next_tid = next,
					      .state = state,
					      .io_wait = state == STATE_DISK ? IO_WAIT_YES : IO_WAIT_NO}});
}

static void wakes(struct run *run, uint64_t time, uint32_t wakee) {
	push(run, (struct event){.kind = EVENT_WAKING, .time = time, .waking = {.wakee_tid = wakee}});
}

static void test_ready_and_blocked_times_are_summed_up(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 1000, 0, STATE_RUNNING, 10);
	switches(&run, 2000, 10, STATE_SLEEPING, 0); // waits for 3000
	wakes(&run, 5000, 10);
	switches(&run, 5500, 0, STATE_RUNNING, 10); // was ready for 500
	switches(&run, 6000, 10, STATE_DISK, 0);    // waits for a disk for 1000
	wakes(&run, 7000, 10);
	switches(&run, 7000, 0, STATE_RUNNING, 10);
	switches(&run, 8000, 10, STATE_PREEMPTED, 11);
	switches(&run, 9000, 11, STATE_DEAD, 10); // was ready for 1000
	end(&run);
	assert_int_equal(run.measures.blocked_ns, 4000);
	assert_int_equal(run.measures.io_ns, 1000);
	assert_int_equal(run.measures.ready_ns, 1500);
	assert_int_equal(run.measures.switches, 4);
	assert_int_equal(run.measures.preempted, 1);
	assert_int_equal(run.measures.processes, 1);
	done(&run);
}

static void test_tasks_of_others_do_not_count(void **state) {
	struct run run;
	begin(&run);
	push(&run,
	     (struct event){.kind = EVENT_SWITCH,
			    .time = 1000,
			    .tid = 10,
			    .switched = {.next_tid = 99, .state = STATE_PREEMPTED, .next_outside = true}});
	push(&run, (struct event){.kind = EVENT_SWITCH,
				  .time = 4000,
				  .tid = 99,
				  .switched = {.next_tid = 10, .state = STATE_SLEEPING, .outside = true}});
	end(&run);
	assert_int_equal(run.measures.ready_ns, 3000);
	assert_int_equal(run.measures.switches, 1);
	assert_int_equal(run.measures.blocked_ns, 0);
	done(&run);
}

static void test_where_events_are_missing_nothing_is_made_up(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 1000, 10, STATE_SLEEPING, 0);
	push(&run, (struct event){.kind = EVENT_LOST, .time = 2000});
	switches(&run, 900000, 0, STATE_RUNNING, 10);
	end(&run);
	assert_int_equal(run.measures.blocked_ns, 0);
	done(&run);
}

static void test_forked_processes_are_counted_and_threads_are_not(void **state) {
	struct run run;
	begin(&run);
	push(&run, (struct event){.kind = EVENT_FORK, .tid = 10, .fork = {.child_tid = 11, .child_pid = 11}});
	push(&run, (struct event){.kind = EVENT_FORK, .tid = 10, .fork = {.child_tid = 12, .child_pid = 10}});
	end(&run);
	assert_int_equal(run.measures.processes, 2);
	done(&run);
}

static void sample(struct run *run, const char *function, uint32_t flags, uint64_t weight) {
	struct frame frame = {.symbol = strings_add(run->tables.strings, function), .exact = NAME_EXACT};
	uint32_t stack = stacks_add(run->tables.stacks, 0, stacks_add_frame(run->tables.stacks, &frame));
	push(run, (struct event){.kind = EVENT_SAMPLE,
				 .sample = {.stack = stack, .flags = flags, .weight = weight}});
}

static void test_waits_and_functions_as_json(void **state) {
	struct run run;
	begin(&run);
	for (int i = 0; i < 300; i++)
		sample(&run, "hot", 0, 1);
	sample(&run, "warm", 0, 1);
	sample(&run, "warm", 0, 1);
	sample(&run, "cold", 0, 1); // one sample is too few
	sample(&run, "nanosleep", SAMPLE_WAITS, 30000000);
	sample(&run, "nanosleep", SAMPLE_WAITS, 10000000);
	end(&run);
	CLEANUP_FREE char *functions = measures_functions(&run.measures);
	CLEANUP_FREE char *waits = measures_waits(&run.measures, 0.1);
	assert_string_equal(functions, "{\"samples\":303,\"self\":{\"hot\":300,\"warm\":2}}");
	assert_non_null(waits);
	assert_non_null(strstr(waits, ":[2,40000000,30000000]}"));
	assert_null(measures_waits(&run.measures, 10)); // less than 1 % of that
	done(&run);
}

static void counts(struct run *run, uint32_t tid, uint32_t cpu, double value) {
	push(run, (struct event){.kind = EVENT_COUNTER,
				 .tid = tid,
				 .cpu = cpu,
				 .counter = {.name = strings_add(run->tables.strings, "instructions"),
					     .value = value,
					     .adds = true}});
}

static void test_counters_of_tasks_are_summed_up_and_those_of_cpus_are_not(void **state) {
	struct run run;
	begin(&run);
	counts(&run, 7, 0, 100);
	counts(&run, 8, 1, 20);
	counts(&run, 0, 1, 5000);
	push(&run, (struct event){.kind = EVENT_POINT, .tid = 7, .point = {.number = POINT_SYS_ENTER}});
	push(&run, (struct event){.kind = EVENT_POINT, .tid = 7, .point = {.number = POINT_SYS_EXIT}});
	end(&run);
	assert_int_equal(run.measures.counters.count, 1);
	assert_string_equal(run.measures.counters.items[0].name, "instructions");
	assert_int_equal((int)run.measures.counters.items[0].value, 120);
	assert_int_equal(run.measures.syscalls, 1);
	done(&run);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ready_and_blocked_times_are_summed_up),
		cmocka_unit_test(test_tasks_of_others_do_not_count),
		cmocka_unit_test(test_where_events_are_missing_nothing_is_made_up),
		cmocka_unit_test(test_forked_processes_are_counted_and_threads_are_not),
		cmocka_unit_test(test_waits_and_functions_as_json),
		cmocka_unit_test(test_counters_of_tasks_are_summed_up_and_those_of_cpus_are_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
