// The lists of a recording as columns. Only the strings and stacks that something refers to are written,
// under new numbers in the order of their first use: small numbers, and short varints, for what is common.
#include "write/page/runs.h"

#include "event/sample_tree.h"

#include <inttypes.h>
#include <string.h>

// New numbers for old ones. 0 stays 0.
struct renumbered {
	ARRAY(uint32_t) numbers; // by the old one; 0 if none yet
	ARRAY(uint32_t) order;   // old ones by the new one - 1
};

struct writing {
	struct page_trace *trace;
	struct columns *columns;
	struct renumbered strings, stacks, frames;
	struct page_runs runs;
};

static uint32_t renumber(struct renumbered *all, uint32_t old) {
	if (!old)
		return 0;
	while (all->numbers.count <= old)
		array_push(&all->numbers, 0);
	if (!all->numbers.items[old]) {
		array_push(&all->order, old);
		all->numbers.items[old] = (uint32_t)all->order.count;
	}
	return all->numbers.items[old];
}

static void renumbered_free(struct renumbered *all) {
	array_free(&all->numbers);
	array_free(&all->order);
}

static void put_string(struct writing *writing, uint32_t string) {
	columns_uint(writing->columns, renumber(&writing->strings, string));
}

// Callers get their numbers before what they call.
static uint32_t stack_number(struct writing *writing, uint32_t stack) {
	const struct stacks *stacks = writing->trace->tables->stacks;
	ARRAY(uint32_t) new = {0};
	for (uint32_t at = stack; at; at = stacks_get(stacks, at)->caller) {
		if (at < writing->stacks.numbers.count && writing->stacks.numbers.items[at])
			break;
		array_push(&new, at);
	}
	for (size_t i = new.count; i-- > 0;)
		renumber(&writing->stacks, new.items[i]);
	array_free(&new);
	return renumber(&writing->stacks, stack);
}

// Defines `each_NAME()`: a column with one value for each row of a list.
#define COLUMN(columns, name, type, list, row, statement)                                                    \
	do {                                                                                                 \
		columns_begin(columns, name, type);                                                          \
		for (size_t i = 0; i < (list).count; i++) {                                                  \
			__typeof__(&(list).items[0]) row = &(list).items[i];                                 \
			statement;                                                                           \
		}                                                                                            \
		columns_end(columns);                                                                        \
	} while (0)

static uint64_t since(const struct page_trace *trace, uint64_t time) {
	return time - MIN(time, trace->first);
}

// ---- threads and their states ----

static void write_threads(struct writing *writing) {
	struct page_trace *trace = writing->trace;
	struct columns *columns = writing->columns;
	columns_set(columns, "threads", trace->threads.count);
	COLUMN(columns, "tid", COLUMN_DELTA, trace->threads, row, columns_delta(columns, row->tid));
	COLUMN(columns, "pid", COLUMN_DELTA, trace->threads, row, columns_delta(columns, row->pid));
	COLUMN(columns, "name", COLUMN_UINT, trace->threads, row, put_string(writing, row->name));
	COLUMN(columns, "outside", COLUMN_BYTE, trace->threads, row, columns_byte(columns, row->outside));
	COLUMN(columns, "states", COLUMN_UINT, trace->threads, row, columns_uint(columns, row->states.count));
	COLUMN(columns, "first", COLUMN_DELTA, trace->threads, row,
	       columns_delta(columns, row->states.count ? since(trace, row->states.items[0].start) : 0));
}

// One column over all states of all threads for which `which` has the bit of the kind.
static void write_state_column(struct writing *writing, const char *name, enum column_type type,
			       unsigned which,
			       void (*put)(struct writing *, const struct page_thread *, size_t)) {
	struct page_trace *trace = writing->trace;
	columns_begin(writing->columns, name, type);
	for (size_t i = 0; i < trace->threads.count; i++) {
		const struct page_thread *thread = &trace->threads.items[i];
		for (size_t j = 0; j < thread->states.count; j++)
			if (which >> (thread->states.items[j].kind & PAGE_STATE_KIND) & 1)
				put(writing, thread, j);
	}
	columns_end(writing->columns);
}

// The times at which CPUs changed hands, and for each running state which of them is its own.
static void write_runs(struct writing *writing) {
	struct columns *columns = writing->columns;
	struct page_runs *runs = &writing->runs;
	page_runs_init(runs, writing->trace);
	uint64_t count = 0;
	columns_set(columns, "cpus", runs->cpus.count);
	COLUMN(columns, "number", COLUMN_UINT, runs->cpus, row, columns_uint(columns, row->cpu));
	COLUMN(columns, "turns", COLUMN_UINT, runs->cpus, row, {
		columns_uint(columns, row->times.count);
		count += row->times.count;
	});
	columns_set(columns, "turns", count);
	columns_begin(columns, "time", COLUMN_DELTA);
	for (size_t i = 0; i < runs->cpus.count; i++)
		for (size_t j = 0; j < runs->cpus.items[i].times.count; j++)
			columns_delta(columns, since(writing->trace, runs->cpus.items[i].times.items[j]));
	columns_end(columns);
	columns_set(columns, "runs", runs->turns.count);
	COLUMN(columns, "turn", COLUMN_UINT, runs->turns, row, columns_uint(columns, *row));
}

