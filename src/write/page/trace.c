#include "write/page/trace.h"

#include "base/text.h"
#include "event/blocked.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_EVENTS = 200 * 1000, MOST_SERIES = 4096 };

const char *const page_state_names[PAGE_STATE_COUNT] = {
#define X(id, name) [PAGE_##id] = name,
	PAGE_STATES(X)
#undef X
};

// ---- threads ----

static uint32_t add_thread(struct page_trace *trace, uint32_t tid) {
	array_push(&trace->threads, (struct page_thread){.tid = tid});
	uint32_t thread = (uint32_t)trace->threads.count - 1;
	*map_put(&trace->by_tid, tid) = thread + 1;
	return thread;
}

static uint32_t thread_of(struct page_trace *trace, uint32_t tid) {
	const uint64_t *known = map_get(&trace->by_tid, tid);
	return known ? (uint32_t)*known - 1 : add_thread(trace, tid);
}

static struct page_thread *thread_at(const struct page_trace *trace, uint32_t thread) {
	return &trace->threads.items[thread];
}

static struct page_state *last_state(const struct page_thread *thread) {
	return thread->states.count ? &thread->states.items[thread->states.count - 1] : NULL;
}

uint64_t page_state_end(const struct page_trace *trace, const struct page_thread *thread, size_t state) {
	return state + 1 < thread->states.count ? thread->states.items[state + 1].start
						: MAX(trace->last, thread->states.items[state].start);
}

// ---- states ----

// The first bit that is set decides, as for Perfetto.
static uint8_t kind_of_state(uint16_t state) {
	static const struct {
		uint16_t bit;
		uint8_t kind;
	} kinds[] = {
		{STATE_PREEMPTED, PAGE_PREEMPTED}, {STATE_SLEEPING, PAGE_SLEEPS}, {STATE_DISK, PAGE_DISK},
		{STATE_STOPPED, PAGE_STOPPED},     {STATE_TRACED, PAGE_TRACED},   {STATE_DEAD, PAGE_DEAD},
		{STATE_ZOMBIE, PAGE_ZOMBIE},       {STATE_PARKED, PAGE_PARKED},   {STATE_IDLE, PAGE_IDLE}};
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (state & kinds[i].bit)
			return kinds[i].kind;
	return PAGE_READY;
}

static void add_state(struct page_thread *thread, struct page_state state) {
	if (thread->tid)
		array_push(&thread->states, state);
}

static void take_switch(struct page_trace *trace, const struct event *event) {
	uint32_t before = thread_of(trace, event->tid), next = thread_of(trace, event->switched.next_tid);
	trace->switches++;
	struct page_thread *leaves = thread_at(trace, before), *comes = thread_at(trace, next);
	struct page_state *last = last_state(leaves);
	if (event->pid && !leaves->pid)
		leaves->pid = event->pid;
	if (event->switched.next_name)
		comes->name = event->switched.next_name;
	leaves->outside |= event->switched.outside;
	comes->outside |= event->switched.next_outside;
	if (last && last->kind != PAGE_RUNS)
		last->kind |= PAGE_STATE_LOST;
	add_state(leaves, (struct page_state){.start = event->time,
					      .kind = kind_of_state(event->switched.state),
					      .reason = (uint8_t)event->switched.wait_reason});
	add_state(comes,
		  (struct page_state){.start = event->time, .kind = PAGE_RUNS, .cpu = (uint16_t)event->cpu});
}

static void take_waking(struct page_trace *trace, const struct event *event) {
	uint32_t wakee = thread_of(trace, event->waking.wakee_tid), waker = thread_of(trace, event->tid);
	struct page_thread *thread = thread_at(trace, wakee);
	const struct page_state *last = last_state(thread);
	if (event->waking.waker_name && event->tid)
		thread_at(trace, waker)->name = event->waking.waker_name;
	if (last && (last->kind == PAGE_READY || last->kind == PAGE_RUNS))
		return;
	add_state(thread, (struct page_state){.start = event->time,
					      .kind = PAGE_READY,
					      .what = event->tid ? waker + 1 : 0,
					      .cpu = event->waking.context});
}

static void take_fork(struct page_trace *trace, const struct event *event) {
	uint32_t parent = thread_of(trace, event->tid), child = add_thread(trace, event->fork.child_tid);
	struct page_thread *thread = thread_at(trace, child);
	thread->pid = event->fork.child_pid ? event->fork.child_pid : event->pid;
	thread->name = event->fork.name ? event->fork.name : thread_at(trace, parent)->name;
	add_state(thread, (struct page_state){.start = event->time, .kind = PAGE_READY, .what = parent + 1});
}

