// The Perfetto writer: a few events in, and the resulting trace parsed.
#include "trace_run.h"

#include <errno.h>
#include <fcntl.h>

enum { OUTSIDE = TID_OUTSIDE, LOST_TASK = TID_OUTSIDE + (1 << 20) };
enum {
	NEWTASK = 235,
	RENAME = 236,
	FREE = 240,
	IRQ_ENTRY = 36,
	IRQ_EXIT = 37,
	SOFTIRQ_ENTRY = 24,
	SOFTIRQ_EXIT = 25
};

// ---- short forms for events ----

static void switch_to(uint32_t cpu, uint64_t time, uint32_t tid, uint16_t state, uint32_t next,
		      const char *name) {
	push((struct event){
		.kind = EVENT_SWITCH,
		.cpu = cpu,
		.time = time,
		.tid = tid,
		.switched = {
			.next_tid = next, .next_name = text(name), .state = state, .next_priority = 120}});
}

enum { FROM_OUTSIDE = 1, TO_OUTSIDE = 2 };

static void cross(uint64_t time, uint32_t tid, uint32_t next, const char *name, unsigned sides) {
	push((struct event){.kind = EVENT_SWITCH,
			    .time = time,
			    .tid = tid,
			    .switched = {.next_tid = next,
					 .next_name = text(name),
					 .state = STATE_SLEEPING,
					 .outside = sides & FROM_OUTSIDE,
					 .next_outside = sides & TO_OUTSIDE}});
}

static void wake(uint64_t time, uint32_t waker, uint32_t wakee, uint16_t context, const char *waker_name) {
	push((struct event){.kind = EVENT_WAKING,
			    .time = time,
			    .tid = waker,
			    .waking = {.wakee_tid = wakee,
				       .target_cpu = 3,
				       .priority = 120,
				       .context = context,
				       .waker_name = text(waker_name)}});
}

static void fork_child(uint64_t time, uint32_t tid, uint32_t child, uint32_t child_pid, uint32_t parent) {
	push((struct event){.kind = EVENT_FORK,
			    .time = time,
			    .tid = tid,
			    .pid = tid,
			    .fork = {.child_tid = child,
				     .child_pid = child_pid,
				     .parent_pid = parent,
				     .name = text("child")}});
}

static void task_exits(uint64_t time, uint32_t tid, uint32_t pid, int32_t code) {
	push((struct event){
		.kind = EVENT_EXIT, .time = time, .tid = tid, .pid = pid, .exit = {.code = code}});
}

static void irq(enum event_kind kind, uint64_t time, uint32_t number, const char *name) {
	push((struct event){.kind = kind,
			    .time = time,
			    .tid = 10,
			    .irq = {.number = number, .name = text(name), .result = 1}});
}

static void lose(uint32_t cpu, uint64_t time, uint16_t source, uint64_t count) {
	push((struct event){
		.kind = EVENT_LOST, .cpu = cpu, .time = time, .lost = {.count = count, .source = source}});
}

static void assert_switch(const struct view *view, size_t number, uint64_t time, uint32_t next,
			  const char *name) {
	assert_true(number < view->switches.count);
	const struct view_switch *one = &view->switches.items[number];
	assert_int_equal(one->time, time);
	assert_int_equal(one->next_tid, next);
	assert_string_equal(one->name, name);
}

static const struct view_track_event *instant(const struct view *view, const char *name) {
	for (size_t i = 0; i < view->track_events.count; i++)
		if (view->track_events.items[i].type == 3 &&
		    strcmp(view->track_events.items[i].name, name) == 0)
			return &view->track_events.items[i];
	fail_msg("there is no instant '%s'", name);
	return NULL;
}

static uint32_t tid_of_track(const struct view *view, uint64_t uuid) {
	for (size_t i = 0; i < view->tracks.count; i++)
		if (view->tracks.items[i].uuid == uuid)
			return view->tracks.items[i].tid;
	fail_msg("there is no track %llu", (unsigned long long)uuid);
	return 0;
}

// ---- the whole trace ----

