// The reader of Perfetto traces: what our writer wrote is read back, and other traces are read as
// far as our events cover them.
#include "trace_back.h"

#include <errno.h>

// ---- the whole trace ----

static void test_facts_clocks_and_the_beginning_come_first(void **state) {
	struct keeper keeper;
	trace_begin("system");
	push((struct event){.kind = EVENT_CLOCK,
			    .cpu = CPU_NONE,
			    .time = 1001,
			    .clock = {.wall = 5000, .monotonic = 900}});
	a_switch(0, 1100, 0, 10, "test", 120);
	fact("result", "failed: exit status 3");
	back(&keeper);
	assert_int_equal(keeper.events.items[0].kind, EVENT_START);
	assert_int_equal(keeper.events.items[0].time, START);
	assert_int_equal(count_kind(&keeper, EVENT_META), 3);
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_META, 0)->meta.value), "unit");
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_META, 2)->meta.key), "result");
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_META, 2)->meta.value), "failed: exit status 3");
	assert_int_equal(count_kind(&keeper, EVENT_CLOCK), 1);
	assert_int_equal(nth(&keeper, EVENT_CLOCK, 0)->time, 1001);
	assert_int_equal(nth(&keeper, EVENT_CLOCK, 0)->clock.wall, 5000);
	assert_int_equal(nth(&keeper, EVENT_CLOCK, 0)->clock.monotonic, 900);
	assert_int_equal(keeper.events.items[keeper.events.count - 1].kind, EVENT_SWITCH);
	keeper_free(&keeper);
}

// ---- tasks ----

static void test_tasks_have_their_names_and_command_lines(void **state) {
	struct keeper keeper;
	trace_begin("tree");
	a_task(10, 10, "waits", "./waits\0-v", 11);
	a_task(11, 10, "worker", "", 0);
	back(&keeper);
	assert_int_equal(count_kind(&keeper, EVENT_TASK), 2);
	const struct event *process = nth(&keeper, EVENT_TASK, 0), *thread = nth(&keeper, EVENT_TASK, 1);
	assert_int_equal(process->tid, 10);
	assert_int_equal(process->time, START);
	assert_int_equal(process->task.parent_pid, 1);
	assert_string_equal(TEXT(&keeper, process->task.name), "waits");
	assert_int_equal(strings_length(keeper.tables.strings, process->task.command_line), 11);
	assert_memory_equal(TEXT(&keeper, process->task.command_line), "./waits\0-v", 11);
	assert_int_equal(thread->tid, 11);
	assert_int_equal(thread->pid, 10);
	assert_string_equal(TEXT(&keeper, thread->task.name), "worker");
	keeper_free(&keeper);
}

static void a_fork(uint64_t time, uint32_t child, uint32_t child_pid, uint32_t parent_pid) {
	push((struct event){.kind = EVENT_FORK,
			    .cpu = 1,
			    .time = time,
			    .tid = 10,
			    .pid = 10,
			    .fork = {.child_tid = child,
				     .child_pid = child_pid,
				     .parent_pid = parent_pid,
				     .name = text("child")}});
}

static void test_a_fork_distinguishes_process_and_thread(void **state) {
	struct keeper keeper;
	trace_begin("tree");
	a_task(10, 10, "test", "", 0);
	a_fork(1100, 11, 10, 1);
	a_fork(1200, 12, 12, 10);
	push((struct event){.kind = EVENT_RENAME,
			    .cpu = 1,
			    .time = 1300,
			    .tid = 11,
			    .pid = 10,
			    .rename = {.name = text("renamed")}});
	back(&keeper);
	const struct event *thread = nth(&keeper, EVENT_FORK, 0), *process = nth(&keeper, EVENT_FORK, 1);
	assert_int_equal(thread->cpu, 1);
	assert_int_equal(thread->tid, 10);
	assert_int_equal(thread->pid, 10);
	assert_int_equal(thread->fork.child_tid, 11);
	assert_int_equal(thread->fork.child_pid, 10);
	assert_int_equal(thread->fork.parent_pid, 1);
	assert_int_equal(process->fork.child_pid, 12);
	assert_int_equal(process->fork.parent_pid, 10);
	assert_string_equal(TEXT(&keeper, process->fork.name), "child");
	assert_int_equal(nth(&keeper, EVENT_RENAME, 0)->pid, 10);
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_RENAME, 0)->rename.name), "renamed");
	keeper_free(&keeper);
}

