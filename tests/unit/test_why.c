// The critical path over recordings that are made up here: what is on it, and that it is always the whole
// time.
#include "why_run.h"

// ---- tests ----

// main joins worker, worker waits for a mutex that backup holds while it sleeps.
static void test_the_path_follows_wakers(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	creates(&run, 200, 10, 11, "worker");
	creates(&run, 210, 10, 12, "backup");
	switches(&run, 300, 0, 10, STATE_SLEEPING, 12);
	switches(&run, 310, 1, 0, 0, 11);
	switches(&run, 400, 0, 12, STATE_SLEEPING, 0);
	switches(&run, 500, 1, 11, STATE_SLEEPING, 0);
	wakes(&run, 9000, 0, 0, 12, CONTEXT_HARDIRQ);
	switches(&run, 9010, 0, 0, 0, 12);
	waited(&run, 9010, 12, 8610, "main back_up c:nanosleep k:do_nanosleep k:schedule");
	wakes(&run, 9100, 0, 12, 11, 0);
	switches(&run, 9120, 1, 0, 0, 11);
	waited(&run, 9120, 11, 8620, "take_orders c:pthread_mutex_lock" KERNEL_FUTEX);
	wakes(&run, 9200, 1, 11, 10, 0);
	switches(&run, 9250, 0, 12, STATE_PREEMPTED, 10);
	waited(&run, 9250, 10, 8950, "main c:__pthread_clockjoin_ex" KERNEL_FUTEX);
	switches(&run, 9300, 0, 10, STATE_DEAD, 0);
	ask(&run);
	assert_int_equal(run.why.to - run.why.from, 9200);
	assert_segment(&run, 12, PATH_WAITS, REASON_SLEEP, "back_up", 8500);
	assert_ptr_equal(find(&run, 12, PATH_WAITS, REASON_SLEEP), &run.why.segments.items[0]);
	const struct why_segment *largest = &run.why.segments.items[0];
	assert_int_equal(largest->chain_count, 2);
	assert_int_equal(largest->chain[0].reason, REASON_MUTEX);
	assert_string_equal(why_place(&run.why, largest->chain[0].own).function, "take_orders");
	assert_int_equal(largest->chain[1].reason, REASON_JOIN);
	assert_int_equal(largest->waker, 0); // an interrupt, whichever task it interrupted
	assert_segment(&run, 10, PATH_READY, REASON_READY, "main", 50);
	end(&run);
}

// The kernel does not report that worker leaves the second CPU, nor that main gets it. The recorder finds
// this out at the next switch there; a trace has a task for the time in between.
static void run_with_hidden_switches(struct run *run, bool trace) {
	begin(run);
	push(run, (struct event){.kind = EVENT_META, .meta = {text(run, "scope"), text(run, "tree")}});
	switches(run, 90, 0, 0, 0, 10);
	executes(run, 100, 10);
	creates(run, 110, 10, 11, "worker");
	switches(run, 120, 1, 0, 0, 11);
	if (trace)
		switches(run, 120, 1, 11, STATE_RUNNING, TID_LOST + 1);
	switches(run, 200, 0, 10, STATE_SLEEPING, 0);
	wakes(run, 500, 1, 11, 10, 0);
	if (trace)
		switches(run, 999, 1, TID_LOST + 1, STATE_SLEEPING, 10);
	switches(run, 1000, 1, 10, STATE_SLEEPING, 0);
	wakes(run, 3000, 0, 0, 10, CONTEXT_HARDIRQ);
	switches(run, 3010, 0, 0, 0, 10);
	waited(run, 3010, 10, 2010, "main settle c:nanosleep k:do_nanosleep k:schedule");
	switches(run, 3100, 0, 10, STATE_DEAD, 0);
	ask(run);
}

static void test_a_hidden_switch_is_the_same_for_recorder_and_trace(void **state) {
	struct run recorded, read;
	run_with_hidden_switches(&recorded, false);
	run_with_hidden_switches(&read, true);
	for (int i = 0; i < 2; i++) {
		const struct run *run = i ? &read : &recorded;
		assert_segment(run, 10, PATH_WAITS, REASON_SLEEP, "settle", 2000);
		assert_int_equal(run->why.unknown_ns, 999 - 200);
		assert_null(find(run, 11, PATH_RUNS, REASON_CPU)); // it may have left long before
	}
	assert_int_equal(recorded.why.segments.count, read.why.segments.count);
	for (size_t i = 0; i < read.why.segments.count; i++)
		assert_int_equal(recorded.why.segments.items[i].ns, read.why.segments.items[i].ns);
	end(&recorded);
	end(&read);
}