static void take_task(struct page_trace *trace, const struct event *event) {
	struct page_thread *thread = thread_at(trace, thread_of(trace, event->tid));
	thread->pid = event->pid;
	if (event->task.name)
		thread->name = event->task.name;
}

static void take_exec(struct page_trace *trace, const struct event *event) {
	uint32_t old = event->exec.old_tid;
	uint32_t number = thread_of(trace, old && old != event->tid ? old : event->tid);
	struct page_thread *thread = thread_at(trace, number);
	if (thread->tid != event->tid) {
		map_delete(&trace->by_tid, thread->tid);
		thread->tid = event->tid;
		*map_put(&trace->by_tid, event->tid) = number + 1;
	}
	thread->pid = event->pid ? event->pid : thread->pid;
	thread->name = event->exec.name ? event->exec.name : thread->name;
}

static void take_rename(struct page_trace *trace, const struct event *event) {
	thread_at(trace, thread_of(trace, event->tid))->name = event->rename.name;
}

// ---- samples ----

// The stack of a wait comes when the thread has the CPU again, before or after that switch.
// Returns the number of the wait + 1.
static uint32_t add_wait_stack(struct page_thread *thread, const struct event *event) {
	for (size_t i = thread->states.count, looked = 0; i-- > 0 && looked < 4; looked++) {
		struct page_state *state = &thread->states.items[i];
		uint8_t kind = state->kind & PAGE_STATE_KIND;
		if (kind == PAGE_RUNS && state->start < event->time && looked)
			return 0;
		if (kind < PAGE_SLEEPS)
			continue;
		if (!state->what)
			state->what = event->sample.stack;
		return (uint32_t)i + 1;
	}
	return 0;
}

static uint32_t sample_kind(struct page_trace *trace, const struct event *event) {
	uint32_t flags = event->sample.flags & (SAMPLE_BASELINE | SAMPLE_METRIC | SAMPLE_AT_EVENT);
	uint64_t *known = map_put(&trace->kinds_by_name, (uint64_t)flags << 32 | event->sample.name);
	if (!*known) {
		array_push(&trace->sample_kinds,
			   (struct page_sample_kind){.name = event->sample.name, .flags = flags});
		*known = trace->sample_kinds.count;
	}
	return (uint32_t)*known - 1;
}

// Of the run to compare with only the sums matter, for each stack and name of a thread.
static void take_base_sample(struct page_trace *trace, const struct event *event) {
	const uint64_t *named = map_get(&trace->base_names, event->tid);
	uint32_t name = event->sample.comm ? event->sample.comm : named ? (uint32_t)*named : 0;
	uint64_t *thread = map_put(&trace->base_threads, name);
	if (!*thread) {
		array_push(&trace->threads, (struct page_thread){.name = name, .outside = true});
		*thread = trace->threads.count;
	}
	uint32_t kind = sample_kind(trace, event);
	uint64_t key = hash_u64(hash_u64((uint64_t)kind << 32 | *thread) ^ event->sample.stack);
	uint64_t *known = map_put(&trace->base_samples, key);
	if (!*known) {
		array_push(&trace->samples, (struct page_sample){.thread = (uint32_t)*thread - 1,
								 .stack = event->sample.stack,
								 .kind = kind});
		*known = trace->samples.count;
	}
	trace->samples.items[*known - 1].weight += event->sample.weight;
}

static void learn_base_name(struct page_trace *trace, const struct event *event) {
	uint32_t tid, name = 0;
	if (event->kind == EVENT_SWITCH) {
		tid = event->switched.next_tid;
		name = event->switched.next_name;
	} else {
		event_names_task(event, &tid, &name);
	}
	if (name)
		*map_put(&trace->base_names, tid) = name;
}

static void take_sample(struct page_trace *trace, const struct event *event) {
	uint32_t number = thread_of(trace, event->tid);
	struct page_thread *thread = thread_at(trace, number);
	if (event->sample.comm && !thread->name)
		thread->name = event->sample.comm;
	if (!thread->pid)
		thread->pid = event->pid;
	thread->sampled = true;
	uint32_t state = event->sample.name == trace->off_cpu ? add_wait_stack(thread, event) : 0;
	array_push(&trace->samples, (struct page_sample){.time = event->time,
							 .weight = event->sample.weight,
							 .thread = number,
							 .stack = event->sample.stack,
							 .kind = sample_kind(trace, event),
							 .state = state});
}

