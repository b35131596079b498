// What `tracelet why` says, over recordings that are made up here.
#include "why_run.h"

#include "event/points.h"
#include "format/stuck.h"

static void fact(struct run *run, const char *key, const char *value) {
	push(run,
	     (struct event){.kind = EVENT_META, .meta = {.key = text(run, key), .value = text(run, value)}});
}

static void ends(struct run *run, uint64_t time, uint32_t tid, int32_t code) {
	push(run,
	     (struct event){.kind = EVENT_EXIT, .time = time, .tid = tid, .pid = 10, .exit = {.code = code}});
}

// The sentences about the cause.
static void assert_cause(struct run *run, const char *expected) {
	struct buffer out = {0};
	why_cause(&run->why, &out);
	buffer_append(&out, "", 1);
	assert_string_equal(out.data, expected);
	buffer_free(&out);
}

static void assert_has(struct run *run, const char *expected) {
	struct buffer out = {0};
	why_cause(&run->why, &out);
	buffer_append(&out, "", 1);
	if (!strstr((const char *)out.data, expected))
		fail_msg("'%s' is not in '%s'", expected, (const char *)out.data);
	buffer_free(&out);
}

// A thread waits from the beginning, until it is killed.
static void waits_to_the_end(struct run *run, uint64_t end, uint32_t tid, const char *stack) {
	wakes(run, end, 0, 0, tid, 0);
	switches(run, end + 10, 0, 0, 0, tid);
	waited(run, end + 10, tid, end - 300, stack);
	ends(run, end + 20, tid, 9);
	switches(run, end + 30, 0, tid, STATE_DEAD, 0);
}

static void test_a_deadlock_is_a_cycle_of_locks(void **state) {
	struct run run;
	begin(&run);
	fact(&run, "scope", "tree");
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	creates(&run, 200, 10, 11, "transfer");
	creates(&run, 210, 10, 12, "report");
	switches(&run, 300, 0, 10, STATE_SLEEPING, 11);
	switches(&run, 310, 0, 11, STATE_SLEEPING, 12);
	switches(&run, 320, 0, 12, STATE_SLEEPING, 0);
	waits_to_the_end(&run, 9000, 11, "start transfer c:pthread_mutex_lock" KERNEL_FUTEX);
	waits_to_the_end(&run, 9100, 12, "start report c:pthread_mutex_lock" KERNEL_FUTEX);
	waits_to_the_end(&run, 9200, 10, "main c:__pthread_clockjoin_ex" KERNEL_FUTEX);
	fact(&run, FACT_STUCK, "10 thread 11\n11 lock 0x4080 12 audit\n12 lock 0x40c0 11 \n");
	ask(&run);
	assert_cause(
		&run,
		"Deadlock: transfer waits for audit (0x4080) in transfer(), held by report; report waits "
		"for the lock 0x40c0 in report(), held by transfer.");
	end(&run);
}

static void test_a_thread_without_a_goroutine(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	switches(&run, 200, 0, 10, STATE_SLEEPING, 0);
	wakes(&run, 9000, 0, 0, 10, CONTEXT_HARDIRQ);
	switches(&run, 9000, 0, 0, 0, 10);
	waited(&run, 9000, 10, 8800,
	       "runtime.mcall runtime.findRunnable runtime.netpoll k:do_epoll_wait k:schedule");
	switches(&run, 9100, 0, 10, STATE_DEAD, 0);
	ask(&run);
	assert_cause(&run, "For 8.80 us (98 %), test had no goroutine to run.");
	assert_segment(&run, 10, PATH_WAITS, REASON_TIMEOUT, "", 8800);
	end(&run);
}