static void an_exec(uint64_t time, uint32_t old_tid, const char *arguments, size_t size, bool truncated) {
	push((struct event){.kind = EVENT_EXEC,
			    .cpu = 1,
			    .time = time,
			    .tid = 10,
			    .pid = 10,
			    .exec = {.old_tid = old_tid,
				     .name = text("ls"),
				     .file = text("/bin/ls"),
				     .arguments = strings_add_bytes(run.tables.strings, arguments, size),
				     .truncated = truncated}});
}

static void test_an_exec_is_one_event_again(void **state) {
	struct keeper keeper;
	trace_begin("tree");
	a_task(10, 10, "test", "", 0);
	an_exec(1100, 10, "ls\0a b", 7, true);
	back(&keeper);
	assert_int_equal(count_kind(&keeper, EVENT_TASK), 1);
	const struct event *exec = nth(&keeper, EVENT_EXEC, 0);
	assert_int_equal(exec->cpu, 1);
	assert_int_equal(exec->time, 1100);
	assert_int_equal(exec->tid, 10);
	assert_int_equal(exec->pid, 10);
	assert_int_equal(exec->exec.old_tid, 10);
	assert_true(exec->exec.truncated);
	assert_string_equal(TEXT(&keeper, exec->exec.name), "ls");
	assert_string_equal(TEXT(&keeper, exec->exec.file), "/bin/ls");
	assert_int_equal(strings_length(keeper.tables.strings, exec->exec.arguments), 7);
	assert_memory_equal(TEXT(&keeper, exec->exec.arguments), "ls\0a b", 7);
	keeper_free(&keeper);
}

static void test_a_thread_that_calls_exec_makes_no_switch(void **state) {
	struct keeper keeper;
	trace_begin("tree");
	a_task(10, 10, "test", "", 0);
	a_fork(1050, 11, 10, 1);
	a_switch(1, 1060, 0, 11, "child", 120);
	an_exec(1100, 11, "ls", 3, false);
	a_switch(1, 1200, 10, 0, "swapper/1", 120);
	back(&keeper);
	assert_int_equal(nth(&keeper, EVENT_EXEC, 0)->exec.old_tid, 11);
	assert_int_equal(count_kind(&keeper, EVENT_SWITCH), 2);
	assert_int_equal(nth(&keeper, EVENT_SWITCH, 1)->tid, 10);
	keeper_free(&keeper);
}

static void test_an_exit_keeps_all_its_fields(void **state) {
	static const struct {
		int32_t code;
		bool last, unknown;
	} exits[] = {{3 << 8, true, false}, {9, false, false}, {11 | 0x80, true, false}, {0, false, true}};
	struct keeper keeper;
	trace_begin("tree");
	for (uint32_t i = 0; i < ARRAY_SIZE(exits); i++) {
		a_task(10 + i, 10 + i, "test", "", 0);
		push((struct event){
			.kind = EVENT_EXIT,
			.cpu = i,
			.time = 1100 + i,
			.tid = 10 + i,
			.pid = 10 + i,
			.exit = {.code = exits[i].code, .last = exits[i].last, .unknown = exits[i].unknown}});
	}
	back(&keeper);
	for (uint32_t i = 0; i < ARRAY_SIZE(exits); i++) {
		const struct event *exit = nth(&keeper, EVENT_EXIT, i);
		assert_int_equal(exit->cpu, i);
		assert_int_equal(exit->tid, 10 + i);
		assert_int_equal(exit->exit.code, exits[i].code);
		assert_int_equal(exit->exit.last, exits[i].last);
		assert_int_equal(exit->exit.unknown, exits[i].unknown);
	}
	keeper_free(&keeper);
}