static void test_an_interrupted_task_is_not_blamed(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	creates(&run, 110, 10, 11, "busy");
	switches(&run, 120, 1, 0, 0, 11);
	switches(&run, 200, 0, 10, STATE_SLEEPING, 0);
	wakes(&run, 5000, 1, 11, 10, CONTEXT_HARDIRQ);
	switches(&run, 5000, 0, 0, 0, 10);
	switches(&run, 5100, 0, 10, STATE_DEAD, 0);
	ask(&run);
	for (size_t i = 0; i < run.why.segments.count; i++)
		assert_int_not_equal(timeline_thread(&run.timeline, run.why.segments.items[i].thread)->tid,
				     11);
	end(&run);
}

// A packet on the loopback device wakes its reader in a softirq inside the sender's own system call.
static void test_a_packet_to_the_own_machine_leads_to_its_sender(void **state) {
	for (int device = 0; device < 2; device++) {
		struct run run;
		begin(&run);
		switches(&run, 90, 0, 0, 0, 10);
		executes(&run, 100, 10);
		creates(&run, 110, 10, 11, "sender");
		switches(&run, 120, 1, 0, 0, 11);
		switches(&run, 200, 0, 10, STATE_SLEEPING, 0);
		if (device)
			push(&run, (struct event){.kind = EVENT_IRQ_EXIT, .time = 4985, .cpu = 1});
		push(&run,
		     (struct event){
			     .kind = EVENT_SOFTIRQ_ENTRY, .time = 4990, .cpu = 1, .irq = {.number = 3}});
		wakes(&run, 5000, 1, 11, 10, CONTEXT_SOFTIRQ);
		push(&run, (struct event){
				   .kind = EVENT_SOFTIRQ_EXIT, .time = 5010, .cpu = 1, .irq = {.number = 3}});
		switches(&run, 5020, 0, 0, 0, 10);
		waited(&run, 5020, 10, 4820, "receive c:recv k:tcp_recvmsg k:sk_wait_data k:schedule");
		switches(&run, 5100, 0, 10, STATE_DEAD, 0);
		ask(&run);
		assert_int_equal(find(&run, 11, PATH_RUNS, REASON_CPU) != NULL, !device);
		assert_int_equal(find(&run, 10, PATH_WAITS, REASON_SOCKET) != NULL, device);
		end(&run);
	}
}

static void test_a_timer_in_a_poll_is_a_time_limit(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	switches(&run, 200, 0, 10, STATE_SLEEPING, 0);
	wakes(&run, 5000, 0, 0, 10, CONTEXT_HARDIRQ);
	switches(&run, 5020, 0, 0, 0, 10);
	waited(&run, 5020, 10, 4820, "resolve c:poll k:do_sys_poll k:schedule_hrtimeout_range k:schedule");
	switches(&run, 5100, 0, 10, STATE_DEAD, 0);
	ask(&run);
	assert_segment(&run, 10, PATH_WAITS, REASON_TIMEOUT, "resolve", 4800);
	assert_int_equal(run.why.segments.items[0].limited, REASON_POLL);
	end(&run);
}

// The machine takes the CPU away more often than it samples.
static void test_a_sample_stands_for_all_that_ran_since_the_previous_one(void **state) {
	for (int waits = 0; waits < 2; waits++) {
		struct run run;
		begin(&run);
		switches(&run, 90, 0, 0, 0, 10);
		executes(&run, 100, 10);
		sampled(&run, 1000, 10, "main load");
		switches(&run, 1100, 0, 10, STATE_PREEMPTED, 50);
		switches(&run, 2000, 0, 50, STATE_SLEEPING, 10);
		switches(&run, 2400, 0, 10, waits ? STATE_SLEEPING : STATE_PREEMPTED, 50);
		if (waits)
			wakes(&run, 2500, 0, 0, 10, CONTEXT_HARDIRQ);
		switches(&run, 3000, 0, 50, STATE_SLEEPING, 10);
		sampled(&run, 3300, 10, "main store");
		switches(&run, 5000, 0, 10, STATE_DEAD, 0);
		ask(&run);
		assert_segment(&run, 10, PATH_RUNS, REASON_CPU, "store", waits ? 2000 : 2400); // the largest
		end(&run);
	}
}