static void test_a_lock_that_is_held_is_no_deadlock(void **state) {
	struct run run;
	begin(&run);
	fact(&run, "scope", "tree");
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	creates(&run, 200, 10, 11, "writer");
	switches(&run, 300, 0, 10, STATE_SLEEPING, 11);
	switches(&run, 310, 0, 11, STATE_SLEEPING, 0);
	waits_to_the_end(&run, 9000, 11, "start save c:write k:pipe_write k:schedule");
	waits_to_the_end(&run, 9200, 10, "main load c:pthread_mutex_lock" KERNEL_FUTEX);
	fact(&run, FACT_STUCK,
	     "10 lock 0x4080 11 cache\n11 descriptor 4 read by sh (7), written by test (10)\n");
	ask(&run);
	assert_has(&run,
		   "When it was killed, writer waited for a pipe in save() (descriptor 4: read by sh (7), "
		   "written by test (10)).");
	end(&run);
}

static void test_a_fact_about_other_threads_is_no_deadlock(void **state) {
	static const char *const facts[] = {"", "x", "11 lock 0x1 11 a\n12 lock 0x2 99 b\n",
					    "1 lock 0x1 2 a\n2 thread 1\n"};
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		struct run run;
		begin(&run);
		switches(&run, 90, 0, 0, 0, 10);
		executes(&run, 100, 10);
		switches(&run, 300, 0, 10, STATE_DEAD, 0);
		fact(&run, FACT_STUCK, facts[i]);
		ask(&run);
		struct buffer out = {0};
		why_cause(&run.why, &out);
		buffer_append(&out, "", 1);
		// A thread that holds the lock it waits for is one.
		assert_int_equal(strstr((const char *)out.data, "Deadlock") != NULL, i == 2);
		buffer_free(&out);
		end(&run);
	}
}

static void test_a_crash_is_said_first(void **state) {
	struct run run;
	begin(&run);
	fact(&run, "scope", "tree");
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	creates(&run, 200, 10, 11, "logger");
	switches(&run, 250, 1, 0, 0, 11);
	switches(&run, 300, 1, 11, STATE_SLEEPING, 0);
	push(&run, (struct event){.kind = EVENT_CRASH,
				  .time = 9000,
				  .tid = 10,
				  .pid = 10,
				  .crash = {.signal = 11, .code = 1}});
	wakes(&run, 9050, 0, 10, 11, 0);
	switches(&run, 9060, 1, 0, 0, 11);
	waited(&run, 9060, 11, 8760, "start write_log c:pthread_mutex_lock" KERNEL_FUTEX);
	ends(&run, 9070, 11, 11);
	switches(&run, 9080, 1, 11, STATE_DEAD, 0);
	ends(&run, 9100, 10, 11);
	switches(&run, 9110, 0, 10, STATE_DEAD, 0);
	push(&run,
	     (struct event){
		     .kind = EVENT_CRASH_STACK,
		     .time = 20000,
		     .tid = 10,
		     .crash_stack = {
			     .crash_time = 9000,
			     .text = text(&run,
					  "#0   0x7f01 strlen+0x21  /lib/libc.so.6+0x1  ./strlen.S:3\n"
					  "#1   0x5601 parse (inlined)  /src/test+0x1227  /src/parse.c:11\n"
					  "#2   0x5602 main+0x65  /src/test+0x1296  /src/test.c:13\n")}});
	ask(&run);
	assert_has(&run, "test crashed in parse() (parse.c:11), called by main() (test.c:13): SIGSEGV, "
			 "address 0x0 is not "
			 "mapped; for ");
	assert_has(&run, "When it crashed, logger waited for a mutex in write_log().");
	end(&run);
}

// Each of them is too short to be the largest piece.
// A test that the kernel ends at this limit.
static void begin_without_memory(struct run *run, uint32_t pid, uint64_t limit, uint64_t usage) {
	begin(run);
	switches(run, 90, 0, 0, 0, 10);
	executes(run, 100, 10);
	push(run, (struct event){.kind = EVENT_POINT,
				 .time = 8000,
				 .tid = 10,
				 .point = {.number = POINT_OOM_VICTIM, .values = {pid, limit, usage}}});
	ends(run, 9000, 10, 9);
	switches(run, 9010, 0, 10, STATE_DEAD, 0);
	ask(run);
}