static void test_a_crash_has_its_stack(void **state) {
	struct keeper keeper;
	trace_begin("tree");
	a_task(10, 10, "test", "", 0);
	push((struct event){.kind = EVENT_CRASH,
			    .cpu = 1,
			    .time = 1100,
			    .tid = 10,
			    .pid = 10,
			    .crash = {.signal = 11, .code = -6, .address = 0x10, .instruction = 0x401000}});
	push((struct event){.kind = EVENT_CRASH_STACK,
			    .cpu = CPU_NONE,
			    .time = 5000000,
			    .tid = 10,
			    .crash_stack = {.crash_time = 1100, .text = text("main\nstart\n")}});
	push((struct event){.kind = EVENT_EXIT, .time = 6000000, .tid = 10, .pid = 10});
	back(&keeper);
	const struct event *crash = nth(&keeper, EVENT_CRASH, 0), *stack = nth(&keeper, EVENT_CRASH_STACK, 0);
	assert_int_equal(crash->time, 1100);
	assert_int_equal(crash->cpu, 1);
	assert_int_equal(crash->crash.signal, 11);
	assert_int_equal(crash->crash.code, -6);
	assert_int_equal(crash->crash.address, 0x10);
	assert_int_equal(crash->crash.instruction, 0x401000);
	assert_string_equal(TEXT(&keeper, crash->crash.name), "test");
	assert_int_equal(stack->crash_stack.crash_time, 1100);
	assert_string_equal(TEXT(&keeper, stack->crash_stack.text), "main\nstart\n");
	keeper_free(&keeper);
}

// Recordings without scheduling do not know CPUs either.
static void test_tasks_are_reported_without_their_cpu(void **state) {
	struct keeper keeper;
	trace_begin("system");
	a_task(10, 10, "perf-exec", "", 0);
	push((struct event){.kind = EVENT_RENAME,
			    .cpu = CPU_NONE,
			    .time = 1100,
			    .tid = 10,
			    .pid = 10,
			    .rename = {.name = text("renamed")}});
	push((struct event){.kind = EVENT_EXEC,
			    .cpu = CPU_NONE,
			    .time = 1200,
			    .tid = 10,
			    .pid = 10,
			    .exec = {.name = text("sleep")}});
	push((struct event){.kind = EVENT_FORK,
			    .cpu = CPU_NONE,
			    .time = 1300,
			    .tid = 10,
			    .pid = 10,
			    .fork = {.child_tid = 11, .child_pid = 10, .name = text("thread")}});
	push((struct event){.kind = EVENT_EXIT, .cpu = CPU_NONE, .time = 1400, .tid = 10, .pid = 10});
	back(&keeper);
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_RENAME, 0)->rename.name), "renamed");
	assert_int_equal(nth(&keeper, EVENT_RENAME, 0)->time, 1100);
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_EXEC, 0)->exec.name), "sleep");
	assert_int_equal(nth(&keeper, EVENT_EXEC, 0)->cpu, CPU_NONE);
	assert_int_equal(nth(&keeper, EVENT_TASK, 1)->tid, 11); // its creator is not recorded
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_TASK, 1)->task.name), "thread");
	assert_int_equal(nth(&keeper, EVENT_EXIT, 0)->time, 1400);
	keeper_free(&keeper);
}

// ---- marks ----