// A producer waits for room in a socket twice, and last, for a shorter time, until its consumer ends.
static void test_the_chain_is_that_of_most_of_the_time(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	creates(&run, 110, 10, 11, "consumer");
	switches(&run, 120, 1, 0, 0, 11);
	sampled(&run, 130, 11, "main read_slowly");
	for (uint64_t time = 1000; time <= 9000; time += 4000) {
		bool last = time == 9000;
		uint64_t took = last ? 1000 : 3000;
		switches(&run, time, 0, 10, STATE_SLEEPING, 0);
		wakes(&run, time + took, 1, 11, 10, 0);
		switches(&run, time + took, 0, 0, 0, 10);
		waited(&run, time + took, 10, took,
		       last ? "main c:wait4 k:do_wait k:schedule"
			    : "main produce c:write k:sock_alloc_send_pskb k:schedule");
	}
	sampled(&run, 10010, 11, "main read_slowly");
	switches(&run, 10100, 0, 10, STATE_DEAD, 0);
	ask(&run);
	const struct why_segment *largest = &run.why.segments.items[0];
	assert_int_equal(timeline_thread(&run.timeline, largest->thread)->tid, 11);
	assert_int_equal(largest->chain_count, 1);
	assert_string_equal(why_place(&run.why, largest->chain[0].own).function, "produce");
	end(&run);
}

// Woken by one task, it looks, and waits for the same again until another one wakes it.
static void test_a_false_wakeup_does_not_end_a_wait(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	creates(&run, 110, 10, 11, "first");
	creates(&run, 120, 10, 12, "last");
	switches(&run, 130, 1, 0, 0, 11);
	switches(&run, 140, 2, 0, 0, 12);
	switches(&run, 200, 0, 10, STATE_SLEEPING, 0);
	wakes(&run, 3000, 1, 11, 10, 0);
	switches(&run, 3010, 0, 0, 0, 10);
	waited(&run, 3010, 10, 2810, "get c:pthread_cond_wait" KERNEL_FUTEX);
	switches(&run, 3020, 0, 10, STATE_SLEEPING, 0);
	wakes(&run, 5000, 2, 12, 10, 0);
	switches(&run, 5010, 0, 0, 0, 10);
	waited(&run, 5010, 10, 1990, "get c:pthread_cond_wait" KERNEL_FUTEX);
	switches(&run, 5100, 0, 10, STATE_DEAD, 0);
	ask(&run);
	assert_null(find(&run, 11, PATH_RUNS, REASON_CPU));
	assert_segment(&run, 12, PATH_RUNS, REASON_CPU, "", 4800);
	end(&run);
}

// As for an interpreter's lock: a timer wakes it to look, and meanwhile it even loses its CPU.
static void test_a_thread_that_looks_at_a_lock_again_and_again_waits_for_its_holder(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	creates(&run, 110, 10, 12, "holder");
	switches(&run, 140, 2, 0, 0, 12);
	switches(&run, 200, 0, 10, STATE_SLEEPING, 0);
	wakes(&run, 5000000, 0, 0, 10, CONTEXT_HARDIRQ);
	switches(&run, 5000010, 0, 0, 0, 10);
	waited(&run, 5000010, 10, 4999810, "get c:pthread_cond_timedwait" KERNEL_FUTEX);
	switches(&run, 5100000, 0, 10, STATE_RUNNING, 99);
	switches(&run, 5200000, 0, 99, STATE_RUNNING, 10);
	switches(&run, 5300000, 0, 10, STATE_SLEEPING, 0);
	wakes(&run, 7000000, 2, 12, 10, 0);
	switches(&run, 7000010, 0, 0, 0, 10);
	waited(&run, 7000010, 10, 1700010, "get c:pthread_cond_timedwait" KERNEL_FUTEX);
	switches(&run, 7000100, 0, 10, STATE_DEAD, 0);
	ask(&run);
	assert_segment(&run, 12, PATH_RUNS, REASON_CPU, "", 6999800);
	end(&run);
}