// Most samples of waits say what the states say: how long, and where. Those are marks on the states.
static void join_wait_samples(struct page_trace *trace) {
	struct frame ready = {.symbol = strings_add(trace->tables->strings, FRAME_READY),
			      .exact = NAME_EXACT};
	uint32_t frame = stacks_add_frame(trace->tables->stacks, &ready);
	size_t kept = 0;
	for (size_t i = 0; i < trace->samples.count; i++) {
		const struct page_sample *sample = &trace->samples.items[i];
		const struct page_thread *thread = &trace->threads.items[sample->thread];
		struct page_state *wait = sample->state ? &thread->states.items[sample->state - 1] : NULL,
				  *same = NULL;
		bool has_next = wait && sample->state < thread->states.count;
		if (has_next && sample->stack == wait->what)
			same = wait;
		else if (has_next && wait[1].kind == PAGE_READY &&
			 sample->stack == stacks_below(trace->tables->stacks, frame, wait->what))
			same = wait + 1;
		if (!same || same->kind & PAGE_STATE_SAMPLED) {
			trace->samples.items[kept++] = *sample;
			continue;
		}
		size_t number = (size_t)(same - thread->states.items);
		same->kind |= PAGE_STATE_SAMPLED;
		*map_put(&trace->wait_weights, (uint64_t)sample->thread << 32 | number) =
			sample->weight - (page_state_end(trace, thread, number) - same->start);
	}
	trace->samples.count = kept;
}

// ---- marks, counters, the path ----

static void begin_mark(struct page_trace *trace, const struct event *event) {
	bool instant = event->mark.type == MARK_INSTANT;
	array_push(&trace->marks, (struct page_mark){.from = event->time,
						     .to = event->time,
						     .thread = thread_of(trace, event->tid),
						     .name = event->mark.name,
						     .value = event->mark.value,
						     .type = (uint8_t)event->mark.type,
						     .open = !instant});
}

static void end_mark(struct page_trace *trace, const struct event *event) {
	bool is_case = event->mark.type == MARK_TEST_END;
	uint32_t thread = thread_of(trace, event->tid);
	for (size_t i = trace->marks.count; i-- > 0;) {
		struct page_mark *mark = &trace->marks.items[i];
		bool fits = is_case ? mark->type == MARK_TEST_BEGIN &&
					      (!event->mark.name || mark->name == event->mark.name)
				    : mark->type == MARK_SLICE_BEGIN && mark->thread == thread;
		if (!mark->open || !fits)
			continue;
		mark->to = event->time;
		mark->open = false;
		if (is_case)
			mark->value = event->mark.value;
		return;
	}
}

static void add_point(struct page_trace *trace, const struct page_series *wanted, uint64_t time,
		      double value) {
	uint64_t key = hash_u64(hash_u64((uint64_t)wanted->provider << 32 | wanted->name) ^
				((uint64_t)wanted->cpu << 32 | wanted->tid));
	uint64_t *known = map_put(&trace->series_by_key, key);
	if (!*known && trace->series.count >= MOST_SERIES)
		return;
	if (!*known) {
		array_push(&trace->series, *wanted);
		*known = trace->series.count;
	}
	struct page_series *series = &trace->series.items[*known - 1];
	array_push(&series->points, (struct page_point){.time = time, .value = value});
}

static void take_mark(struct page_trace *trace, const struct event *event) {
	switch (event->mark.type) {
	case MARK_COUNTER:
		add_point(trace, &(struct page_series){.name = event->mark.name, .cpu = CPU_NONE},
			  event->time, event->mark.value);
		break;
	case MARK_SLICE_END:
	case MARK_TEST_END:
		end_mark(trace, event);
		break;
	default:
		begin_mark(trace, event);
	}
}

static void take_counter(struct page_trace *trace, const struct event *event) {
	struct page_series series = {.provider = event->counter.provider,
				     .name = event->counter.name,
				     .unit = event->counter.unit,
				     .cpu = event->cpu,
				     .tid = event->cpu == CPU_NONE ? event->tid : 0,
				     .adds = event->counter.adds};
	add_point(trace, &series, event->time, event->counter.value);
}

static void take_path(struct page_trace *trace, const struct event *event) {
	uint32_t thread = thread_of(trace, event->tid);
	thread_at(trace, thread)->on_path = true;
	thread_at(trace, thread)->path_ns += event->time - event->path.from;
	array_push(&trace->path, (struct page_piece){.from = event->path.from,
						     .to = event->time,
						     .thread = thread,
						     .name = event->path.name});
}

// ---- events, losses, facts ----