static void test_marks_come_back(void **state) {
	static const struct {
		enum mark_type type;
		const char *name;
		double value;
	} marks[] = {{MARK_TEST_BEGIN, "case", 0}, {MARK_SLICE_BEGIN, "phase", 0}, {MARK_INSTANT, "", 0},
		     {MARK_SLICE_END, "", 0},      {MARK_COUNTER, "depth", 2.5},   {MARK_TEST_END, "", 77}};
	struct keeper keeper;
	trace_begin("tree");
	a_task(10, 10, "test", "", 0);
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		a_mark(1100 + i, 10, marks[i].type, marks[i].name, marks[i].value);
	push((struct event){
		.kind = EVENT_MARK,
		.cpu = CPU_NONE,
		.time = 1200,
		.mark = {.name = text("all"), .type = MARK_INSTANT, .no_task = true, .cut = true}});
	back(&keeper);
	assert_int_equal(count_kind(&keeper, EVENT_MARK), ARRAY_SIZE(marks) + 1);
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		const struct event *mark = nth(&keeper, EVENT_MARK, i);
		assert_int_equal(mark->time, 1100 + i);
		assert_int_equal(mark->tid, 10);
		assert_int_equal(mark->pid, 10);
		assert_int_equal(mark->mark.type, marks[i].type);
		assert_string_equal(TEXT(&keeper, mark->mark.name), marks[i].name);
		assert_true(mark->mark.value == marks[i].value);
		assert_false(mark->mark.no_task || mark->mark.cut);
	}
	const struct event *all = nth(&keeper, EVENT_MARK, ARRAY_SIZE(marks));
	assert_true(all->mark.no_task && all->mark.cut);
	keeper_free(&keeper);
}

// ---- samples, generic events, counters ----

static uint32_t two_frames(void) {
	struct stacks *stacks = run.tables.stacks;
	struct frame outer = {
		.symbol = text("main"), .module = text("/usr/bin/test"), .file = text("a.c"), .line = 7};
	struct frame middle = {
		.symbol = text("small"), .module = text("/usr/bin/test"), .kind = FRAME_INLINED};
	struct frame inner = {
		.symbol = text("read"), .module = text("[kernel.kallsyms]"), .kind = FRAME_KERNEL};
	uint32_t stack = stacks_add(stacks, 0, stacks_add_frame(stacks, &outer));
	stack = stacks_add(stacks, stack, stacks_add_frame(stacks, &middle));
	return stacks_add(stacks, stack, stacks_add_frame(stacks, &inner));
}

static void assert_two_frames(const struct keeper *keeper, uint32_t id) {
	const struct stack *stack = stacks_get(keeper->tables.stacks, id);
	const struct frame *frame = stacks_frame(keeper->tables.stacks, stack->frame);
	assert_string_equal(TEXT(keeper, frame->symbol), "read");
	assert_string_equal(TEXT(keeper, frame->module), "[kernel.kallsyms]");
	assert_int_equal(frame->kind, FRAME_KERNEL);
	stack = stacks_get(keeper->tables.stacks, stack->caller);
	assert_int_equal(stacks_frame(keeper->tables.stacks, stack->frame)->kind, FRAME_INLINED);
	stack = stacks_get(keeper->tables.stacks, stack->caller);
	frame = stacks_frame(keeper->tables.stacks, stack->frame);
	assert_string_equal(TEXT(keeper, frame->symbol), "main");
	assert_string_equal(TEXT(keeper, frame->module), "/usr/bin/test");
	assert_string_equal(TEXT(keeper, frame->file), "a.c");
	assert_int_equal(frame->line, 7);
	assert_int_equal(frame->kind, FRAME_USER);
	assert_int_equal(stack->caller, 0);
}

