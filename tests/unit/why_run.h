// Recordings that are made up in a test, and questions about them.
#pragma once

#include "unit.h"

#include "analyse/why.h"

#include <stdio.h>
#include <string.h>

struct run {
	struct tables tables;
	struct timeline timeline;
	struct sink *sink;
	struct why why;
};

static inline void begin(struct run *run) {
	*run = (struct run){.tables = tables_new()};
	run->sink = timeline_init(&run->timeline, &run->tables);
}

static inline void end(struct run *run) {
	why_free(&run->why);
	timeline_free(&run->timeline);
	tables_free(&run->tables);
}

static inline void push(struct run *run, struct event event) {
	assert_int_equal(sink_push(run->sink, &event), 0);
}

static inline uint32_t text(struct run *run, const char *words) {
	return strings_add(run->tables.strings, words);
}

// ---- events ----

static inline void executes(struct run *run, uint64_t time, uint32_t tid) {
	push(run, (struct event){.kind = EVENT_EXEC,
				 .time = time,
				 .tid = tid,
				 .pid = tid,
				 .exec = {.old_tid = tid, .name = text(run, "test")}});
}

static inline void switches(struct run *run, uint64_t time, uint32_t cpu, uint32_t from,
			    enum task_state state, uint32_t to) {
	push(run, (struct event){.kind = EVENT_SWITCH,
				 .time = time,
				 .cpu = cpu,
				 .tid = from,
				 .switched = {.next_tid = to, .state = (uint16_t)state}});
}

static inline void wakes(struct run *run, uint64_t time, uint32_t cpu, uint32_t waker, uint32_t wakee,
			 uint16_t context) {
	push(run, (struct event){.kind = EVENT_WAKING,
				 .time = time,
				 .cpu = cpu,
				 .tid = waker,
				 .waking = {.wakee_tid = wakee, .context = context}});
}

static inline void creates(struct run *run, uint64_t time, uint32_t parent, uint32_t child,
			   const char *name) {
	push(run, (struct event){.kind = EVENT_FORK,
				 .time = time,
				 .tid = parent,
				 .pid = 10,
				 .fork = {.child_tid = child, .child_pid = 10, .name = text(run, name)}});
}

// The names from outside to inside; those of the kernel begin with "k:".
static inline uint32_t stack_of(struct run *run, const char *names) {
	char *copy = memory_string(names), *rest = copy, *name;
	uint32_t stack = 0;
	while ((name = strsep(&rest, " "))) {
		bool kernel = strncmp(name, "k:", 2) == 0, library = strncmp(name, "c:", 2) == 0;
		struct frame frame = {.symbol = text(run, kernel || library ? name + 2 : name),
				      .module = text(run, library ? "/lib/libc.so.6" : "/test"),
				      .kind = kernel ? FRAME_KERNEL : FRAME_USER};
		stack = stacks_add(run->tables.stacks, stack, stacks_add_frame(run->tables.stacks, &frame));
	}
	free(copy);
	return stack;
}

// A wait that is over at this time, and how long it was.
static inline void waited(struct run *run, uint64_t time, uint32_t tid, uint64_t duration,
			  const char *names) {
	push(run, (struct event){.kind = EVENT_SAMPLE,
				 .time = time,
				 .tid = tid,
				 .sample = {.name = text(run, EVENT_OFF_CPU),
					    .weight = duration,
					    .stack = stack_of(run, names)}});
}

static inline void sampled(struct run *run, uint64_t time, uint32_t tid, const char *names) {
	push(run,
	     (struct event){
		     .kind = EVENT_SAMPLE,
		     .time = time,
		     .tid = tid,
		     .sample = {.name = text(run, "cycles"), .weight = 1, .stack = stack_of(run, names)}});
}

// ---- questions ----

// Takes the path as events: they follow each other, and a flow that begins also ends.
struct path_events {
	struct sink sink;
	uint64_t at;
	uint32_t last_tid, count;
	bool goes;
	char names[200];
	const struct strings *strings;
};

static inline int take_path(struct sink *sink, const struct event *event) {
	struct path_events *events = CONTAINER_OF(sink, struct path_events, sink);
	assert_int_equal(event->kind, EVENT_PATH);
	assert_int_equal(event->path.from, events->at);
	assert_true(event->time > event->path.from);
	assert_int_equal(event->path.comes, events->goes);
	assert_int_equal(events->goes, events->count && event->tid != events->last_tid);
	size_t used = strlen(events->names);
	snprintf(events->names + used, sizeof(events->names) - used, "%s|",
		 strings_get(events->strings, event->path.name));
	events->at = event->time;
	events->last_tid = event->tid;
	events->goes = event->path.goes;
	events->count++;
	return 0;
}

static inline struct path_events push_path(const struct why *why) {
	struct path_events events = {
		.sink = {.push = take_path}, .at = why->from, .strings = why->timeline->tables->strings};
	assert_int_equal(why_push_path(why, &events.sink), 0);
	assert_int_equal(events.at, why->to);
	assert_false(events.goes);
	return events;
}

static inline void assert_whole(const struct why *why) {
	uint64_t sum = 0, at = why->from;
	for (size_t i = 0; i < why->segments.count; i++) {
		sum += why->segments.items[i].ns;
		assert_true(!i || why->segments.items[i].ns <= why->segments.items[i - 1].ns);
	}
	assert_int_equal(sum, why->to - why->from);
	for (size_t i = 0; i < why->path.count; i++) {
		assert_true(why->path.items[i].to > at);
		assert_true(why->path.items[i].segment < why->segments.count);
		at = why->path.items[i].to;
	}
	assert_int_equal(at, why->to);
	push_path(why);
}

static inline void ask(struct run *run) {
	assert_int_equal(sink_finish(run->sink), 0);
	struct why_question question = {0};
	assert_int_equal(why_find(&run->why, &run->timeline, &question), 0);
	assert_whole(&run->why);
}

static inline const struct why_segment *find(const struct run *run, uint32_t tid, enum path_state state,
					     enum reason reason) {
	for (size_t i = 0; i < run->why.segments.count; i++) {
		const struct why_segment *segment = &run->why.segments.items[i];
		if (timeline_thread(&run->timeline, segment->thread)->tid == tid && segment->state == state &&
		    segment->reason == reason)
			return segment;
	}
	return NULL;
}

static inline void assert_segment(const struct run *run, uint32_t tid, enum path_state state,
				  enum reason reason, const char *function, uint64_t ns) {
	const struct why_segment *segment = find(run, tid, state, reason);
	assert_non_null(segment);
	assert_int_equal(segment->ns, ns);
	const char *found = why_place(&run->why, segment->own).function;
	assert_string_equal(found ? found : "", function);
}

#define KERNEL_FUTEX " k:do_futex k:futex_wait k:schedule"