static void append_field(struct buffer *text, const struct event_field *field) {
	buffer_printf(text, "%s%s=", text->size ? " " : "", field->name ? field->name : "");
	switch (field->type) {
	case FIELD_INT:
		buffer_printf(text, "%" PRId64, field->sint);
		break;
	case FIELD_HEX:
		buffer_printf(text, "0x%" PRIx64, field->uint);
		break;
	case FIELD_DOUBLE:
		buffer_printf(text, "%g", field->real);
		break;
	case FIELD_TEXT:
		buffer_append(text, field->text, MIN(field->size, (size_t)300));
		break;
	default:
		buffer_printf(text, "%" PRIu64, field->uint);
	}
}

static void take_event(struct page_trace *trace, const struct event *event) {
	enum { MOST_TEXT = 1000 };
	struct described described;
	if (trace->events.count >= MOST_EVENTS) {
		trace->events_left_out++;
		return;
	}
	if (!describe(&trace->describer, event, &described))
		return;
	struct buffer text = {0};
	for (uint32_t i = 0; i < described.count && text.size < MOST_TEXT; i++)
		append_field(&text, &described.fields[i]);
	CLEANUP_FREE char *name = memory_format("%s%s%s", described.provider ? described.provider : "",
						described.provider && *described.provider ? " " : "",
						described.name ? described.name : "");
	uint64_t duration = event->kind == EVENT_GENERIC ? MIN(event->generic.duration, event->time) : 0;
	array_push(&trace->events,
		   (struct page_event){.time = event->time - duration,
				       .duration = duration,
				       .thread = thread_of(trace, event->tid),
				       .cpu = event->cpu,
				       .name = strings_add(trace->tables->strings, name),
				       .text = strings_add_bytes(trace->tables->strings,
								 text.data ? (void *)text.data : "",
								 text.size)});
	buffer_free(&text);
}

static void take_lost(struct page_trace *trace, const struct event *event) {
	const char *source = event->lost.source < SOURCE_COUNT ? event_source_names[event->lost.source]
							       : "events";
	array_push(&trace->lost, (struct page_lost){.time = event->time,
						    .count = event->lost.count,
						    .source = strings_add(trace->tables->strings,
									  source ? source : "events")});
}

static void take_fact(struct page_trace *trace, const struct event *event) {
	array_push(&trace->facts, (struct page_fact){event->meta.key, event->meta.value});
}

static void take_start(struct page_trace *trace, const struct event *event) {
	trace->start = event->time;
}

const char *page_trace_fact(const struct page_trace *trace, const char *key) {
	const struct strings *strings = trace->tables->strings;
	for (size_t i = trace->facts.count; i-- > 0;)
		if (strcmp(strings_get(strings, trace->facts.items[i].key), key) == 0)
			return strings_get(strings, trace->facts.items[i].value);
	return NULL;
}

// ---- the sink ----

typedef void taker(struct page_trace *trace, const struct event *event);

static taker *const takers[EVENT_KIND_COUNT] = {
	[EVENT_START] = take_start,   [EVENT_META] = take_fact,     [EVENT_TASK] = take_task,
	[EVENT_SWITCH] = take_switch, [EVENT_WAKING] = take_waking, [EVENT_FORK] = take_fork,
	[EVENT_EXEC] = take_exec,     [EVENT_RENAME] = take_rename, [EVENT_SAMPLE] = take_sample,
	[EVENT_GENERIC] = take_event, [EVENT_POINT] = take_event,   [EVENT_CRASH] = take_event,
	[EVENT_MARK] = take_mark,     [EVENT_LOST] = take_lost,     [EVENT_COUNTER] = take_counter,
	[EVENT_PATH] = take_path,
};

static int push(struct sink *sink, const struct event *event) {
	struct page_trace *trace = CONTAINER_OF(sink, struct page_trace, sink);
	if (event->kind == EVENT_SAMPLE && event->sample.flags & SAMPLE_BASELINE) {
		take_base_sample(trace, event);
		return 0;
	}
	if (trace->baseline) {
		learn_base_name(trace, event);
		return 0;
	}
	describer_learn(&trace->describer, event);
	if (takers[event->kind])
		takers[event->kind](trace, event);
	bool timed = event->kind > EVENT_TASK && event->kind != EVENT_MAPPING && event->time;
	if (timed && !(event->kind == EVENT_SAMPLE && event->sample.flags & SAMPLE_METRIC)) {
		trace->first = trace->first ? MIN(trace->first, event->time) : event->time;
		trace->last = MAX(trace->last, event->time);
	}
	return 0;
}