static void test_samples_have_their_stacks(void **state) {
	struct keeper keeper;
	trace_begin("tree");
	a_task(10, 10, "test", "", 0);
	for (uint32_t i = 0; i < 3; i++)
		push((struct event){.kind = EVENT_SAMPLE,
				    .cpu = i ? i : CPU_NONE,
				    .time = 1100 + i,
				    .tid = 10,
				    .pid = 10,
				    .sample = {.weight = 1000 + i,
					       .stack = i < 2 ? two_frames() : 0,
					       .name = text(i == 1 ? "cycles" : "cpu-clock"),
					       .flags = i == 2 ? SAMPLE_BROKEN : 0}});
	back(&keeper);
	for (uint32_t i = 0; i < 3; i++) {
		const struct event *sample = nth(&keeper, EVENT_SAMPLE, i);
		assert_int_equal(sample->cpu, i ? i : CPU_NONE);
		assert_int_equal(sample->time, 1100 + i);
		assert_int_equal(sample->tid, 10);
		assert_int_equal(sample->sample.weight, 1000 + i);
		assert_string_equal(TEXT(&keeper, sample->sample.name), i == 1 ? "cycles" : "cpu-clock");
		assert_int_equal(sample->sample.flags, i == 2 ? SAMPLE_BROKEN : 0);
	}
	assert_two_frames(&keeper, nth(&keeper, EVENT_SAMPLE, 0)->sample.stack);
	assert_two_frames(&keeper, nth(&keeper, EVENT_SAMPLE, 1)->sample.stack);
	assert_int_equal(nth(&keeper, EVENT_SAMPLE, 2)->sample.stack, 0);
	keeper_free(&keeper);
}

static void named_sample(uint64_t time, uint32_t tid, uint32_t pid, const char *comm, uint32_t flags) {
	push((struct event){.kind = EVENT_SAMPLE,
			    .cpu = CPU_NONE,
			    .time = time,
			    .tid = tid,
			    .pid = pid,
			    .sample = {.weight = 1, .comm = text(comm), .flags = flags}});
}

static void test_names_known_only_from_samples_are_restored(void **state) {
	struct keeper keeper;
	trace_begin("system");
	named_sample(1100, 10, 10, "known", 0);
	named_sample(1200, 11, 0, "no process", SAMPLE_NO_PID);
	named_sample(1300, 0, 0, "swapper", 0);
	named_sample(1400, 0, 0, "", SAMPLE_NO_TASK);
	back(&keeper);
	assert_int_equal(nth(&keeper, EVENT_TASK, 0)->tid, 10);
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_TASK, 0)->task.name), "known");
	assert_int_equal(nth(&keeper, EVENT_RENAME, 0)->tid, 11);
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_RENAME, 0)->rename.name), "no process");
	assert_int_equal(nth(&keeper, EVENT_SAMPLE, 1)->sample.flags, SAMPLE_NO_PID);
	assert_string_equal(TEXT(&keeper, nth(&keeper, EVENT_SAMPLE, 2)->sample.comm), "swapper");
	assert_int_equal(nth(&keeper, EVENT_SAMPLE, 2)->sample.flags, 0);
	assert_int_equal(nth(&keeper, EVENT_SAMPLE, 3)->sample.flags, SAMPLE_NO_TASK);
	keeper_free(&keeper);
}

static void test_generic_events_have_their_fields(void **state) {
	static const struct event_field fields[] = {
		{.name = "number", .type = FIELD_UINT, .uint = UINT64_MAX},
		{.name = "below zero", .type = FIELD_INT, .sint = -1},
		{.name = "address", .type = FIELD_HEX, .uint = 0xdead},
		{.name = "half", .type = FIELD_DOUBLE, .real = 0.5},
		{.name = "yes", .type = FIELD_BOOL, .uint = 1},
		{.name = "text", .type = FIELD_TEXT, .text = "abc", .size = 3},
	};
	struct keeper keeper;
	trace_begin("system");
	a_task(10, 10, "test", "", 0);
	for (uint64_t i = 0; i < 2; i++)
		push((struct event){.kind = EVENT_GENERIC,
				    .cpu = CPU_NONE,
				    .time = 2000 + i,
				    .tid = 10,
				    .pid = 10,
				    .generic = {.provider = text("Disk"),
						.name = text("Read"),
						.fields = fields,
						.field_count = ARRAY_SIZE(fields),
						.duration = i * 300,
						.stack = two_frames()}});
	back(&keeper);
	for (size_t i = 0; i < 2; i++) {
		const struct event *event = nth(&keeper, EVENT_GENERIC, i);
		assert_int_equal(event->time, 2000 + i);
		assert_int_equal(event->tid, i ? 0 : 10); // a slice is on a track of its kind
		assert_int_equal(event->generic.duration, i * 300);
		assert_string_equal(TEXT(&keeper, event->generic.provider), "Disk");
		assert_string_equal(TEXT(&keeper, event->generic.name), "Read");
		assert_two_frames(&keeper, event->generic.stack);
		assert_int_equal(event->generic.field_count, ARRAY_SIZE(fields));
		for (size_t j = 0; j < ARRAY_SIZE(fields) - 1; j++) {
			assert_string_equal(event->generic.fields[j].name, fields[j].name);
			assert_int_equal(event->generic.fields[j].type, fields[j].type);
			assert_int_equal(event->generic.fields[j].uint, fields[j].uint);
		}
		assert_memory_equal(event->generic.fields[5].text, "abc", 3);
	}
	keeper_free(&keeper);
}