static void test_clocks_are_read_together(void **state) {
	trace_begin("system");
	push((struct event){.kind = EVENT_CLOCK,
			    .cpu = CPU_NONE,
			    .time = 1001,
			    .clock = {.wall = 5000, .monotonic = 900}});
	switch_to(0, 1002, 0, 0, 10, "test");
	push((struct event){.kind = EVENT_CLOCK,
			    .cpu = CPU_NONE,
			    .time = 2001,
			    .clock = {.wall = 6000, .monotonic = 1900}});
	struct view view = trace_end();
	assert_int_equal(view.snapshots, 2);
	assert_int_equal(view.primary_clock, 6); // BOOTTIME
	assert_int_equal(view.clocks[6], 2001);
	assert_int_equal(view.clocks[1], 6000);
	assert_int_equal(view.clocks[3], 1900);
	view_free(&view);
}

static void test_a_trace_without_events_is_good(void **state) {
	struct buffer trace = {0};
	trace_open(false);
	trace_finish(&trace);
	assert_true(trace.size > 0);
	buffer_free(&trace);
}

static void test_a_trace_that_does_not_say_when_it_begins_begins_with_its_first_event(void **state) {
	trace_open(false);
	switch_to(0, 5000, 0, 0, 10, "test");
	switch_to(0, 6000, 10, 0, 0, "swapper/0");
	struct view view = trace_end();
	assert_int_equal(view.track_events.count, 2); // neither a time limit nor a recording that stopped
	assert_int_equal(view.track_events.items[0].time, 5000);
	assert_int_equal(view.track_events.items[1].time, 6000);
	view_free(&view);
}

static void test_the_kernel_is_named_even_where_it_is_not_known(void **state) {
	static const char *const releases[][2] = {{"6.12.3", "6.12.3"}, {"", "6.1.0"}, {NULL, "6.1.0"}};
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		trace_begin("system");
		if (releases[i][0])
			fact("kernel", releases[i][0]);
		switch_to(0, 1002, 0, 0, 10, "test");
		struct view view = trace_end();
		assert_string_equal(view.release, releases[i][1]);
		view_free(&view);
	}
}

static void test_the_test_is_one_slice_with_all_facts(void **state) {
	trace_begin("tree");
	switch_to(0, 1500, 0, 0, 10, "test");
	switch_to(0, 2500, 10, STATE_SLEEPING, 0, "");
	fact("result", "passed"); // known only at the end
	struct view view = trace_end();
	assert_int_equal(view.track_events.count, 2);
	const struct view_track_event *slice = view.track_events.items;
	assert_int_equal(slice[0].type, 1);
	assert_int_equal(slice[0].time, START);
	assert_string_equal(slice[0].name, "unit");
	assert_string_equal(slice[0].annotations, "test=unit;scope=tree;result=passed;");
	assert_string_equal(view.attributes, slice[0].annotations);
	assert_int_equal(slice[1].type, 2);
	assert_int_equal(slice[1].time, 2500);
	assert_int_equal(slice[1].track, slice[0].track);
	view_free(&view);
}

static void test_a_flood_of_facts_ends(void **state) {
	trace_begin("system");
	for (int i = 0; i < 10000; i++)
		push((struct event){.kind = EVENT_META, .meta = {text(""), text("")}});
	struct buffer trace = {0};
	trace_finish(&trace);
	assert_true(trace.size < 10000);
	buffer_free(&trace);
}

// ---- switches ----

static void test_switches_are_columns_behind_a_full_one(void **state) {
	trace_begin("system");
	push((struct event){.kind = EVENT_TASK,
			    .cpu = CPU_NONE,
			    .time = START,
			    .tid = 10,
			    .pid = 10,
			    .task = {.name = text("known")}});
	switch_to(2, 2000, 7, STATE_DISK, 10, "");
	switch_to(2, 2100, 10, STATE_PREEMPTED, 11, "other");
	push((struct event){.kind = EVENT_SWITCH,
			    .cpu = 2,
			    .time = 2100,
			    .tid = 11,
			    .switched = {.next_tid = 0, .state = STATE_SLEEPING, .next_priority = -5}});
	struct view view = trace_end();
	assert_int_equal(view.switches.count, 3);
	assert_switch(&view, 0, 2000, 10, "known");
	assert_true(view.switches.items[0].full);
	assert_int_equal(view.switches.items[0].prev_tid, 7);
	assert_int_equal(view.switches.items[0].state, STATE_DISK);
	assert_switch(&view, 1, 2100, 11, "other");
	assert_false(view.switches.items[1].full);
	assert_int_equal(view.switches.items[1].state, STATE_PREEMPTED);
	assert_switch(&view, 2, 2100, 0, "");
	assert_int_equal(view.switches.items[2].priority, -5);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(view.switches.items[i].cpu, 2);
	view_free(&view);
}