// The durations that do not follow from the turns: a run that has one, and the state before it, have none.
static void write_durations(struct writing *writing) {
	const struct page_trace *trace = writing->trace;
	const uint32_t *turns = writing->runs.turns.items;
	size_t run = 0;
	columns_begin(writing->columns, "duration", COLUMN_UINT);
	for (size_t i = 0; i < trace->threads.count; i++) {
		const struct page_thread *thread = &trace->threads.items[i];
		for (size_t j = 0; j < thread->states.count; j++) {
			const struct page_state *state = &thread->states.items[j];
			bool runs = page_state_runs(state),
			     before = !runs && j + 1 < thread->states.count && page_state_runs(state + 1);
			if (!(runs || before) || !turns[run])
				columns_uint(writing->columns,
					     page_state_end(trace, thread, j) - state->start);
			run += runs;
		}
	}
	columns_end(writing->columns);
}

static void put_kind(struct writing *writing, const struct page_thread *thread, size_t state) {
	columns_byte(writing->columns, thread->states.items[state].kind);
}

static void put_cpu(struct writing *writing, const struct page_thread *thread, size_t state) {
	columns_uint(writing->columns, thread->states.items[state].cpu);
}

static void put_what(struct writing *writing, const struct page_thread *thread, size_t state) {
	columns_uint(writing->columns, thread->states.items[state].what);
}

static void put_reason(struct writing *writing, const struct page_thread *thread, size_t state) {
	columns_byte(writing->columns, thread->states.items[state].reason);
}

static void put_wait_stack(struct writing *writing, const struct page_thread *thread, size_t state) {
	columns_uint(writing->columns, stack_number(writing, thread->states.items[state].what));
}

// The kernel measures a wait inside the events that begin and end it: differences are small.
static void put_more(struct writing *writing, const struct page_thread *thread, size_t state) {
	const struct page_trace *trace = writing->trace;
	uint64_t number = (uint64_t)(thread - trace->threads.items) << 32 | state;
	const uint64_t *more = map_get(&trace->wait_weights, number);
	if (thread->states.items[state].kind & PAGE_STATE_SAMPLED)
		columns_uint(writing->columns, more ? *more << 1 ^ (uint64_t)((int64_t)*more >> 63) : 0);
}

static void write_states(struct writing *writing) {
	enum {
		ALL = (1 << PAGE_STATE_COUNT) - 1,
		RUNS = 1 << PAGE_RUNS,
		READY = 1 << PAGE_READY,
		WAITS = ALL & ~(RUNS | READY | 1 << PAGE_PREEMPTED | 1 << PAGE_DEAD | 1 << PAGE_ZOMBIE)
	};
	uint64_t count = 0;
	for (size_t i = 0; i < writing->trace->threads.count; i++)
		count += writing->trace->threads.items[i].states.count;
	columns_set(writing->columns, "states", count);
	write_state_column(writing, "kind", COLUMN_BYTE, ALL, put_kind);
	write_durations(writing);
	write_state_column(writing, "cpu", COLUMN_UINT, RUNS, put_cpu);
	write_state_column(writing, "waker", COLUMN_UINT, READY, put_what);
	write_state_column(writing, "context", COLUMN_UINT, READY, put_cpu);
	write_state_column(writing, "stack", COLUMN_UINT, WAITS, put_wait_stack);
	write_state_column(writing, "reason", COLUMN_BYTE, WAITS, put_reason);
	write_state_column(writing, "more", COLUMN_UINT, WAITS | READY, put_more);
}

// ---- lists ----

static void write_samples(struct writing *writing) {
	struct page_trace *trace = writing->trace;
	struct columns *columns = writing->columns;
	columns_set(columns, "kinds", trace->sample_kinds.count);
	COLUMN(columns, "name", COLUMN_UINT, trace->sample_kinds, row, put_string(writing, row->name));
	COLUMN(columns, "flags", COLUMN_UINT, trace->sample_kinds, row, columns_uint(columns, row->flags));
	columns_set(columns, "samples", trace->samples.count);
	COLUMN(columns, "time", COLUMN_DELTA, trace->samples, row,
	       columns_delta(columns, since(trace, row->time)));
	COLUMN(columns, "thread", COLUMN_UINT, trace->samples, row, columns_uint(columns, row->thread));
	COLUMN(columns, "stack", COLUMN_UINT, trace->samples, row,
	       columns_uint(columns, stack_number(writing, row->stack)));
	COLUMN(columns, "weight", COLUMN_UINT, trace->samples, row, columns_uint(columns, row->weight));
	COLUMN(columns, "kind", COLUMN_UINT, trace->samples, row, columns_uint(columns, row->kind));
}