static void test_the_limit_of_memory_is_said(void **state) {
	struct run run;
	begin_without_memory(&run, 10, 60000000, 59900000);
	assert_has(&run, "The kernel killed test: out of memory (cgroup limit 60 MB, it had 59.9 MB); for ");
	end(&run);
	begin_without_memory(&run, 77, 2000000000, 2000000000);
	assert_has(&run,
		   "The kernel killed process 77: out of memory (cgroup limit 2 GB, it had 2 GB); for ");
	end(&run);
}

static void test_a_group_far_below_its_limit_is_not_blamed(void **state) {
	static const char words[] =
		"The kernel killed test: out of memory (the machine's, not a limit of its cgroup); for ";
	struct run run;
	begin_without_memory(&run, 10, 60000000, 9000000);
	assert_has(&run, words);
	end(&run);
	begin_without_memory(&run, 10, 0, 0);
	assert_has(&run, words);
	end(&run);
}

static void creates_process(struct run *run, uint64_t time, uint32_t pid, const char *name) {
	push(run, (struct event){.kind = EVENT_FORK,
				 .time = time,
				 .tid = 10,
				 .pid = 10,
				 .fork = {.child_tid = pid,
					  .child_pid = pid,
					  .parent_pid = 10,
					  .name = text(run, name)}});
}

enum { NAPPING = 5, SHORT_NAP = 100000 };

// Five processes sleep one after the other, the first for `first`.
static void ask_about_naps(struct run *run, uint64_t first) {
	uint64_t time = 1000;
	begin(run);
	switches(run, 90, 0, 0, 0, 10);
	executes(run, 100, 10);
	for (uint32_t i = 0; i < NAPPING; i++) {
		uint64_t nap = i ? SHORT_NAP : first;
		uint32_t tid = 20 + i;
		creates_process(run, time, tid, "sleep");
		switches(run, time + 10, 0, 10, STATE_SLEEPING, tid);
		switches(run, time + 20, 0, tid, STATE_SLEEPING, 0);
		wakes(run, time + nap, 0, 0, tid, CONTEXT_HARDIRQ);
		switches(run, time + nap + 10, 0, 0, 0, tid);
		waited(run, time + nap + 10, tid, nap - 10, "main nap c:nanosleep k:do_nanosleep");
		wakes(run, time + nap + 50, 0, tid, 10, 0);
		switches(run, time + nap + 60, 0, tid, STATE_DEAD, 10);
		time += nap + 1000;
	}
	switches(run, time + 150000, 0, 10, STATE_DEAD, 0);
	ask(run);
}

static void test_processes_that_do_the_same_are_counted(void **state) {
	struct run run;
	ask_about_naps(&run, SHORT_NAP);
	assert_has(&run, ", 5 processes named sleep slept in nap(), 5 times for up to 100 us.");
	end(&run);
}

static void test_one_that_has_most_of_the_time_is_named_alone(void **state) {
	struct run run;
	ask_about_naps(&run, 20 * SHORT_NAP);
	assert_has(&run, "For 2.00 ms (78 %), sleep slept in nap(). For this,");
	end(&run);
}

// The first thread sleeps five times for 1 ms; another one ran, until `done`, in load().
static void look(struct run *run, uint64_t done) {
	enum { NAP = 1000 * 1000 };
	uint64_t time = 10000;
	begin(run);
	switches(run, 90, 0, 0, 0, 10);
	executes(run, 100, 10);
	creates(run, 200, 10, 11, "loader");
	switches(run, 300, 1, 0, 0, 11);
	for (int i = 0; i < 5; i++, time += NAP + 1000) {
		switches(run, time, 0, 10, STATE_SLEEPING, 0);
		if (done > time && done < time + NAP) {
			sampled(run, done - 1, 11, "main load");
			switches(run, done, 1, 11, STATE_DEAD, 0);
		}
		wakes(run, time + NAP, 0, 0, 10, CONTEXT_HARDIRQ);
		switches(run, time + NAP, 0, 0, 0, 10);
		waited(run, time + NAP, 10, NAP, "main look c:nanosleep k:do_nanosleep");
	}
	time += 20000000; // nothing to do with it
	switches(run, time, 0, 10, STATE_DEAD, 0);
	run->why = (struct why){0};
	assert_int_equal(
		why_find(&run->why, &run->timeline,
			 &(struct why_question){.has_to = true, .to = 5100000 - run->timeline.start}),
		0);
}