static void test_counters_know_their_cpu(void **state) {
	struct keeper keeper;
	trace_begin("system");
	for (uint32_t i = 0; i < 2; i++)
		push((struct event){.kind = EVENT_COUNTER,
				    .cpu = i ? 3 : CPU_NONE,
				    .time = 1100 + i,
				    .counter = {.value = 2.5, .name = text("the cpu load")}});
	back(&keeper);
	for (size_t i = 0; i < 2; i++) {
		const struct event *counter = nth(&keeper, EVENT_COUNTER, i);
		assert_int_equal(counter->cpu, i ? 3 : CPU_NONE);
		assert_true(counter->counter.value == 2.5);
		assert_string_equal(TEXT(&keeper, counter->counter.name), "the cpu load");
	}
	keeper_free(&keeper);
}

// ---- order ----

static uint64_t random_state = 1;

static uint32_t dice(uint32_t sides) {
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % sides;
}

// Busy CPUs have many short bundles; a sleeping CPU has one that is as long as the trace and comes
// at its end.
static void test_a_long_trace_of_many_cpus_comes_back_in_order(void **state) {
	enum { CPUS = 5, COUNT = 200000 };
	ARRAY(struct event) pushed = {0};
	uint32_t current[CPUS] = {0};
	uint64_t clock = START;
	struct keeper keeper;
	trace_begin("system");
	for (size_t i = 0; i < COUNT; i++) {
		clock += 1 + dice(1000);
		uint32_t cpu = dice(1000) ? dice(CPUS - 1) : CPUS - 1;
		struct event event = {.kind = EVENT_SWITCH, .cpu = cpu, .time = clock, .tid = current[cpu]};
		if (!dice(50)) {
			event = (struct event){
				.kind = EVENT_SAMPLE, .cpu = CPU_NONE, .time = clock, .tid = 10};
			event.sample.weight = i;
		} else if (dice(3) || !event.tid) {
			current[cpu] = event.switched.next_tid = 1000 * (cpu + 1) +
								 (event.tid + 1 + dice(49)) % 50;
			event.switched.state = (uint16_t)(1u << dice(9));
			event.switched.next_priority = 120;
		} else {
			event.kind = EVENT_WAKING;
			event.waking.wakee_tid = 1 + dice(500);
			event.waking.target_cpu = dice(CPUS);
		}
		push(event);
		array_push(&pushed, event);
	}
	back(&keeper);
	size_t at = 0;
	while (at < keeper.events.count && keeper.events.items[at].kind < EVENT_TASK)
		at++;
	assert_int_equal(keeper.events.count - at, pushed.count);
	for (size_t i = 0; i < pushed.count; i++) {
		const struct event *event = &keeper.events.items[at + i], *was = &pushed.items[i];
		assert_int_equal(event->time, was->time);
		assert_int_equal(event->kind, was->kind);
		assert_int_equal(event->cpu, was->cpu);
		assert_int_equal(event->tid, was->tid);
		if (was->kind == EVENT_SWITCH)
			assert_int_equal(event->switched.next_tid, was->switched.next_tid);
		if (was->kind == EVENT_SAMPLE)
			assert_int_equal(event->sample.weight, was->sample.weight);
	}
	array_free(&pushed);
	keeper_free(&keeper);
}

