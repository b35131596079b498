// The trace of a case begins with the existing state: the facts about the whole trace, the tasks,
// and the task on each CPU.
#include "flow/case_traces.h"
#include "artifact/artifact.h"
#include "base/log.h"
#include "base/system.h"
#include "event/lives.h"
#include "write/writer.h"

#include <stdio.h>

// A program that begins cases and never ends them must not use up descriptors or disk space.
enum { MOST_OPEN = 64, MOST_CASES = 20000 };

const char *const case_verdict_words[] = {"passed", "failed", "skipped", "failed: did not end"};

struct open_case {
	struct case_trace trace;
	uint32_t tid; // thread that began it
	uint64_t begin;
	char *stem;
	int reserved; // the file that reserves the stem, which the trace takes over; or -errno
	struct output output;
	struct sink *sink;
	bool failed; // could not be written
};

struct splitter {
	struct sink sink;
	struct sink *next;
	struct case_traces *traces;
	struct tables *tables;
	struct lives lives;
	ARRAY(struct event) facts;    // EVENT_META
	ARRAY(struct event) switches; // the last switch of each CPU
	struct event clock;
	ARRAY(struct open_case *) open;
	uint64_t begun, last; // number of cases begun; time of the last event
};

// ---- one case ----

static void push_to(struct open_case *open, const struct event *event) {
	if (!open->failed && sink_push(open->sink, event))
		open->failed = true;
}

struct introduction {
	struct splitter *splitter;
	struct open_case *open;
};

static void push_task(void *context, const struct life *life) {
	struct introduction *to = context;
	struct strings *strings = to->splitter->tables->strings;
	const struct strings *from = to->splitter->lives.strings;
	struct event task = {
		.kind = EVENT_TASK,
		.cpu = CPU_NONE,
		.time = to->open->begin,
		.tid = life->tid,
		.pid = life->pid,
		.task = {.parent_pid = life->parent_pid,
			 .name = strings_add(strings, strings_get(from, life->name)),
			 .command_line = strings_add_bytes(strings, strings_get(from, life->command_line),
							   strings_length(from, life->command_line))}};
	push_to(to->open, &task);
}

static void introduce(struct splitter *splitter, struct open_case *open) {
	struct strings *strings = splitter->tables->strings;
	// Before everything in the case: importers do not keep the order of simultaneous events.
	struct event start = {.kind = EVENT_START, .cpu = CPU_NONE, .time = open->begin - 1};
	push_to(open, &start);
	for (size_t i = 0; i < splitter->facts.count; i++) {
		struct event fact = splitter->facts.items[i];
		if (strcmp(strings_get(strings, fact.meta.key), "test") == 0)
			fact.meta.value = strings_add(strings, open->trace.name);
		push_to(open, &fact);
	}
	if (splitter->clock.time)
		push_to(open, &splitter->clock);
	struct introduction to = {splitter, open};
	lives_each_task(&splitter->lives, push_task, &to);
	for (size_t i = 0; i < splitter->switches.count; i++) {
		struct event now = splitter->switches.items[i];
		now.time = open->begin;
		if (now.kind == EVENT_SWITCH)
			push_to(open, &now);
	}
}

static struct timespec wall_time(const struct event *clock, uint64_t time) {
	uint64_t wall = clock->clock.wall + time - clock->time;
	return (struct timespec){.tv_sec = (time_t)(wall / 1000000000), .tv_nsec = (long)(wall % 1000000000)};
}

static bool open_output(struct splitter *splitter, struct open_case *open) {
	char safe[ARTIFACT_NAME_SIZE], name[ARTIFACT_NAME_SIZE];
	artifact_safe_name(open->trace.name, safe);
	artifact_variant_name(safe, splitter->traces->variant, name);
	open->reserved = artifact_reserve(splitter->traces->folder, name, &open->stem);
	if (open->reserved < 0)
		return false;
	open->trace.path = memory_format("%s.pb", open->stem);
	return output_open_over(&open->output, open->trace.path, &open->reserved) == 0;
}

static void free_case(struct open_case *open) {
	if (open->reserved >= 0)
		close(open->reserved);
	if (open->stem) { // the name is free again
		CLEANUP_FREE char *spool = memory_format("%s.spool", open->stem);
		system_unlink(spool);
	}
	free(open->stem);
	free(open);
}

static void begin_case(struct splitter *splitter, const struct event *event) {
	struct case_traces *traces = splitter->traces;
	if (splitter->open.count == MOST_OPEN || splitter->begun == MOST_CASES) {
		traces->not_made++;
		return;
	}
	const char *name = strings_get(splitter->tables->strings, event->mark.name);
	struct open_case *open = memory_alloc(sizeof(*open));
	open->tid = event->tid;
	open->begin = event->time;
	open->trace.started = wall_time(&splitter->clock, event->time);
	open->trace.name = traces->prefix ? memory_format("%s::%s", traces->prefix, name)
					  : memory_format("%s", name);
	if (!open_output(splitter, open)) {
		traces->not_made++;
		free(open->trace.name);
		free(open->trace.path);
		free_case(open);
		return;
	}
	splitter->begun++;
	open->sink = tally_init(&open->trace.tally, perfetto_writer.open(&open->output, splitter->tables));
	array_push(&splitter->open, open);
	introduce(splitter, open);
}