static void test_time_outside_belongs_to_a_pseudo_task_of_the_cpu(void **state) {
	trace_begin("tree");
	cross(2000, 7, 10, "test", FROM_OUTSIDE);
	cross(2500, 10, 0, "", TO_OUTSIDE | FROM_OUTSIDE); // the test leaves; the next task is not named
	struct view view = trace_end();
	assert_int_equal(view.switches.count, 3);
	assert_switch(&view, 0, START, OUTSIDE, "(not this test)");
	assert_switch(&view, 1, 2000, 10, "test");
	assert_switch(&view, 2, 2500, OUTSIDE, "(not this test)");
	assert_int_equal(view.processes.items[0].pid, OUTSIDE);
	assert_string_equal(view.processes.items[0].words[0], "(not this test)");
	assert_int_equal(view.threads.items[0].tid, OUTSIDE);
	assert_int_equal(view.threads.items[0].pid, OUTSIDE);
	view_free(&view);
}

static void test_the_task_that_took_the_cpu_is_named_and_the_next_is_not(void **state) {
	trace_begin("tree");
	cross(2000, 7, 10, "test", FROM_OUTSIDE);
	cross(2100, 10, 99, "intruder", TO_OUTSIDE);
	cross(2200, 99, 55, "next one", FROM_OUTSIDE | TO_OUTSIDE);
	cross(2300, 33, 10, "test", FROM_OUTSIDE); // an unknown task ran in between
	struct view view = trace_end();
	assert_int_equal(view.switches.count, 5);
	assert_switch(&view, 1, 2000, 10, "test");
	assert_switch(&view, 2, 2100, 99, "intruder");
	assert_switch(&view, 3, 2200, OUTSIDE, "(not this test)");
	assert_switch(&view, 4, 2300, 10, "test");
	view_free(&view);
}

// The kernel did not report when the test was scheduled: the time since the last switch may or may
// not be the test's.
static void test_time_in_which_the_test_came_unseen_belongs_to_no_task(void **state) {
	trace_begin("tree");
	cross(2000, 7, 10, "test", FROM_OUTSIDE);
	cross(2100, 10, 99, "intruder", TO_OUTSIDE);
	cross(2200, 99, 55, "next one", FROM_OUTSIDE | TO_OUTSIDE);
	cross(2500, 10, 98, "another", TO_OUTSIDE);
	struct view view = trace_end();
	assert_int_equal(view.switches.count, 7);
	assert_switch(&view, 3, 2200, OUTSIDE, "(not this test)");
	assert_switch(&view, 4, 2200, LOST_TASK, "(events lost)");
	assert_switch(&view, 5, 2499, 10, ""); // so that it is known when it left
	assert_switch(&view, 6, 2500, 98, "another");
	view_free(&view);
}

static void test_each_cpu_has_a_pseudo_task_of_its_own(void **state) {
	trace_begin("tree");
	for (uint32_t cpu = 0; cpu < 3; cpu++)
		switch_to(cpu, 2000 + cpu, 0, 0, 10 + cpu, "test");
	struct view view = trace_end();
	for (uint32_t cpu = 0; cpu < 3; cpu++) {
		assert_int_equal(view.threads.items[cpu].tid, OUTSIDE + cpu);
		assert_int_equal(view.threads.items[cpu].pid, OUTSIDE);
	}
	view_free(&view);
}

static void test_no_slice_is_stretched_over_a_gap(void **state) {
	trace_begin("system");
	switch_to(0, 2000, 0, 0, 10, "first");
	switch_to(0, 3000, 20, STATE_SLEEPING, 21, "second"); // 10 has left unnoticed
	struct view view = trace_end();
	assert_int_equal(view.switches.count, 4);
	assert_switch(&view, 1, 2000, LOST_TASK, "(events lost)");
	assert_switch(&view, 2, 2999, 20, "");
	assert_switch(&view, 3, 3000, 21, "second");
	view_free(&view);
}