static void test_what_a_thread_looks_for_is_what_ended_meanwhile(void **state) {
	struct run run;
	look(&run, 4700000);
	assert_has(&run, "test slept in look(), 5 times for up to 1.00 ms. Meanwhile, for 4.");
	assert_has(&run, " ms, loader ran in load().");
	end(&run);
	look(&run, 0); // it goes on
	struct buffer text = {0};
	why_cause(&run.why, &text);
	buffer_append(&text, "", 1);
	assert_null(strstr((const char *)text.data, "Meanwhile"));
	buffer_free(&text);
	end(&run);
}

static void follows(struct run *run, uint64_t time, uint32_t from, uint32_t to, const char *name) {
	push(run, (struct event){.kind = EVENT_SWITCH,
				 .time = time,
				 .tid = from,
				 .switched = {.next_tid = to,
					      .next_name = text(run, name),
					      .state = STATE_RUNNING,
					      .outside = from != 10,
					      .next_outside = to != 10,
					      .followed = from != 10 && to != 10}});
}

static void test_the_neighbours_are_named(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	follows(&run, 1000, 10, 50, "cc1");
	follows(&run, 400000, 50, 51, "make");
	follows(&run, 500000, 51, 52, "cc1");
	follows(&run, 900000, 52, 10, "test");
	switches(&run, 901000, 0, 10, STATE_DEAD, 0);
	ask(&run);
	assert_cause(&run, "For 899 us (100 %), test was ready to run without a CPU, while cc1 had it for "
			   "799 us, make for "
			   "100 us.");
	end(&run);
}

static void test_a_timer_ends_the_wait_for_a_socket(void **state) {
	for (int timer = 0; timer < 2; timer++) {
		struct run run;
		begin(&run);
		switches(&run, 90, 0, 0, 0, 10);
		executes(&run, 100, 10);
		switches(&run, 200, 0, 10, STATE_SLEEPING, 0);
		wakes(&run, 9000, 0, 0, 10, (uint16_t)(CONTEXT_SOFTIRQ | (timer ? CONTEXT_TIMER : 0)));
		switches(&run, 9010, 0, 0, 0, 10);
		waited(&run, 9010, 10, 8810, "main dial c:connect k:__sys_connect k:schedule");
		switches(&run, 9100, 0, 10, STATE_DEAD, 0);
		ask(&run);
		assert_has(&run, timer ? "test waited until a time limit (socket) in dial()."
				       : "test waited for a socket in dial() until a packet came.");
		end(&run);
	}
}

// The kernel does not report that the holder gets the CPU again and goes to sleep: only the sample of its
// sleep says so.
static void test_a_wait_between_missing_switches_is_found(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	creates(&run, 200, 10, 11, "holder");
	switches(&run, 300, 0, 10, STATE_SLEEPING, 11);
	switches(&run, 400, 0, 11, STATE_RUNNING, 99); // preempted, and then it sleeps from 1000 on
	wakes(&run, 9000, 0, 0, 11, CONTEXT_HARDIRQ);
	switches(&run, 9010, 0, 99, STATE_RUNNING, 11);
	waited(&run, 9010, 11, 8000, "start hold c:nanosleep k:do_nanosleep");
	wakes(&run, 9100, 0, 11, 10, 0);
	switches(&run, 9110, 0, 11, STATE_DEAD, 10);
	waited(&run, 9110, 10, 8800, "main take c:pthread_mutex_lock" KERNEL_FUTEX);
	switches(&run, 9200, 0, 10, STATE_DEAD, 0);
	ask(&run);
	assert_segment(&run, 11, PATH_WAITS, REASON_SLEEP, "hold", 8000);
	assert_segment(&run, 11, PATH_READY, REASON_READY, "", 610);
	end(&run);
}