static void write_marks(struct writing *writing) {
	struct page_trace *trace = writing->trace;
	struct columns *columns = writing->columns;
	columns_set(columns, "marks", trace->marks.count);
	COLUMN(columns, "time", COLUMN_DELTA, trace->marks, row,
	       columns_delta(columns, since(trace, row->from)));
	COLUMN(columns, "duration", COLUMN_UINT, trace->marks, row,
	       columns_uint(columns, row->to - row->from));
	COLUMN(columns, "thread", COLUMN_UINT, trace->marks, row, columns_uint(columns, row->thread));
	COLUMN(columns, "name", COLUMN_UINT, trace->marks, row, put_string(writing, row->name));
	COLUMN(columns, "type", COLUMN_BYTE, trace->marks, row, columns_byte(columns, row->type));
	COLUMN(columns, "value", COLUMN_REAL, trace->marks, row, columns_real(columns, row->value));
}

static void write_counters(struct writing *writing) {
	struct page_trace *trace = writing->trace;
	struct columns *columns = writing->columns;
	uint64_t count = 0;
	for (size_t i = 0; i < trace->series.count; i++)
		count += trace->series.items[i].points.count;
	columns_set(columns, "series", trace->series.count);
	COLUMN(columns, "provider", COLUMN_UINT, trace->series, row, put_string(writing, row->provider));
	COLUMN(columns, "name", COLUMN_UINT, trace->series, row, put_string(writing, row->name));
	COLUMN(columns, "unit", COLUMN_UINT, trace->series, row, put_string(writing, row->unit));
	COLUMN(columns, "cpu", COLUMN_UINT, trace->series, row,
	       columns_uint(columns, row->cpu == CPU_NONE ? 0 : row->cpu + 1));
	COLUMN(columns, "tid", COLUMN_UINT, trace->series, row, columns_uint(columns, row->tid));
	COLUMN(columns, "adds", COLUMN_BYTE, trace->series, row, columns_byte(columns, row->adds));
	COLUMN(columns, "points", COLUMN_UINT, trace->series, row, columns_uint(columns, row->points.count));
	columns_set(columns, "points", count);
	columns_begin(columns, "time", COLUMN_DELTA);
	for (size_t i = 0; i < trace->series.count; i++)
		for (size_t j = 0; j < trace->series.items[i].points.count; j++)
			columns_delta(columns, since(trace, trace->series.items[i].points.items[j].time));
	columns_end(columns);
	columns_begin(columns, "value", COLUMN_REAL);
	for (size_t i = 0; i < trace->series.count; i++)
		for (size_t j = 0; j < trace->series.items[i].points.count; j++)
			columns_real(columns, trace->series.items[i].points.items[j].value);
	columns_end(columns);
}

static void write_path(struct writing *writing) {
	struct page_trace *trace = writing->trace;
	struct columns *columns = writing->columns;
	columns_set(columns, "path", trace->path.count);
	COLUMN(columns, "time", COLUMN_DELTA, trace->path, row,
	       columns_delta(columns, since(trace, row->from)));
	COLUMN(columns, "duration", COLUMN_UINT, trace->path, row,
	       columns_uint(columns, row->to - row->from));
	COLUMN(columns, "thread", COLUMN_UINT, trace->path, row, columns_uint(columns, row->thread));
	COLUMN(columns, "name", COLUMN_UINT, trace->path, row, put_string(writing, row->name));
	columns_set(columns, "lost", trace->lost.count);
	COLUMN(columns, "time", COLUMN_DELTA, trace->lost, row,
	       columns_delta(columns, since(trace, row->time)));
	COLUMN(columns, "count", COLUMN_UINT, trace->lost, row, columns_uint(columns, row->count));
	COLUMN(columns, "source", COLUMN_UINT, trace->lost, row, put_string(writing, row->source));
}

static void write_events(struct writing *writing) {
	struct page_trace *trace = writing->trace;
	struct columns *columns = writing->columns;
	columns_set(columns, "events", trace->events.count);
	COLUMN(columns, "time", COLUMN_DELTA, trace->events, row,
	       columns_delta(columns, since(trace, row->time)));
	COLUMN(columns, "duration", COLUMN_UINT, trace->events, row, columns_uint(columns, row->duration));
	COLUMN(columns, "thread", COLUMN_UINT, trace->events, row, columns_uint(columns, row->thread));
	COLUMN(columns, "cpu", COLUMN_UINT, trace->events, row,
	       columns_uint(columns, row->cpu == CPU_NONE ? 0 : row->cpu + 1));
	COLUMN(columns, "name", COLUMN_UINT, trace->events, row, put_string(writing, row->name));
	COLUMN(columns, "text", COLUMN_UINT, trace->events, row, put_string(writing, row->text));
}