static void test_a_switch_behind_its_time_is_left_out(void **state) {
	trace_begin("system");
	switch_to(0, 2000, 0, 0, 10, "test");
	switch_to(0, 1500, 10, STATE_SLEEPING, 11, "late");
	switch_to(0, 2000, 10, STATE_SLEEPING, 12, "same time");
	struct view view = trace_end();
	assert_int_equal(view.switches.count, 2);
	assert_switch(&view, 1, 2000, 12, "same time");
	view_free(&view);
}

static void test_a_long_trace_has_many_bundles_and_all_switches(void **state) {
	enum { COUNT = 100000 };
	trace_begin("system");
	for (uint64_t i = 0; i < COUNT; i++) {
		char name[16];
		snprintf(name, sizeof(name), "task %u", (unsigned)(i % 50));
		switch_to(0, 2000 + i * 1000, 10 + (uint32_t)((i + 49) % 50), STATE_SLEEPING,
			  10 + (uint32_t)(i % 50), name);
	}
	struct view view = trace_end();
	assert_true(view.bundles > 10);
	assert_int_equal(view.switches.count, COUNT);
	for (uint64_t i = 0; i < COUNT; i++) {
		char name[16];
		snprintf(name, sizeof(name), "task %u", (unsigned)(i % 50));
		assert_switch(&view, i, 2000 + i * 1000, 10 + (uint32_t)(i % 50), name);
	}
	view_free(&view);
}

static void test_an_event_without_its_cpu_is_dropped(void **state) {
	trace_begin("system");
	switch_to(CPU_NONE, 2000, 0, 0, 10, "test");
	switch_to(CPU_COUNT_MOST, 2000, 0, 0, 10, "test");
	struct view view = trace_end();
	assert_int_equal(view.switches.count, 0);
	view_free(&view);
}

// ---- wakeups ----

static void test_a_wakeup_by_the_task_that_runs_is_in_the_columns(void **state) {
	trace_begin("system");
	push((struct event){.kind = EVENT_TASK,
			    .cpu = CPU_NONE,
			    .time = START,
			    .tid = 20,
			    .pid = 20,
			    .task = {.name = text("sleeper")}});
	switch_to(0, 2000, 0, 0, 10, "test");
	wake(2100, 10, 20, 0, "");
	wake(2200, 10, 20, CONTEXT_SOFTIRQ, "");
	struct view view = trace_end();
	assert_int_equal(view.wakings.count, 2);
	const struct view_waking *waking = &view.wakings.items[1];
	assert_false(waking->full);
	assert_int_equal(waking->time, 2200);
	assert_int_equal(waking->tid, 20);
	assert_int_equal(waking->target, 3);
	assert_int_equal(waking->flags, CONTEXT_SOFTIRQ);
	assert_int_equal(view.wakings.items[0].flags, 0);
	assert_string_equal(waking->name, "sleeper");
	view_free(&view);
}

static void test_a_wakeup_by_another_task_names_its_waker_once(void **state) {
	trace_begin("tree");
	wake(2100, 77, 20, 0, "helper");
	wake(2200, 77, 20, 0, "helper");
	struct view view = trace_end();
	assert_int_equal(view.wakings.count, 2);
	assert_true(view.wakings.items[0].full);
	assert_int_equal(view.wakings.items[0].waker, 77);
	assert_int_equal(view.events.count, 1);
	assert_int_equal(view.events.items[0].kind, RENAME);
	assert_int_equal(view.events.items[0].number, 77);
	assert_string_equal(view.events.items[0].text, "helper");
	view_free(&view);
}

static void test_a_wakeup_by_an_interrupt_is_in_the_columns_whatever_runs(void **state) {
	trace_begin("tree");
	cross(2000, 5, 10, "test", FROM_OUTSIDE);
	wake(2100, 0, 20, CONTEXT_HARDIRQ, "");
	cross(2150, 10, 5, "other", TO_OUTSIDE);
	wake(2200, 0, 20, CONTEXT_SOFTIRQ, "");
	struct view view = trace_end();
	assert_int_equal(view.wakings.count, 2);
	assert_false(view.wakings.items[0].full || view.wakings.items[1].full);
	assert_int_equal(view.wakings.items[0].flags, CONTEXT_HARDIRQ);
	assert_int_equal(view.wakings.items[1].flags, CONTEXT_SOFTIRQ);
	assert_int_equal(view.events.count, 0);
	view_free(&view);
}