// Whatever a recording says: result, two about the cause, the difference, a note.
// The sentence about the result of a recording that has no beginning.
static void assert_result_without_begin(const char *result, const char *seconds, const char *expected) {
	struct run run;
	struct buffer out = {0};
	begin(&run);
	fact(&run, "test", "t");
	fact(&run, "scope", "tree");
	fact(&run, "command", "./test");
	if (result)
		fact(&run, "result", result);
	if (seconds)
		fact(&run, "wall-seconds", seconds);
	push(&run,
	     (struct event){.kind = EVENT_TASK, .tid = 10, .pid = 10, .task = {.name = text(&run, "test")}});
	switches(&run, 1000000, 0, 0, 0, 10);
	creates_process(&run, 1100000, 11, "child");
	executes(&run, 1200000, 11);
	ends(&run, 6000000, 10, 0);
	switches(&run, 6000000, 0, 10, STATE_DEAD, 0);
	ask(&run);
	why_sentences(&run.why, NULL, &out);
	buffer_append(&out, "", 1);
	if (strncmp((const char *)out.data, expected, strlen(expected)) != 0)
		fail_msg("'%s' is not at the beginning of '%s'", expected, (const char *)out.data);
	buffer_free(&out);
	end(&run);
}

static void test_a_flight_recorder_has_only_the_end(void **state) {
	assert_result_without_begin(
		"failed: exit status 1", "1.500000",
		"t failed: exit status 1; it took 1.50 s, and this is about the last 5.00 ms.");
	assert_result_without_begin("passed", "nonsense", "t passed; this is about its last 5.00 ms.");
	assert_result_without_begin(NULL, NULL, "t: this is about its last 5.00 ms.");
}

// A test with a thread: when both end, and how.
static void begin_ended(struct run *run, uint64_t thread_end, uint64_t end, int32_t code) {
	begin(run);
	switches(run, 90, 0, 0, 0, 10);
	executes(run, 100, 10);
	creates(run, 200, 10, 11, "loader1");
	ends(run, thread_end, 11, 0);
	ends(run, end, 10, code);
	switches(run, end + 1000, 0, 10, STATE_DEAD, 0);
	ask(run);
}

struct ended {
	uint64_t thread, test;
	int32_t code;
};

static const char *unfinished(struct ended now, struct ended before) {
	static char found[32];
	struct run runs[2];
	struct why_difference difference = {0};
	begin_ended(&runs[0], now.thread, now.test, now.code);
	begin_ended(&runs[1], before.thread, before.test, before.code);
	why_compare_order(&difference, &runs[0].why, &runs[1].why);
	snprintf(found, sizeof(found), "%s %u", difference.unfinished ? difference.unfinished : "none",
		 (unsigned)difference.unfinished_ns);
	end(&runs[0]);
	end(&runs[1]);
	return found;
}

static void test_a_thread_that_did_not_end_in_time_is_found(void **state) {
	const struct ended passed = {.thread = 3000000, .test = 7000000};
	const struct ended late = {.thread = 7000000, .test = 7000000, .code = 1 << 8};
	assert_string_equal(unfinished(late, passed), "loader1 4000000");
	struct ended other = late;
	other.code = 9; // killed: then all threads are there
	assert_string_equal(unfinished(other, passed), "none 0");
	other.code = 0;
	assert_string_equal(unfinished(other, passed), "none 0");
	other = late;
	other.thread = 6000000; // it had ended
	assert_string_equal(unfinished(other, passed), "none 0");
	other = passed;
	other.thread = 6500000; // and before it was not much earlier
	assert_string_equal(unfinished(late, other), "none 0");
	assert_string_equal(unfinished(late, late), "none 0");
}