// The wakeup came after the decision to sleep, before the switch.
static void test_an_early_wakeup_makes_the_task_ready(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	creates(&run, 110, 10, 11, "other");
	switches(&run, 120, 1, 0, 0, 11);
	wakes(&run, 199, 1, 11, 10, 0);
	switches(&run, 200, 0, 10, STATE_SLEEPING, 77);
	switches(&run, 900, 0, 77, STATE_SLEEPING, 10);
	switches(&run, 1000, 0, 10, STATE_DEAD, 0);
	ask(&run);
	assert_segment(&run, 10, PATH_READY, REASON_READY, "", 700);
	assert_null(find(&run, 10, PATH_WAITS, REASON_UNKNOWN));
	assert_int_equal(timeline_thread(&run.timeline, run.why.segments.items[0].waker)->tid, 77);
	end(&run);
}

// Readers give two samples of one wait: while it lasted, and while the thread was ready.
static void test_a_wait_has_its_stack_however_long_the_thread_was_ready(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	switches(&run, 200, 0, 10, STATE_SLEEPING, 77);
	wakes(&run, 5000, 1, 0, 10, CONTEXT_HARDIRQ);
	switches(&run, 900000, 0, 77, STATE_PREEMPTED, 10);
	waited(&run, 900000, 10, 4800, "main rest c:nanosleep k:do_nanosleep k:schedule");
	waited(&run, 900000, 10, 895000, "[ready] main rest c:nanosleep k:do_nanosleep k:schedule");
	switches(&run, 900100, 0, 10, STATE_DEAD, 0);
	ask(&run);
	assert_segment(&run, 10, PATH_WAITS, REASON_SLEEP, "rest", 4800);
	assert_segment(&run, 10, PATH_READY, REASON_READY, "rest", 895000);
	end(&run);
}

// At a time limit the threads are stopped for a while before they are killed.
static void test_a_deadlock_is_named_however_long_the_stacks_took(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	creates(&run, 110, 10, 11, "report");
	switches(&run, 120, 1, 0, 0, 11);
	for (uint32_t i = 0; i < 2; i++) {
		switches(&run, 200, i, 10 + i, STATE_SLEEPING, 0);
		wakes(&run, 1000, 2, 0, 10 + i, 0);
		switches(&run, 1010, i, 0, 0, 10 + i);
		waited(&run, 1010, 10 + i, 810, "f c:pthread_mutex_lock" KERNEL_FUTEX);
		switches(&run, 1020, i, 10 + i, STATE_TRACED, 0);
		wakes(&run, 5000, 2, 0, 10 + i, 0);
		switches(&run, 5010, i, 0, 0, 10 + i);
		push(&run,
		     (struct event){.kind = EVENT_EXIT, .time = 5020, .tid = 10 + i, .exit = {.code = 15}});
		switches(&run, 5030, i, 10 + i, STATE_DEAD, 0);
	}
	ask(&run);
	struct why_endings endings;
	why_endings(&run.why, &endings);
	assert_true(endings.killed);
	assert_true(endings.stuck);
	assert_int_equal(endings.list.count, 2);
	array_free(&endings.list);
	end(&run);
}

static void test_without_switches_there_is_no_answer(void **state) {
	struct run run;
	begin(&run);
	executes(&run, 100, 10);
	sampled(&run, 200, 10, "main");
	struct why_question question = {0};
	assert_true(why_find(&run.why, &run.timeline, &question) < 0);
	assert_string_equal(run.why.error, "no context switches in this recording");
	end(&run);
}

static void test_a_test_that_sleeps_when_recording_ends_has_waited_until_then(void **state) {
	struct run run;
	begin(&run);
	push(&run,
	     (struct event){.kind = EVENT_META,
			    .meta = {.key = text(&run, "wall-seconds"), .value = text(&run, "0.000001")}});
	executes(&run, 100, 10);
	switches(&run, 300, 0, 10, STATE_SLEEPING, 0);
	struct why_question question = {0};
	assert_int_equal(why_find(&run.why, &run.timeline, &question), 0);
	assert_whole(&run.why);
	assert_int_equal(run.why.to, 1100);
	assert_int_equal(run.why.segments.items[0].state, PATH_WAITS);
	assert_int_equal(run.why.segments.items[0].ns, 800);
	end(&run);
}