// A softirq that is charged to a task, where the trace shows another one on the CPU: columns would lose it.
static void test_a_wakeup_in_a_softirq_keeps_its_task(void **state) {
	trace_begin("system");
	switch_to(0, 2000, 0, 0, 10, "test");
	wake(2100, 30, 20, CONTEXT_SOFTIRQ, "");
	struct view view = trace_end();
	assert_int_equal(view.wakings.count, 1);
	assert_true(view.wakings.items[0].full);
	assert_int_equal(view.wakings.items[0].waker, 30);
	view_free(&view);
}

// A bundle in between must not make the writer forget the time of the last wakeup.
static void test_a_late_wakeup_behind_a_new_bundle_is_a_full_event(void **state) {
	trace_begin("system");
	switch_to(0, 2000, 0, 0, 10, "test");
	size_t count = 0;
	for (; run.output.written + run.output.pending.size < 100000; count++)
		wake(3000 + count, 10, 20, 0, "");
	wake(2500, 10, 20, 0, "");
	struct view view = trace_end();
	assert_int_equal(view.wakings.count, count + 1);
	view_free(&view);
}

// ---- lives ----

static void test_a_child_is_a_process_or_a_thread(void **state) {
	trace_begin("system");
	fork_child(2000, 10, 11, 11, 10);
	fork_child(2100, 10, 12, 10, 1);
	fork_child(2200, 10, 13, 13, 1); // CLONE_PARENT: a sibling
	struct view view = trace_end();
	assert_int_equal(view.events.count, 3);
	static const struct view_event expected[] = {{.tid = 10, .number = 11, .second = 0},
						     {.tid = 10, .number = 12, .second = 0x10000},
						     {.tid = 1, .number = 13}};
	for (size_t i = 0; i < 3; i++) {
		const struct view_event *event = &view.events.items[i];
		assert_int_equal(event->kind, NEWTASK);
		assert_int_equal(event->tid, expected[i].tid);
		assert_int_equal(event->number, expected[i].number);
		assert_int_equal(event->second, expected[i].second);
		assert_string_equal(event->text, "child");
	}
	view_free(&view);
}

static void test_a_new_name_is_used_from_then_on(void **state) {
	trace_begin("system");
	fork_child(2000, 10, 11, 11, 10);
	push((struct event){
		.kind = EVENT_RENAME, .time = 2100, .tid = 11, .pid = 11, .rename = {text("renamed")}});
	switch_to(0, 2200, 0, 0, 11, "");
	struct view view = trace_end();
	assert_int_equal(view.events.items[1].kind, RENAME);
	assert_string_equal(view.events.items[1].text, "renamed");
	assert_switch(&view, 0, 2200, 11, "renamed");
	view_free(&view);
}

static void exec_file(uint64_t time, uint32_t tid, uint32_t old_tid, bool truncated) {
	push((struct event){.kind = EVENT_EXEC,
			    .time = time,
			    .tid = tid,
			    .pid = tid,
			    .exec = {.old_tid = old_tid,
				     .name = text("ls"),
				     .file = text("/bin/ls"),
				     .truncated = truncated,
				     .arguments = strings_add_bytes(run.tables.strings, "ls\0-l", 6)}});
}

static void test_an_exec_is_an_instant_and_a_command_line(void **state) {
	trace_begin("system");
	fork_child(2000, 10, 11, 11, 10);
	exec_file(2100, 11, 11, false);
	struct view view = trace_end();
	const struct view_track_event *exec = instant(&view, "exec /bin/ls");
	assert_int_equal(exec->time, 2100);
	assert_int_equal(tid_of_track(&view, exec->track), 11);
	assert_string_equal(exec->annotations, "file=/bin/ls;arguments=ls -l;cpu=0;");
	const struct view_process *process = &view.processes.items[0];
	assert_int_equal(process->pid, 11);
	assert_int_equal(process->parent, 10);
	assert_int_equal(process->word_count, 2);
	assert_string_equal(process->words[1], "-l");
	view_free(&view);
}