static void end_case(struct splitter *splitter, size_t index, enum case_verdict verdict) {
	struct open_case *open = splitter->open.items[index];
	struct case_trace *trace = &open->trace;
	struct strings *strings = splitter->tables->strings;
	struct event result = {
		.kind = EVENT_META,
		.cpu = CPU_NONE,
		.meta = {strings_add(strings, "result"), strings_add(strings, case_verdict_words[verdict])}};
	trace->verdict = verdict;
	trace->seconds = (double)(splitter->last - open->begin) / 1e9;
	trace->not_kept = splitter->traces->failed_only &&
			  (verdict == CASE_PASSED || verdict == CASE_SKIPPED);
	push_to(open, &result);
	bool whole = !open->failed && sink_finish(open->sink) == 0 && !open->output.error;
	trace->size = open->output.written + open->output.pending.size;
	sink_destroy(open->sink);
	if (trace->not_kept || !whole || output_commit(&open->output)) {
		output_abandon(&open->output);
		splitter->traces->not_made += !trace->not_kept;
		free(trace->path);
		trace->path = NULL;
	}
	array_push(&splitter->traces->ended, *trace);
	free_case(open);
	memmove(&splitter->open.items[index], &splitter->open.items[index + 1],
		(--splitter->open.count - index) * sizeof(*splitter->open.items));
}

// ---- all of them ----

// The innermost case of a thread; splitter->open.count if it has none.
static size_t case_of(const struct splitter *splitter, uint32_t tid) {
	for (size_t i = splitter->open.count; i-- > 0;)
		if (splitter->open.items[i]->tid == tid)
			return i;
	return splitter->open.count;
}

static void remember_switch(struct splitter *splitter, const struct event *event) {
	if (event->cpu >= CPU_COUNT_MOST)
		return;
	while (splitter->switches.count <= event->cpu)
		array_push(&splitter->switches, (struct event){.kind = EVENT_WATERMARK});
	splitter->switches.items[event->cpu] = *event;
}

static void remember(struct splitter *splitter, const struct event *event) {
	if (event->kind == EVENT_META)
		array_push(&splitter->facts, *event);
	else if (event->kind == EVENT_CLOCK)
		splitter->clock = *event;
	else if (event->kind == EVENT_SWITCH)
		remember_switch(splitter, event);
	lives_learn(&splitter->lives, splitter->tables->strings, event);
}

static void end_by_mark(struct splitter *splitter, const struct event *event) {
	enum { SKIPPED = 77 };
	size_t index = case_of(splitter, event->tid);
	if (index < splitter->open.count)
		end_case(splitter, index,
			 event->mark.value == 0         ? CASE_PASSED
			 : event->mark.value == SKIPPED ? CASE_SKIPPED
							: CASE_FAILED);
}

static int push(struct sink *sink, const struct event *event) {
	struct splitter *splitter = CONTAINER_OF(sink, struct splitter, sink);
	bool of_whole = event->kind == EVENT_WATERMARK || event->kind == EVENT_LATE ||
			event->kind == EVENT_META || event->kind == EVENT_CLOCK || event->kind == EVENT_START;
	if (!of_whole)
		splitter->last = MAX(splitter->last, event->time);
	if (event->kind == EVENT_MARK && event->mark.type == MARK_TEST_BEGIN)
		begin_case(splitter, event);
	// Late facts are about the whole trace, not about a case.
	for (size_t i = 0; event->kind != EVENT_META && i < splitter->open.count; i++)
		push_to(splitter->open.items[i], event);
	if (event->kind == EVENT_MARK && event->mark.type == MARK_TEST_END)
		end_by_mark(splitter, event);
	else if (event->kind == EVENT_EXIT)
		for (size_t index; (index = case_of(splitter, event->tid)) < splitter->open.count;)
			end_case(splitter, index, CASE_NOT_ENDED);
	remember(splitter, event);
	return sink_push(splitter->next, event);
}

static int finish(struct sink *sink) {
	struct splitter *splitter = CONTAINER_OF(sink, struct splitter, sink);
	while (splitter->open.count)
		end_case(splitter, splitter->open.count - 1, CASE_NOT_ENDED);
	if (splitter->traces->not_made)
		log_warning("%llu test case%s no trace of %s own: too many for %s",
			    (unsigned long long)splitter->traces->not_made,
			    splitter->traces->not_made == 1 ? " has" : "s have",
			    splitter->traces->not_made == 1 ? "its" : "their", splitter->traces->folder);
	return sink_finish(splitter->next);
}

static void destroy(struct sink *sink) {
	struct splitter *splitter = CONTAINER_OF(sink, struct splitter, sink);
	while (splitter->open.count) { // the pipeline has failed
		struct open_case *open = splitter->open.items[--splitter->open.count];
		sink_destroy(open->sink);
		output_abandon(&open->output);
		free(open->trace.name);
		free(open->trace.path);
		free_case(open);
	}
	array_free(&splitter->open);
	array_free(&splitter->facts);
	array_free(&splitter->switches);
	lives_free(&splitter->lives);
	sink_destroy(splitter->next);
	free(splitter);
}

static struct sink *open_splitter(void *traces, struct tables *tables, struct sink *next) {
	struct splitter *splitter = memory_alloc(sizeof(*splitter));
	splitter->sink = (struct sink){.push = push, .finish = finish, .destroy = destroy};
	splitter->next = next;
	splitter->traces = traces;
	splitter->tables = tables;
	lives_init(&splitter->lives);
	return &splitter->sink;
}

struct tap case_traces_tap(struct case_traces *traces) {
	return (struct tap){open_splitter, traces};
}

void case_traces_free(struct case_traces *traces) {
	for (size_t i = 0; i < traces->ended.count; i++) {
		free(traces->ended.items[i].name);
		free(traces->ended.items[i].path);
	}
	array_free(&traces->ended);
}