static void test_samples_say_where_a_thread_ran(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 1000, 10);
	sampled(&run, 2000, 10, "main parse c:memcpy");
	sampled(&run, 3000, 10, "main parse");
	sampled(&run, 4000, 10, "main touch k:asm_exc_page_fault k:handle_mm_fault");
	switches(&run, 4500, 0, 10, STATE_DEAD, 0);
	ask(&run);
	assert_segment(&run, 10, PATH_RUNS, REASON_CPU, "parse", 2000);
	assert_segment(&run, 10, PATH_RUNS, REASON_PAGE_FAULT, "touch", 1500);
	end(&run);
}

static void test_a_gap_is_unknown(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	switches(&run, 200, 0, 10, STATE_SLEEPING, 0);
	push(&run, (struct event){.kind = EVENT_LOST,
				  .time = 600,
				  .cpu = 0,
				  .lost = {.count = 3, .source = SOURCE_SCHED}});
	switches(&run, 900, 0, 0, 0, 10);
	switches(&run, 1000, 0, 10, STATE_DEAD, 0);
	ask(&run);
	assert_int_equal(run.why.unknown_ns, 400);
	assert_segment(&run, 10, PATH_WAITS, REASON_UNKNOWN, "", 300);
	end(&run);
}

// The kernel reports no switches of a CPU for a while. What waited until a known wakeup did wait.
static void test_a_gap_of_a_cpu_leaves_known_waits(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	switches(&run, 200, 0, 10, STATE_SLEEPING, TID_OUTSIDE);
	switches(&run, 210, 0, TID_OUTSIDE, STATE_SLEEPING, TID_LOST);
	wakes(&run, 900, 1, 0, 10, CONTEXT_HARDIRQ);
	switches(&run, 950, 0, TID_LOST, STATE_SLEEPING, 10);
	switches(&run, 1000, 0, 10, STATE_DEAD, 0);
	ask(&run);
	assert_segment(&run, 10, PATH_WAITS, REASON_UNKNOWN, "", 700);
	assert_int_equal(run.why.unknown_ns, 50); // ready on that CPU, as far as is known
	end(&run);
}

// A thread other than the first calls exec and goes on under the first one's number.
static void test_exec_by_another_thread(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	creates(&run, 110, 10, 11, "other");
	switches(&run, 200, 0, 10, STATE_SLEEPING, 11);
	push(&run, (struct event){.kind = EVENT_EXEC,
				  .time = 500,
				  .tid = 10,
				  .pid = 10,
				  .exec = {.old_tid = 11, .name = text(&run, "again")}});
	switches(&run, 900, 0, 10, STATE_DEAD, 0);
	ask(&run);
	assert_int_equal(run.why.to, 900);
	assert_segment(&run, 10, PATH_RUNS, REASON_CPU, "", 700);
	end(&run);
}

// The first thread has ended; the process lives until another one has.
static void test_a_process_ends_with_its_last_thread(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	creates(&run, 200, 10, 11, "late");
	switches(&run, 250, 1, 0, 0, 11);
	switches(&run, 1000000, 0, 10, STATE_ZOMBIE, 0);
	push(&run, (struct event){.kind = EVENT_EXIT, .time = 8000000, .tid = 11, .pid = 10});
	switches(&run, 9000000, 1, 11, STATE_DEAD, 0);
	ask(&run);
	assert_int_equal(run.why.to, 9000000);
	assert_segment(&run, 11, PATH_RUNS, REASON_CPU, "", 8000000);
	assert_segment(&run, 10, PATH_RUNS, REASON_CPU, "", 1000000 - 100);
	end(&run);
}

static void test_a_case_and_a_thread_can_be_asked_for(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	for (int i = 0; i < 2; i++)
		push(&run, (struct event){.kind = EVENT_MARK,
					  .time = i ? 700 : 300,
					  .tid = 10,
					  .mark = {.name = text(&run, "adds"),
						   .type = i ? MARK_TEST_END : MARK_TEST_BEGIN}});
	switches(&run, 1000, 0, 10, STATE_DEAD, 0);
	struct why_question question = {.test_case = "adds"};
	assert_int_equal(why_find(&run.why, &run.timeline, &question), 0);
	assert_whole(&run.why);
	assert_int_equal(run.why.to - run.why.from, 400);
	why_free(&run.why);
	question = (struct why_question){.thread = "10", .has_from = true, .from = 500};
	assert_int_equal(why_find(&run.why, &run.timeline, &question), 0);
	assert_int_equal(run.why.to - run.why.from, 500);
	why_free(&run.why);
	question = (struct why_question){.thread = "none"};
	assert_true(why_find(&run.why, &run.timeline, &question) < 0);
	assert_string_equal(run.why.error, "no thread 'none' in this recording");
	end(&run);
}