enum page_colour page_state_colour(const struct page_trace *trace, const struct page_state *state) {
	uint8_t kind = state->kind & PAGE_STATE_KIND;
	if (kind <= PAGE_PREEMPTED)
		return kind == PAGE_RUNS ? COLOUR_RUNS : COLOUR_READY;
	if (kind == PAGE_DEAD || kind == PAGE_ZOMBIE)
		return COLOUR_ENDED;
	uint8_t colour = state->reason < trace->reasons.count ? trace->reasons.colours[state->reason]
							      : COLOUR_WAITS;
	return colour == COLOUR_WAITS && kind == PAGE_DISK ? COLOUR_DISK : (enum page_colour)colour;
}

static void name_reasons(struct page_trace *trace) {
	for (size_t i = 0; i < trace->threads.count; i++) {
		struct page_thread *thread = &trace->threads.items[i];
		for (size_t j = 0; j < thread->states.count; j++) {
			struct page_state *state = &thread->states.items[j];
			uint8_t kind = state->kind & PAGE_STATE_KIND;
			bool waits = kind >= PAGE_SLEEPS && kind != PAGE_DEAD && kind != PAGE_ZOMBIE;
			uint8_t reason = waits && trace->reasons.of
						 ? trace->reasons.of(trace->reasons.context, state)
						 : 0;
			state->reason = reason < trace->reasons.count ? reason : 0;
		}
	}
}

// A test that passes a token between two threads has a path of a million pieces. Many become one for each
// part of the time, thread and stack; few stay as they are.
static void join_path_samples(struct page_trace *trace) {
	enum { FEW = 4096, PARTS = 1024 };
	uint32_t path = strings_add(trace->tables->strings, EVENT_CRITICAL_PATH);
	size_t kept = 0, count = 0;
	struct map joined = {0};
	for (size_t i = 0; i < trace->samples.count; i++)
		count += trace->sample_kinds.items[trace->samples.items[i].kind].name == path;
	uint64_t part = count > FEW ? (trace->last - trace->first) / PARTS + 1 : 0;
	for (size_t i = 0; part && i < trace->samples.count; i++) {
		struct page_sample sample = trace->samples.items[i];
		uint64_t *known = NULL;
		if (trace->sample_kinds.items[sample.kind].name == path) {
			uint64_t bucket = (sample.time - MIN(sample.time, trace->first)) / part;
			known = map_put(&joined,
					hash_u64(hash_u64(bucket << 32 | sample.thread) ^ sample.stack));
			sample.time = trace->first + bucket * part + part / 2;
		}
		if (known && *known) {
			trace->samples.items[*known - 1].weight += sample.weight;
			continue;
		}
		trace->samples.items[kept++] = sample;
		if (known)
			*known = kept;
	}
	trace->samples.count = part ? kept : trace->samples.count;
	map_free(&joined);
}

static int finish(struct sink *sink) {
	struct page_trace *trace = CONTAINER_OF(sink, struct page_trace, sink);
	if (trace->baseline)
		return 0;
	for (size_t i = 0; !trace->switches && i < trace->threads.count; i++)
		trace->threads.items[i].states.count = 0; // nothing says how it went on after its beginning
	name_reasons(trace);
	join_path_samples(trace);
	join_wait_samples(trace);
	for (size_t i = 0; i < trace->marks.count; i++)
		if (trace->marks.items[i].open)
			trace->marks.items[i].to = trace->last;
	return 0;
}

static void destroy(struct sink *sink) {
}

struct sink *page_trace_init(struct page_trace *trace, struct tables *tables,
			     const struct page_reasons *reasons) {
	*trace = (struct page_trace){.sink = {.push = push, .finish = finish, .destroy = destroy},
				     .tables = tables,
				     .reasons = reasons ? *reasons : (struct page_reasons){0},
				     .off_cpu = strings_add(tables->strings, EVENT_OFF_CPU)};
	describer_init(&trace->describer, tables);
	return &trace->sink;
}

void page_trace_free(struct page_trace *trace) {
	for (size_t i = 0; i < trace->threads.count; i++)
		array_free(&trace->threads.items[i].states);
	for (size_t i = 0; i < trace->series.count; i++)
		array_free(&trace->series.items[i].points);
	array_free(&trace->threads);
	array_free(&trace->samples);
	array_free(&trace->sample_kinds);
	array_free(&trace->marks);
	array_free(&trace->series);
	array_free(&trace->path);
	array_free(&trace->lost);
	array_free(&trace->events);
	array_free(&trace->facts);
	map_free(&trace->by_tid);
	map_free(&trace->kinds_by_name);
	map_free(&trace->series_by_key);
	map_free(&trace->base_samples);
	map_free(&trace->base_threads);
	map_free(&trace->base_names);
	map_free(&trace->wait_weights);
	describer_free(&trace->describer);
}