static void write_facts(struct writing *writing) {
	struct page_trace *trace = writing->trace;
	struct columns *columns = writing->columns;
	columns_set(columns, "facts", trace->facts.count);
	COLUMN(columns, "key", COLUMN_UINT, trace->facts, row, put_string(writing, row->key));
	COLUMN(columns, "value", COLUMN_UINT, trace->facts, row, put_string(writing, row->value));
	columns_set(columns, "trace", 1);
	columns_begin(columns, "last", COLUMN_UINT);
	columns_uint(columns, since(trace, trace->last));
	columns_end(columns);
	columns_begin(columns, "start", COLUMN_DELTA); // of the recording; may be before the first event
	columns_delta(columns, trace->start ? trace->start - trace->first : 0);
	columns_end(columns);
	columns_begin(columns, "origin", COLUMN_TEXT); // of the first event; more than a double can hold
	CLEANUP_FREE char *origin = memory_format("%" PRIu64, trace->first);
	columns_text(columns, origin, strlen(origin));
	columns_end(columns);
	columns_begin(columns, "left", COLUMN_UINT);
	columns_uint(columns, trace->events_left_out);
	columns_end(columns);
}

// ---- what all refer to ----

static void write_stacks(struct writing *writing) {
	struct tables *tables = writing->trace->tables;
	struct columns *columns = writing->columns;
	static const struct sample_options plain = {0};
	columns_set(columns, "stacks", writing->stacks.order.count);
	COLUMN(columns, "caller", COLUMN_DELTA, writing->stacks.order, row,
	       columns_delta(columns, renumber(&writing->stacks, stacks_get(tables->stacks, *row)->caller)));
	COLUMN(columns, "frame", COLUMN_UINT, writing->stacks.order, row,
	       columns_uint(columns,
			    renumber(&writing->frames, stacks_get(tables->stacks, *row)->frame + 1)));
	columns_set(columns, "frames", writing->frames.order.count);
	COLUMN(columns, "name", COLUMN_UINT, writing->frames.order, row, {
		const struct frame *frame = stacks_frame(tables->stacks, *row - 1);
		put_string(writing, sample_frame_name(tables, frame, &plain, false));
	});
	COLUMN(columns, "module", COLUMN_UINT, writing->frames.order, row,
	       put_string(writing, stacks_frame(tables->stacks, *row - 1)->module));
	COLUMN(columns, "file", COLUMN_UINT, writing->frames.order, row,
	       put_string(writing, stacks_frame(tables->stacks, *row - 1)->file));
	COLUMN(columns, "line", COLUMN_UINT, writing->frames.order, row,
	       columns_uint(columns, stacks_frame(tables->stacks, *row - 1)->line));
	COLUMN(columns, "kind", COLUMN_BYTE, writing->frames.order, row,
	       columns_byte(columns, (uint8_t)stacks_frame(tables->stacks, *row - 1)->kind));
}

static void write_texts(struct writing *writing) {
	const struct strings *strings = writing->trace->tables->strings;
	const struct page_reasons *reasons = &writing->trace->reasons;
	struct columns *columns = writing->columns;
	columns_set(columns, "reasons", reasons->count);
	columns_begin(columns, "name", COLUMN_TEXT);
	for (size_t i = 0; i < reasons->count; i++)
		columns_text(columns, reasons->names[i], strlen(reasons->names[i]));
	columns_end(columns);
	columns_begin(columns, "colour", COLUMN_BYTE);
	for (size_t i = 0; i < reasons->count; i++)
		columns_byte(columns, reasons->colours[i]);
	columns_end(columns);
	columns_set(columns, "strings", writing->strings.order.count);
	COLUMN(columns, "text", COLUMN_TEXT, writing->strings.order, row,
	       columns_text(columns, strings_get(strings, *row), strings_length(strings, *row)));
}

void page_trace_columns(struct page_trace *trace, struct columns *columns) {
	struct writing writing = {.trace = trace, .columns = columns};
	write_threads(&writing);
	write_runs(&writing);
	write_states(&writing);
	write_samples(&writing);
	write_marks(&writing);
	write_counters(&writing);
	write_path(&writing);
	write_events(&writing);
	write_facts(&writing);
	write_stacks(&writing);
	write_texts(&writing);
	renumbered_free(&writing.strings);
	renumbered_free(&writing.stacks);
	renumbered_free(&writing.frames);
	page_runs_free(&writing.runs);
}