static void test_the_order_that_changed_is_said(void **state) {
	struct why_difference difference = {
		.baseline_wall = 7000000, .unfinished = "loader", .unfinished_ns = 4060000};
	struct run run;
	struct buffer out = {0};
	begin_ended(&run, 7000000, 7000000, 1 << 8);
	why_sentences(&run.why, &difference, &out);
	buffer_append(&out, "", 1);
	assert_non_null(
		strstr((const char *)out.data,
		       " The last passing run took 7.00 ms; there, loader had ended 4.06 ms before the test "
		       "did, here it had not."));
	buffer_free(&out);
	end(&run);
}

static void test_there_are_at_most_five_sentences(void **state) {
	struct run run;
	begin(&run);
	fact(&run, "scope", "tree");
	fact(&run, "test", "all");
	fact(&run, "result", "failed");
	fact(&run, FACT_CPU_LIMIT, "200");
	fact(&run, FACT_THROTTLED, "9000");
	fact(&run, FACT_MEMORY_LIMIT, "60000000");
	fact(&run, FACT_OOM_KILLS, "1");
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	creates_process(&run, 150, 11, "child");
	switches(&run, 200, 0, 10, STATE_SLEEPING, 11);
	switches(&run, 300, 0, 11, STATE_SLEEPING, 0);
	wakes(&run, 9000, 0, 0, 11, CONTEXT_HARDIRQ);
	switches(&run, 9010, 0, 0, 0, 11);
	wakes(&run, 9020, 0, 11, 10, 0);
	switches(&run, 9030, 0, 11, STATE_RUNNING, 10);
	ends(&run, 9090, 10, 9);
	switches(&run, 9100, 0, 10, STATE_DEAD, 0);
	ask(&run);
	struct why_difference difference = {.baseline_wall = 5000};
	struct buffer out = {0};
	why_sentences(&run.why, &difference, &out);
	buffer_append(&out, "", 1);
	unsigned sentences = 0;
	for (const char *at = (const char *)out.data; *at; at++)
		sentences += at[0] == '.' && (at[1] == ' ' || !at[1]);
	assert_in_range(sentences, 4, 5);
	assert_non_null(strstr((const char *)out.data,
			       "for lack of memory: the control group may have 60 MB; the control group "
			       "may use 0.2 CPUs"));
	buffer_free(&out);
	end(&run);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_deadlock_is_a_cycle_of_locks),
		cmocka_unit_test(test_a_thread_without_a_goroutine),
		cmocka_unit_test(test_a_lock_that_is_held_is_no_deadlock),
		cmocka_unit_test(test_a_fact_about_other_threads_is_no_deadlock),
		cmocka_unit_test(test_a_crash_is_said_first),
		cmocka_unit_test(test_the_limit_of_memory_is_said),
		cmocka_unit_test(test_a_group_far_below_its_limit_is_not_blamed),
		cmocka_unit_test(test_processes_that_do_the_same_are_counted),
		cmocka_unit_test(test_one_that_has_most_of_the_time_is_named_alone),
		cmocka_unit_test(test_what_a_thread_looks_for_is_what_ended_meanwhile),
		cmocka_unit_test(test_the_neighbours_are_named),
		cmocka_unit_test(test_a_timer_ends_the_wait_for_a_socket),
		cmocka_unit_test(test_a_wait_between_missing_switches_is_found),
		cmocka_unit_test(test_a_flight_recorder_has_only_the_end),
		cmocka_unit_test(test_a_thread_that_did_not_end_in_time_is_found),
		cmocka_unit_test(test_the_order_that_changed_is_said),
		cmocka_unit_test(test_there_are_at_most_five_sentences),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