// ---- whatever comes ----

static uint64_t random_state;

static uint32_t random_below(uint32_t limit) {
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % limit;
}

static uint32_t any_tid(void) {
	static const uint32_t special[] = {0, TID_OUTSIDE, TID_LOST};
	return random_below(20) ? 1 + random_below(9) : special[random_below(3)];
}

static struct event any_event(struct run *run, uint64_t time, const uint32_t *stacks) {
	static const uint16_t states[] = {STATE_RUNNING,   STATE_SLEEPING, STATE_DISK,  STATE_DEAD,
					  STATE_PREEMPTED, STATE_SLEEPING, STATE_ZOMBIE};
	static const uint16_t contexts[] = {0, 0, CONTEXT_HARDIRQ, CONTEXT_SOFTIRQ};
	static const uint16_t kinds[] = {EVENT_SWITCH, EVENT_SWITCH, EVENT_SWITCH,        EVENT_WAKING,
					 EVENT_WAKING, EVENT_SAMPLE, EVENT_SOFTIRQ_ENTRY, EVENT_SWITCH};
	static const uint16_t rare[] = {EVENT_FORK, EVENT_EXEC, EVENT_EXIT, EVENT_LOST, EVENT_RENAME};
	struct event event = {
		.time = time, .cpu = random_below(3), .tid = any_tid(), .pid = random_below(10)};
	event.kind = random_below(30) ? kinds[random_below(8)] : rare[random_below(5)];
	if (event.kind == EVENT_SWITCH) {
		event.switched.next_tid = any_tid();
		event.switched.state = states[random_below(7)];
		event.switched.outside = !random_below(20);
		event.switched.next_outside = !random_below(20);
	} else if (event.kind == EVENT_WAKING) {
		event.waking.wakee_tid = 1 + random_below(9);
		event.waking.context = contexts[random_below(4)];
	} else if (event.kind == EVENT_SAMPLE) {
		event.sample.name = random_below(2) ? run->timeline.off_cpu : 0;
		event.sample.weight = random_below(100000);
		event.sample.stack = stacks[random_below(3)];
	} else if (event.kind == EVENT_FORK) {
		event.fork.child_tid = event.fork.child_pid = 1 + random_below(9);
	} else if (event.kind == EVENT_EXEC) {
		event.exec.old_tid = random_below(10);
	} else if (event.kind == EVENT_LOST) {
		event.lost.count = 1;
	}
	return event;
}

static void test_the_path_is_the_whole_time_of_any_stream(void **state) {
	for (uint32_t seed = 0; seed < 3000; seed++) {
		struct run run;
		begin(&run);
		random_state = seed;
		uint32_t stacks[] = {0, stack_of(&run, "get c:pthread_cond_wait" KERNEL_FUTEX),
				     stack_of(&run, "rest c:nanosleep k:do_nanosleep")};
		uint64_t time = 1000;
		executes(&run, time, 1);
		for (uint32_t i = 0, count = random_below(400); i < count; i++) {
			push(&run, any_event(&run, time, stacks));
			time += random_below(3) ? random_below(30000) : 0;
		}
		assert_int_equal(sink_finish(run.sink), 0);
		struct why_question question = {0};
		char tid[2] = {(char)('1' + random_below(9)), 0};
		if (random_below(2))
			question.thread = tid;
		if (!why_find(&run.why, &run.timeline, &question))
			assert_whole(&run.why);
		end(&run);
	}
}

// ---- CPU limits ----

