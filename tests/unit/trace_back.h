// For tests that write a trace and read it back: short forms for events.
#pragma once

#include "trace_keeper.h"
#include "trace_run.h"

// Writes what has been pushed, and reads it back.
static inline void back(struct keeper *keeper) {
	struct buffer trace = {0};
	trace_finish(&trace);
	assert_true(perfetto_reader.probe(trace.data, MIN(trace.size, 4096)));
	read_trace(keeper, &trace);
	assert_int_equal(keeper->error, 0);
	assert_string_equal(keeper->said, "");
	buffer_free(&trace);
}

// ---- short forms for events ----

static inline void a_task(uint32_t tid, uint32_t pid, const char *name, const char *line, size_t size) {
	push((struct event){.kind = EVENT_TASK,
			    .cpu = CPU_NONE,
			    .time = START,
			    .tid = tid,
			    .pid = pid,
			    .task = {.parent_pid = 1,
				     .name = text(name),
				     .command_line = strings_add_bytes(run.tables.strings, line, size)}});
}

static inline void a_switch(uint32_t cpu, uint64_t time, uint32_t tid, uint32_t next, const char *name,
			    int16_t priority) {
	push((struct event){.kind = EVENT_SWITCH,
			    .cpu = cpu,
			    .time = time,
			    .tid = tid,
			    .switched = {.next_tid = next,
					 .next_name = text(name),
					 .state = STATE_SLEEPING,
					 .next_priority = priority}});
}

static inline void a_mark(uint64_t time, uint32_t tid, enum mark_type type, const char *name, double value) {
	push((struct event){.kind = EVENT_MARK,
			    .cpu = CPU_NONE,
			    .time = time,
			    .tid = tid,
			    .pid = 10,
			    .mark = {.name = text(name), .type = type, .value = value}});
}

// A switch at the border of the test.
static inline void cross(uint64_t time, uint32_t tid, uint32_t next, const char *name, bool out,
			 bool next_out) {
	push((struct event){.kind = EVENT_SWITCH,
			    .time = time,
			    .tid = tid,
			    .switched = {.next_tid = next,
					 .next_name = text(name),
					 .outside = out,
					 .next_outside = next_out}});
}