static void test_arguments_that_were_cut_say_so(void **state) {
	trace_begin("system");
	exec_file(2100, 11, 11, true);
	struct view view = trace_end();
	assert_string_equal(instant(&view, "exec /bin/ls")->annotations,
			    "file=/bin/ls;arguments=ls -l ...;cpu=0;");
	view_free(&view);
}

static void test_a_thread_that_calls_exec_goes_on_as_its_process(void **state) {
	trace_begin("system");
	fork_child(2000, 10, 12, 10, 1);
	switch_to(0, 2050, 0, 0, 12, "thread");
	exec_file(2100, 10, 12, false);
	switch_to(0, 2200, 10, STATE_SLEEPING, 0, "");
	struct view view = trace_end();
	assert_int_equal(view.switches.count, 3);
	assert_switch(&view, 1, 2100, 10, "ls");
	assert_int_equal(view.switches.items[1].state, STATE_DEAD);
	assert_switch(&view, 2, 2200, 0, "");
	view_free(&view);
}

static void test_an_exit_reports_its_status_or_signal(void **state) {
	trace_begin("system");
	task_exits(2000, 10, 10, 3 << 8);
	task_exits(2100, 11, 11, 9);
	push((struct event){
		.kind = EVENT_EXIT, .time = 2200, .tid = 12, .pid = 12, .exit = {.unknown = true}});
	struct view view = trace_end();
	assert_string_equal(instant(&view, "exit 3")->annotations, "status=3;cpu=0;");
	assert_string_equal(instant(&view, "killed by signal 9")->annotations, "signal=9;cpu=0;");
	assert_string_equal(instant(&view, "exit")->annotations, "cpu=0;");
	assert_int_equal(tid_of_track(&view, instant(&view, "exit")->track), 12);
	view_free(&view);
}

static void test_idle_and_tasks_of_no_process_have_no_track(void **state) {
	trace_begin("system");
	task_exits(2000, 0, 5, 0);
	task_exits(2100, 5, 0, 0);
	exec_file(2200, 0, 0, false);
	struct view view = trace_end();
	assert_int_equal(view.tracks.count, 1); // the test's
	view_free(&view);
}

static void test_a_process_ends_after_its_last_thread(void **state) {
	trace_begin("system");
	fork_child(2000, 1, 10, 10, 1);
	fork_child(2001, 10, 11, 10, 1);
	switch_to(0, 2010, 0, 0, 10, "main");
	task_exits(2020, 10, 10, 0);
	switch_to(0, 2030, 10, STATE_DEAD, 11, "thread");
	task_exits(2040, 11, 10, 0);
	switch_to(0, 2050, 11, STATE_DEAD, 0, "");
	struct view view = trace_end();
	assert_int_equal(view.events.count, 4);
	for (size_t i = 2; i < 4; i++) {
		assert_int_equal(view.events.items[i].kind, FREE);
		assert_int_equal(view.events.items[i].time, 2051);
	}
	assert_int_equal(view.events.items[2].number, 11);
	assert_int_equal(view.events.items[3].number, 10);
	view_free(&view);
}

static void test_each_life_of_a_thread_id_has_its_track(void **state) {
	trace_begin("system");
	for (uint64_t time = 2000; time < 2300; time += 100) {
		fork_child(time, 1, 10, 10, 1);
		switch_to(0, time + 10, 0, 0, 10, "");
		task_exits(time + 20, 10, 10, 0);
		switch_to(0, time + 30, 10, STATE_DEAD, 0, "");
	}
	struct view view = trace_end();
	assert_int_equal(view.tracks.count, 1 + 3);
	for (size_t i = 1; i < 4; i++)
		assert_int_equal(view.tracks.items[i].tid, 10);
	assert_true(view.tracks.items[1].uuid != view.tracks.items[2].uuid);
	view_free(&view);
}

// ---- interrupts ----