// Runs for a while, then another task has the CPU until the end of the round.
static void rounds(struct run *run, const int lengths[], int count) {
	enum { MS = 1000000 };
	uint64_t time = 1000;
	switches(run, 90, 0, 0, 0, 10);
	executes(run, 100, 10);
	for (int i = 0; i < count; i++) {
		switches(run, time + (uint64_t)(20 + i % 3) * MS, 0, 10, STATE_RUNNING, 99);
		time += (uint64_t)lengths[i] * MS;
		switches(run, time + (uint64_t)(i % 2) * MS, 0, 99, STATE_RUNNING, 10);
	}
	switches(run, time + 5 * MS, 0, 10, STATE_DEAD, 0);
	ask(run);
}

static void test_a_beat_means_a_cpu_limit_although_the_machine_is_busy(void **state) {
	static const int limited[] = {100, 100, 200, 100, 100, 100, 100},
			 busy[] = {83, 112, 61, 95, 140, 77, 131};
	struct run run;
	begin(&run);
	rounds(&run, limited, ARRAY_SIZE(limited));
	assert_non_null(find(&run, 10, PATH_READY, REASON_THROTTLED));
	assert_null(find(&run, 10, PATH_READY, REASON_READY));
	end(&run);
	begin(&run);
	rounds(&run, busy, ARRAY_SIZE(busy));
	assert_null(find(&run, 10, PATH_READY, REASON_THROTTLED));
	end(&run);
}

// ---- the track ----

static void test_the_track_has_a_slice_for_each_piece(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	switches(&run, 200, 0, 10, STATE_SLEEPING, 0);
	wakes(&run, 5000, 0, 0, 10, CONTEXT_HARDIRQ);
	switches(&run, 5010, 0, 0, 0, 10);
	waited(&run, 5010, 10, 4810, "main settle c:nanosleep k:do_nanosleep");
	switches(&run, 6000, 0, 10, STATE_DEAD, 0);
	ask(&run);
	assert_string_equal(push_path(&run.why).names, "cpu|sleep: settle|ready|cpu|");
	end(&run);
}

static void test_the_track_of_many_short_pieces_stays_small(void **state) {
	enum { ROUNDS = 50000, LONG = 1000000 };
	struct run run;
	uint64_t time = 1000;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	for (int i = 0; i < ROUNDS; i++, time += 100) {
		switches(&run, time, 0, 10, STATE_RUNNING, 11);
		switches(&run, time + 50, 0, 11, STATE_RUNNING, 10);
	}
	switches(&run, time + LONG, 0, 10, STATE_DEAD, 0);
	ask(&run);
	assert_true(run.why.path.count > ROUNDS);
	struct path_events events = push_path(&run.why);
	assert_in_range(events.count, 500, 2 * 1024 + 2);
	end(&run);
}

// ---- words ----

static void test_runs_are_compared_by_role_reason_and_function(void **state) {
	struct run runs[2];
	for (int i = 0; i < 2; i++) {
		uint64_t sleep = i ? 80000000 : 2000000;
		struct run *run = &runs[i];
		begin(run);
		switches(run, 90, 0, 0, 0, 10);
		executes(run, 100, 10);
		switches(run, 200, 0, 10, STATE_SLEEPING, 0);
		wakes(run, 200 + sleep, 0, 0, 10, CONTEXT_HARDIRQ);
		switches(run, 210 + sleep, 0, 0, 0, 10);
		waited(run, 210 + sleep, 10, sleep + 10, "main settle c:nanosleep k:do_nanosleep");
		switches(run, 5000000 + sleep, 0, 10, STATE_DEAD, 0);
		ask(run);
	}
	struct why_difference difference = {0};
	struct why_parts parts[2], read;
	struct buffer digest = {0};
	for (int i = 0; i < 2; i++)
		why_parts_of(&parts[i], &runs[i].why);
	why_digest(&parts[0], &digest);
	buffer_append(&digest, "", 1);
	assert_true(why_parts_read(&read, (const char *)digest.data));
	assert_int_equal(read.wall, parts[0].wall);
	assert_int_equal(read.list.count, parts[0].list.count);
	why_compare(&difference, &parts[1], &read, NULL);
	assert_int_equal(difference.changes.count, 1);
	assert_string_equal(difference.changes.items[0].function, "settle");
	assert_int_equal(difference.changes.items[0].ns, 80000000);
	assert_int_equal(difference.changes.items[0].baseline_ns, 2000000);
	struct buffer out = {0};
	why_sentences(&runs[1].why, &difference, &out);
	buffer_append(&out, "", 1);
	assert_string_equal(
		out.data,
		"test took 85.0 ms. For 80.0 ms (94 %), test slept in settle(). The last passing run "
		"took 7.00 ms; there, test spent 2.00 ms (sleep in settle) and here 80.0 ms.");
	buffer_free(&out);
	why_difference_free(&difference);
	why_parts_free(&parts[0]);
	why_parts_free(&parts[1]);
	why_parts_free(&read);
	buffer_free(&digest);
	end(&runs[0]);
	end(&runs[1]);
}