static void test_events_of_before_that_stand_at_the_end_are_put_in_their_place(void **state) {
	struct keeper keeper;
	trace_begin("tree");
	a_task(10, 10, "test", "", 0);
	push((struct event){.kind = EVENT_CRASH, .time = 2000, .tid = 10, .pid = 10, .crash = {.signal = 6}});
	for (uint64_t i = 0; i < 1000; i++)
		a_mark(10000000 * (i + 1), 10, MARK_INSTANT, "later", 0);
	back(&keeper);
	assert_true(nth(&keeper, EVENT_CRASH, 0) < nth(&keeper, EVENT_MARK, 0));
	assert_int_equal(count_kind(&keeper, EVENT_MARK), 1000);
	keeper_free(&keeper);
}

// ---- damage ----

static void make_small_trace(struct buffer *trace) {
	trace_begin("tree");
	a_task(10, 10, "test", "./test\0-v", 10);
	an_exec(1050, 10, "ls\0-l", 6, false);
	cross(1100, 77, 10, "test", true, false);
	a_mark(1150, 10, MARK_SLICE_BEGIN, "phase", 0);
	push((struct event){.kind = EVENT_SAMPLE,
			    .time = 1160,
			    .tid = 10,
			    .pid = 10,
			    .sample = {.weight = 1, .stack = two_frames(), .name = text("cpu-clock")}});
	cross(1200, 10, 99, "intruder", false, true);
	trace_finish(trace);
}

static void test_a_trace_that_is_cut_off_is_read_as_far_as_it_goes(void **state) {
	struct buffer trace = {0};
	make_small_trace(&trace);
	size_t whole = trace.size, said = 0;
	for (trace.size = 0; trace.size < whole; trace.size++) {
		struct keeper keeper;
		read_trace(&keeper, &trace);
		assert_true(keeper.error == 0 || keeper.error == -EINVAL);
		assert_true(keeper.error == 0 || keeper.events.count == 0);
		said += strstr(keeper.said, "truncated inside a packet") != NULL;
		keeper_free(&keeper);
	}
	assert_true(said > whole / 2);
	buffer_free(&trace);
}

static void test_any_byte_may_be_wrong(void **state) {
	struct buffer trace = {0};
	make_small_trace(&trace);
	for (size_t i = 0; i < trace.size; i++) {
		for (unsigned bit = 0; bit < 8; bit += 3) {
			struct keeper keeper;
			trace.data[i] ^= 1u << bit;
			read_trace(&keeper, &trace);
			trace.data[i] ^= 1u << bit;
			keeper_free(&keeper);
		}
	}
	buffer_free(&trace);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_facts_clocks_and_the_beginning_come_first),
		cmocka_unit_test(test_tasks_have_their_names_and_command_lines),
		cmocka_unit_test(test_a_fork_distinguishes_process_and_thread),
		cmocka_unit_test(test_an_exec_is_one_event_again),
		cmocka_unit_test(test_a_thread_that_calls_exec_makes_no_switch),
		cmocka_unit_test(test_an_exit_keeps_all_its_fields),
		cmocka_unit_test(test_a_crash_has_its_stack),
		cmocka_unit_test(test_tasks_are_reported_without_their_cpu),
		cmocka_unit_test(test_marks_come_back),
		cmocka_unit_test(test_samples_have_their_stacks),
		cmocka_unit_test(test_names_known_only_from_samples_are_restored),
		cmocka_unit_test(test_generic_events_have_their_fields),
		cmocka_unit_test(test_counters_know_their_cpu),
		cmocka_unit_test(test_a_long_trace_of_many_cpus_comes_back_in_order),
		cmocka_unit_test(test_events_of_before_that_stand_at_the_end_are_put_in_their_place),
		cmocka_unit_test(test_a_trace_that_is_cut_off_is_read_as_far_as_it_goes),
		cmocka_unit_test(test_any_byte_may_be_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