static void test_interrupts_are_pairs(void **state) {
	trace_begin("system");
	irq(EVENT_IRQ_EXIT, 1900, 24, ""); // began before the trace
	irq(EVENT_IRQ_ENTRY, 2000, 24, "eth0");
	irq(EVENT_IRQ_EXIT, 2010, 24, "");
	irq(EVENT_SOFTIRQ_ENTRY, 2020, 3, "");
	irq(EVENT_SOFTIRQ_EXIT, 2030, 3, "");
	struct view view = trace_end();
	static const uint32_t kinds[] = {IRQ_ENTRY, IRQ_EXIT, SOFTIRQ_ENTRY, SOFTIRQ_EXIT};
	assert_int_equal(view.events.count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(view.events.items[i].kind, kinds[i]);
		assert_int_equal(view.events.items[i].time, 2000 + 10 * i);
		assert_int_equal(view.events.items[i].number, i < 2 ? 24 : 3);
	}
	assert_string_equal(view.events.items[0].text, "eth0");
	assert_int_equal(view.events.items[1].second, 1);
	view_free(&view);
}

static void test_an_end_whose_begin_may_be_lost_is_left_out(void **state) {
	trace_begin("system");
	irq(EVENT_IRQ_ENTRY, 2000, 24, "eth0");
	lose(0, 2005, SOURCE_IRQ, 2);
	irq(EVENT_IRQ_EXIT, 2010, 24, "");
	struct view view = trace_end();
	assert_int_equal(view.events.count, 1);
	view_free(&view);
}

// ---- losses ----

static void test_a_loss_is_marked_and_counted_and_no_task_keeps_the_cpu(void **state) {
	trace_begin("system");
	switch_to(1, 2000, 0, 0, 10, "test");
	lose(1, 2500, SOURCE_SCHED, 7);
	switch_to(1, 3000, 20, STATE_SLEEPING, 10, "test");
	struct view view = trace_end();
	const struct view_track_event *mark = instant(&view, "7 sched events lost");
	assert_int_equal(mark->time, 2500);
	assert_string_equal(mark->annotations, "cpu=1;count=7;");
	assert_int_equal(view.dropped, 7);
	assert_int_equal(view.lost_bundles, 1);
	assert_switch(&view, 1, 2001, LOST_TASK + 1, "(events lost)");
	assert_switch(&view, 2, 3000, 10, "test");
	view_free(&view);
}

static void test_a_loss_of_no_cpu_and_no_time_is_marked_at_the_start(void **state) {
	trace_begin("tree");
	lose(CPU_NONE, 0, SOURCE_PROCESS, 2);
	struct view view = trace_end();
	assert_int_equal(instant(&view, "2 process events lost")->time, START);
	assert_string_equal(instant(&view, "2 process events lost")->annotations, "count=2;");
	assert_int_equal(view.dropped, 2);
	view_free(&view);
}

static void test_a_switch_at_the_very_time_of_a_loss_is_kept(void **state) {
	trace_begin("system");
	switch_to(0, 2000, 0, 0, 10, "test");
	lose(0, 2000, SOURCE_SCHED, 1);
	switch_to(0, 2000, 20, STATE_SLEEPING, 21, "next");
	struct view view = trace_end();
	assert_switch(&view, view.switches.count - 1, 2000, 21, "next");
	view_free(&view);
}

// ---- order ----

static void test_full_events_of_a_cpu_never_go_back(void **state) {
	trace_begin("tree");
	fork_child(2000, 10, 11, 10, 1);
	irq(EVENT_IRQ_ENTRY, 1500, 24, "late");
	fork_child(500, 10, 12, 10, 1); // before the start
	task_exits(2000, 11, 10, 0);
	cross(2000, 11, 0, "", FROM_OUTSIDE);
	switch_to(0, 2000, 11, STATE_DEAD, 0, ""); // its end is shown a nanosecond later
	irq(EVENT_IRQ_EXIT, 2000, 24, "");
	struct view view = trace_end();
	for (size_t i = 1; i < view.events.count; i++)
		assert_true(view.events.items[i - 1].time <= view.events.items[i].time);
	view_free(&view);
}

// ---- errors ----