static void test_a_busy_machine_does_not_hide_the_cause(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 90, 0, 0, 0, 10);
	executes(&run, 100, 10);
	switches(&run, 200, 0, 10, STATE_SLEEPING, 99);
	wakes(&run, 4000200, 0, 0, 10, CONTEXT_HARDIRQ);
	switches(&run, 10000200, 0, 99, STATE_RUNNING, 10);
	waited(&run, 10000200, 10, 10000000, "main load settle c:nanosleep k:do_nanosleep");
	switches(&run, 10000300, 0, 10, STATE_DEAD, 0);
	ask(&run);
	struct buffer out = {0};
	why_cause(&run.why, &out);
	buffer_append(&out, "", 1);
	assert_string_equal(
		out.data,
		"For 6.00 ms (60 %), test was ready to run without a CPU, while thread 99 had it for "
		"6.00 ms; apart from that, for 4.00 ms (40 %), test slept in settle(), called by load().");
	buffer_free(&out);
	end(&run);
}

static void test_a_digest_that_is_none_is_refused(void **state) {
	static const char *const bad[] = {"",
					  "{",
					  "[]",
					  "{}",
					  "{\"wall_ns\":5,\"segments\":[{\"role\":",
					  "7",
					  "{\"wall_ns\":\"x\",\"segments\":[1,{\"role\":3}]}"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct why_parts parts;
		assert_false(why_parts_read(&parts, bad[i]));
		why_parts_free(&parts);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_path_follows_wakers),
		cmocka_unit_test(test_a_hidden_switch_is_the_same_for_recorder_and_trace),
		cmocka_unit_test(test_an_interrupted_task_is_not_blamed),
		cmocka_unit_test(test_a_packet_to_the_own_machine_leads_to_its_sender),
		cmocka_unit_test(test_a_timer_in_a_poll_is_a_time_limit),
		cmocka_unit_test(test_a_sample_stands_for_all_that_ran_since_the_previous_one),
		cmocka_unit_test(test_the_chain_is_that_of_most_of_the_time),
		cmocka_unit_test(test_a_false_wakeup_does_not_end_a_wait),
		cmocka_unit_test(test_a_thread_that_looks_at_a_lock_again_and_again_waits_for_its_holder),
		cmocka_unit_test(test_an_early_wakeup_makes_the_task_ready),
		cmocka_unit_test(test_a_wait_has_its_stack_however_long_the_thread_was_ready),
		cmocka_unit_test(test_a_deadlock_is_named_however_long_the_stacks_took),
		cmocka_unit_test(test_without_switches_there_is_no_answer),
		cmocka_unit_test(test_a_test_that_sleeps_when_recording_ends_has_waited_until_then),
		cmocka_unit_test(test_samples_say_where_a_thread_ran),
		cmocka_unit_test(test_a_gap_is_unknown),
		cmocka_unit_test(test_a_gap_of_a_cpu_leaves_known_waits),
		cmocka_unit_test(test_exec_by_another_thread),
		cmocka_unit_test(test_a_process_ends_with_its_last_thread),
		cmocka_unit_test(test_a_case_and_a_thread_can_be_asked_for),
		cmocka_unit_test(test_the_path_is_the_whole_time_of_any_stream),
		cmocka_unit_test(test_a_beat_means_a_cpu_limit_although_the_machine_is_busy),
		cmocka_unit_test(test_the_track_has_a_slice_for_each_piece),
		cmocka_unit_test(test_the_track_of_many_short_pieces_stays_small),
		cmocka_unit_test(test_a_busy_machine_does_not_hide_the_cause),
		cmocka_unit_test(test_a_digest_that_is_none_is_refused),
		cmocka_unit_test(test_runs_are_compared_by_role_reason_and_function),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