static void test_a_full_disk_stops_the_flow(void **state) {
	trace_begin("system");
	close(run.output.fd);
	run.output.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	if (run.output.fd < 0)
		skip();
	int error = 0;
	for (uint64_t i = 0; i < 2000000 && !error; i++) {
		struct event event = {.kind = EVENT_SWITCH,
				      .time = 2000 + i * 100000,
				      .switched = {.next_tid = (uint32_t)i & 1}};
		event.tid = !event.switched.next_tid;
		error = sink_push(run.sink, &event);
	}
	assert_int_equal(error, -ENOSPC);
	assert_int_equal(sink_finish(run.sink), -ENOSPC);
	sink_destroy(run.sink);
	output_abandon(&run.output);
	tables_free(&run.tables);
}

static void test_writers_are_found_by_name_and_extension(void **state) {
	assert_ptr_equal(writer_by_name("perfetto"), &perfetto_writer);
	assert_null(writer_by_name("perfett"));
	assert_ptr_equal(writer_by_extension("a/b.pb"), &perfetto_writer);
	assert_null(writer_by_extension("a/b.pbx"));
	assert_null(writer_by_extension("pb"));
	assert_null(writer_by_extension(".pb.gz"));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clocks_are_read_together),
		cmocka_unit_test(test_a_trace_without_events_is_good),
		cmocka_unit_test(test_a_trace_that_does_not_say_when_it_begins_begins_with_its_first_event),
		cmocka_unit_test(test_the_kernel_is_named_even_where_it_is_not_known),
		cmocka_unit_test(test_the_test_is_one_slice_with_all_facts),
		cmocka_unit_test(test_a_flood_of_facts_ends),
		cmocka_unit_test(test_switches_are_columns_behind_a_full_one),
		cmocka_unit_test(test_time_outside_belongs_to_a_pseudo_task_of_the_cpu),
		cmocka_unit_test(test_the_task_that_took_the_cpu_is_named_and_the_next_is_not),
		cmocka_unit_test(test_time_in_which_the_test_came_unseen_belongs_to_no_task),
		cmocka_unit_test(test_each_cpu_has_a_pseudo_task_of_its_own),
		cmocka_unit_test(test_no_slice_is_stretched_over_a_gap),
		cmocka_unit_test(test_a_switch_behind_its_time_is_left_out),
		cmocka_unit_test(test_a_long_trace_has_many_bundles_and_all_switches),
		cmocka_unit_test(test_an_event_without_its_cpu_is_dropped),
		cmocka_unit_test(test_a_wakeup_by_the_task_that_runs_is_in_the_columns),
		cmocka_unit_test(test_a_wakeup_by_another_task_names_its_waker_once),
		cmocka_unit_test(test_a_wakeup_by_an_interrupt_is_in_the_columns_whatever_runs),
		cmocka_unit_test(test_a_wakeup_in_a_softirq_keeps_its_task),
		cmocka_unit_test(test_a_late_wakeup_behind_a_new_bundle_is_a_full_event),
		cmocka_unit_test(test_a_child_is_a_process_or_a_thread),
		cmocka_unit_test(test_a_new_name_is_used_from_then_on),
		cmocka_unit_test(test_an_exec_is_an_instant_and_a_command_line),
		cmocka_unit_test(test_arguments_that_were_cut_say_so),
		cmocka_unit_test(test_a_thread_that_calls_exec_goes_on_as_its_process),
		cmocka_unit_test(test_an_exit_reports_its_status_or_signal),
		cmocka_unit_test(test_idle_and_tasks_of_no_process_have_no_track),
		cmocka_unit_test(test_a_process_ends_after_its_last_thread),
		cmocka_unit_test(test_each_life_of_a_thread_id_has_its_track),
		cmocka_unit_test(test_interrupts_are_pairs),
		cmocka_unit_test(test_an_end_whose_begin_may_be_lost_is_left_out),
		cmocka_unit_test(test_a_loss_is_marked_and_counted_and_no_task_keeps_the_cpu),
		cmocka_unit_test(test_a_loss_of_no_cpu_and_no_time_is_marked_at_the_start),
		cmocka_unit_test(test_a_switch_at_the_very_time_of_a_loss_is_kept),
		cmocka_unit_test(test_full_events_of_a_cpu_never_go_back),
		cmocka_unit_test(test_a_full_disk_stops_the_flow),
		cmocka_unit_test(test_writers_are_found_by_name_and_extension),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
