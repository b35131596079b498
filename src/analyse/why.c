#include "analyse/why.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

// ---- segments ----

static struct why_segment *segment_of(struct why *why, const struct why_segment *wanted) {
	bool named = wanted->own && wanted->state != PATH_READY;
	uint64_t function = named ? stacks_frame(why->timeline->tables->stacks, wanted->own - 1)->symbol : 0;
	uint64_t kinds = (uint64_t)wanted->state << 16 | (uint64_t)wanted->reason << 8 | wanted->limited;
	uint64_t key = hash_u64(hash_u64(hash_u64(wanted->thread) + function) + kinds);
	uint64_t *known = map_put(&why->by_key, key);
	if (!*known) {
		array_push(&why->segments, *wanted);
		*known = why->segments.count;
	}
	return &why->segments.items[*known - 1];
}

// What a wait without a stack was for, if its waker says so: a process that ends wakes its parent. A thread
// that ends says nothing: it wakes those that join it, but may also have left a lock just before.
static enum reason reason_by_waker(const struct timeline *timeline, uint32_t waiter,
				   const struct moment *woken) {
	enum { NEAR = 200 * 1000 };
	if (!woken || !woken->other || woken->detail & (WOKEN_HARDIRQ | WOKEN_SOFTIRQ))
		return REASON_UNKNOWN;
	const struct timeline_thread *waker = timeline_thread(timeline, woken->other);
	const struct timeline_thread *own = timeline_thread(timeline, waiter);
	if (!waker->exited || waker->exit_time > woken->time + NEAR)
		return REASON_UNKNOWN;
	return waker->pid != own->pid && waker->parent_pid == own->pid ? REASON_CHILD : REASON_UNKNOWN;
}

static enum reason reason_of_wait(struct why *why, uint32_t wait, uint32_t woken, uint32_t thread) {
	const struct moment *moment = wait ? timeline_moment(why->timeline, wait) : NULL;
	const struct moment *wakeup = woken ? timeline_moment(why->timeline, woken) : NULL;
	if (!moment)
		return reason_by_waker(why->timeline, thread, wakeup);
	enum reason by_stack = moment->stack ? place_of(&why->places, moment->stack)->reason : REASON_UNKNOWN;
	if (moment->detail && (by_stack == REASON_UNKNOWN || by_stack == REASON_OTHER))
		by_stack = reason_of_windows(moment->detail);
	if (by_stack == REASON_UNKNOWN)
		by_stack = reason_of_state(moment->state, by_stack);
	return by_stack == REASON_UNKNOWN ? reason_by_waker(why->timeline, thread, wakeup) : by_stack;
}

// What is known about a wait beyond its reason: a thread that polls does not say what for, but the task that
// woke it wrote to it.
static const char *words_of_wait(const struct place *place, enum reason reason, const struct moment *woken) {
	if (reason != REASON_POLL || place->words || !woken)
		return place->words;
	return woken->detail & WOKEN_BY_PIPE     ? "polled a pipe"
	       : woken->detail & WOKEN_BY_SOCKET ? "polled a socket"
						 : NULL;
}

static struct why_segment describe_wait(struct why *why, const struct path_piece *piece) {
	struct why_segment segment = {.thread = piece->thread, .state = PATH_WAITS};
	const struct place place = *place_of(&why->places, piece->stack);
	segment.own = place.own;
	segment.inner = place.inner;
	segment.words = place.words;
	segment.reason = reason_of_wait(why, piece->moment, piece->woken, piece->thread);
	if (!piece->woken)
		return segment;
	const struct moment *woken = timeline_moment(why->timeline, piece->woken);
	bool interrupt = woken->detail & (WOKEN_HARDIRQ | WOKEN_SOFTIRQ);
	segment.words = words_of_wait(&place, segment.reason, woken);
	segment.has_wakeup = true;
	segment.woken = woken->detail;
	segment.waker = interrupt ? 0 : woken->other;
	bool hard = woken->detail & WOKEN_HARDIRQ, timer = woken->detail & WOKEN_TIMER;
	if (hard || timer) {
		enum reason reason = reason_after_interrupt(segment.reason, timer);
		segment.limited = reason == REASON_TIMEOUT ? segment.reason : REASON_CPU;
		segment.reason = reason;
	}
	return segment;
}

static struct why_segment describe(struct why *why, const struct path_piece *piece) {
	struct why_segment segment = {.thread = piece->thread, .state = piece->state};
	const struct place *place = place_of(&why->places, piece->stack);
	switch (piece->state) {
	case PATH_RUNS:
		segment.reason = place->faults ? REASON_PAGE_FAULT : REASON_CPU;
		segment.own = place->own;
		break;
	case PATH_READY: {
		const struct moment *woken = piece->woken ? timeline_moment(why->timeline, piece->woken)
							  : NULL;
		uint32_t wait = woken ? woken->before : 0;
		const struct moment *waits = wait ? timeline_moment(why->timeline, wait) : NULL;
		segment.reason = REASON_READY;
		if (waits && waits->kind == MOMENT_WAITS)
			segment.own = place_of(&why->places, waits->stack)->own;
		break;
	}
	case PATH_WAITS:
		return describe_wait(why, piece);
	default:
		segment.reason = REASON_UNKNOWN;
	}
	return segment;
}

static uint32_t symbol_of(const struct why *why, uint32_t own) {
	return own ? stacks_frame(why->timeline->tables->stacks, own - 1)->symbol : 0;
}

// Whether the nearest thread that waits is the same, and waits for the same in the same function.
static bool same_chain(struct why *why, const struct why_segment *segment, const struct path_wait *waits,
		       size_t count) {
	if (!count || !segment->chain_count)
		return !count && !segment->chain_count;
	const struct path_wait *nearest = &waits[count - 1];
	const struct why_waiter *known = &segment->chain[0];
	uint32_t stack = nearest->moment ? timeline_moment(why->timeline, nearest->moment)->stack : 0;
	return known->thread == nearest->thread &&
	       known->reason == reason_of_wait(why, nearest->moment, nearest->woken, nearest->thread) &&
	       symbol_of(why, known->own) == symbol_of(why, place_of(&why->places, stack)->own);
}

// Keeps the chain that most of the time had, by a vote in which each piece has its time as its weight.
static void remember_chain(struct why *why, struct why_segment *segment, const struct path_wait *waits,
			   size_t count, uint64_t ns) {
	if (segment->chain_weight && same_chain(why, segment, waits, count)) {
		segment->chain_weight += ns;
		return;
	}
	if (segment->chain_weight > ns) {
		segment->chain_weight -= ns;
		return;
	}
	segment->chain_weight = ns;
	segment->chain_count = 0;
	for (size_t i = count; i-- > 0 && segment->chain_count < WHY_CHAIN;) {
		uint32_t stack = waits[i].moment ? timeline_moment(why->timeline, waits[i].moment)->stack : 0;
		uint32_t woken = waits[i].woken;
		enum reason reason = reason_of_wait(why, waits[i].moment, woken, waits[i].thread);
		const struct place *place = place_of(&why->places, stack);
		const struct moment *wakeup = woken ? timeline_moment(why->timeline, woken) : NULL;
		segment->chain[segment->chain_count++] = (struct why_waiter){
			.thread = waits[i].thread,
			.reason = reason,
			.own = place->own,
			.words = words_of_wait(place, reason, wakeup)};
	}
}

// ---- what had the CPU while a thread was ready ----

// Adds up the CPU's other tasks. True if it was idle for most of the time.
static bool count_holders(struct why *why, const struct path_piece *piece, uint32_t segment) {
	const struct timeline *timeline = why->timeline;
	uint64_t end = piece->to, idle = 0;
	const struct moment *runs = piece->runs ? timeline_moment(timeline, piece->runs) : NULL;
	uint32_t at = runs ? runs->cpu_before : 0;
	while (at && end > piece->from) {
		const struct moment *holder = timeline_moment(timeline, at);
		uint64_t from = MAX(holder->time, piece->from);
		if (from < end) {
			*map_put(&why->holders, (uint64_t)segment << 32 | holder->thread) += end - from;
			idle += timeline_is_idle(timeline, holder->thread) ? end - from : 0;
			end = from;
		}
		at = holder->cpu_before;
	}
	return idle * 2 > piece->to - piece->from;
}

static void name_holders(struct why *why) {
	for (size_t i = 0; i < why->holders.capacity; i++) {
		const struct map_slot *slot = &why->holders.slots[i];
		if (!slot->used)
			continue;
		struct why_segment *segment = &why->segments.items[slot->key >> 32];
		if (slot->value < segment->waker_ns ||
		    (slot->value == segment->waker_ns && segment->waker < (uint32_t)slot->key))
			continue;
		segment->waker = (uint32_t)slot->key;
		segment->waker_ns = slot->value;
	}
}

// ---- the path ----

bool why_is_tracer(const struct why *why, uint32_t thread) {
	return strncmp(timeline_name(why->timeline, thread), "tracelet", 8) == 0;
}

static void count_caller(struct why *why, uint32_t number, const struct path_piece *piece) {
	uint32_t caller = piece->state == PATH_READY ? 0 : place_of(&why->places, piece->stack)->caller;
	uint32_t symbol = caller ? stacks_frame(why->timeline->tables->stacks, caller - 1)->symbol : 0;
	uint64_t *known = map_put(&why->by_caller, (uint64_t)number << 32 | symbol);
	if (!*known) {
		array_push(&why->called, (struct why_called){.segment = number, .caller = caller});
		*known = why->called.count;
	}
	why->called.items[*known - 1].ns += piece->to - piece->from;
}

static void take_piece(void *context, const struct path_piece *piece, const struct path_wait *waits,
		       size_t wait_count) {
	enum { LONG = 5 * 1000 * 1000 };
	struct why *why = context;
	struct why_segment wanted = describe(why, piece);
	uint64_t ns = piece->to - piece->from;
	// A CPU that stays idle although a task is ready: the task may not run.
	struct why_segment *segment = segment_of(why, &wanted);
	uint32_t number = (uint32_t)(segment - why->segments.items);
	if (piece->state == PATH_READY && count_holders(why, piece, number) && ns > LONG) {
		wanted.reason = REASON_THROTTLED;
		segment = segment_of(why, &wanted);
		number = (uint32_t)(segment - why->segments.items);
	}
	segment->ns += ns;
	segment->pieces++;
	if (ns > segment->longest) {
		segment->longest = ns;
		segment->own = wanted.own;
		segment->inner = wanted.inner;
		segment->words = wanted.words;
		segment->waker = wanted.waker;
		segment->woken = wanted.woken;
		segment->has_wakeup = wanted.has_wakeup;
	}
	remember_chain(why, segment, waits, wait_count, ns);
	count_caller(why, number, piece);
	if (piece->state == PATH_READY)
		why_note_beat(why, piece, number);
	if (why->question->watch)
		why->question->watch(why->question->context, why, piece, &wanted);
	size_t count = why->path.count;
	if (!count || why->path.items[count - 1].segment != number)
		array_push(&why->path, (struct why_step){.to = piece->to, .segment = number});
}

static void reverse_path(struct why *why) {
	for (size_t i = 0, j = why->path.count; i + 1 < j; i++) {
		struct why_step step = why->path.items[i];
		why->path.items[i] = why->path.items[--j];
		why->path.items[j] = step;
	}
}

static int by_time(const void *left, const void *right) {
	const struct why_segment *a = left, *b = right;
	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

// Puts the largest first, and gives the path their new numbers.
static void sort_segments(struct why *why) {
	size_t count = why->segments.count;
	uint32_t *numbers = memory_alloc((count + 1) * sizeof(*numbers));
	for (size_t i = 0; i < count; i++)
		why->segments.items[i].number = (uint32_t)i;
	if (count)
		qsort(why->segments.items, count, sizeof(struct why_segment), by_time);
	for (size_t i = 0; i < count; i++)
		numbers[why->segments.items[i].number] = (uint32_t)i;
	for (size_t i = 0; i < why->path.count; i++)
		why->path.items[i].segment = numbers[why->path.items[i].segment];
	for (size_t i = 0; i < why->called.count; i++)
		why->called.items[i].segment = numbers[why->called.items[i].segment];
	// A segment whose only piece became another's.
	while (count && !why->segments.items[count - 1].ns)
		count--;
	why->segments.count = count;
	free(numbers);
}

// The caller of a segment's function: the one that has most of the time. None if it has several and none of
// them has half of the time.
static void choose_callers(struct why *why) {
	size_t count = why->segments.count;
	uint64_t *most = memory_alloc((count + 1) * sizeof(*most));
	for (size_t i = 0; i < count; i++)
		why->segments.items[i].caller = 0;
	for (size_t i = 0; i < why->called.count; i++) {
		const struct why_called *called = &why->called.items[i];
		if (called->segment >= count || called->ns <= most[called->segment])
			continue;
		most[called->segment] = called->ns;
		why->segments.items[called->segment].caller =
			called->ns * 2 >= why->segments.items[called->segment].ns ? called->caller : 0;
	}
	free(most);
}

// ---- the question ----

// The recording may go on long after its last event: if tracelet was killed while the test slept, for
// example.
static uint64_t end_of_recording(const struct timeline *timeline) {
	double seconds = strtod(strings_get(timeline->tables->strings, timeline->wall_seconds), NULL);
	uint64_t wall = seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e9) : 0;
	return MAX(timeline->last, timeline->first + wall);
}

static uint64_t end_of(const struct timeline *timeline, uint32_t thread) {
	const struct timeline_thread *own = timeline_thread(timeline, thread);
	if (own->last && timeline_moment(timeline, own->last)->kind == MOMENT_ENDED)
		return timeline_moment(timeline, own->last)->time;
	if (own->exited)
		return own->exit_time;
	return own->execed ? end_of_recording(timeline)
			   : timeline->last; // a flight recorder has only the end
}

static uint64_t begin_of(const struct timeline *timeline, uint32_t thread) {
	const struct timeline_thread *own = timeline_thread(timeline, thread);
	if (own->execed)
		return own->execed;
	return own->first ? timeline_moment(timeline, own->first)->time : timeline->first;
}

// The first thread of a process, which another one may have become by exec.
static uint32_t first_thread(const struct timeline *timeline, uint32_t thread) {
	uint32_t pid = timeline_thread(timeline, thread)->pid;
	const uint64_t *first = pid ? map_get(&timeline->by_tid, pid) : NULL;
	return first && timeline_thread(timeline, (uint32_t)*first)->pid == pid ? (uint32_t)*first : thread;
}

// The thread that ends last in a process. A process ends with it, even if its first thread has ended before.
static uint32_t last_thread(const struct timeline *timeline, uint32_t first) {
	enum { MARGIN = 1000 * 1000 };
	uint32_t pid = timeline_thread(timeline, first)->pid, last = first;
	for (uint32_t i = 1; pid && i < timeline->threads.count; i++)
		if (timeline_thread(timeline, i)->pid == pid && timeline_thread(timeline, i)->exited &&
		    timeline_thread(timeline, i)->last &&
		    end_of(timeline, i) > end_of(timeline, last) + MARGIN)
			last = i;
	return last;
}

// Where nothing says what the test is: the thread that is on record most often.
static uint32_t busiest_thread(const struct timeline *timeline) {
	uint64_t *ran = memory_alloc(timeline->threads.count * sizeof(*ran));
	uint32_t best = 0;
	for (uint32_t i = 1; i < timeline->moment_count; i++) {
		const struct moment *moment = timeline_moment(timeline, i);
		const struct moment *before = moment->before ? timeline_moment(timeline, moment->before)
							     : NULL;
		if (moment->kind != MOMENT_SAMPLE && before && before->kind == MOMENT_RUNS)
			ran[moment->thread] += moment->time - before->time;
	}
	for (uint32_t i = 1; i < timeline->threads.count; i++) {
		uint32_t tid = timeline_thread(timeline, i)->tid;
		if (tid && tid < TID_OUTSIDE && !timeline_thread(timeline, i)->outside &&
		    ran[i] > (best ? ran[best] : 0))
			best = i;
	}
	free(ran);
	return best;
}

// A flight recorder has lost the beginning of the test: what started the first program that it still has, and
// what started that, as far as they belong to the test.
static uint32_t outermost(const struct timeline *timeline, uint32_t thread) {
	enum { MOST_LEVELS = 1000 }; // ids are used again, so there may be cycles
	for (int level = 0; thread && level < MOST_LEVELS; level++) {
		uint32_t parent = timeline_thread(timeline, thread)->parent_pid;
		const uint64_t *known = parent ? map_get(&timeline->by_tid, parent) : NULL;
		const struct timeline_thread *up = known ? timeline_thread(timeline, (uint32_t)*known) : NULL;
		if (!up || up->outside || !up->first)
			break;
		thread = (uint32_t)*known;
	}
	return thread;
}

// The first process of a test. A recording of the whole machine by another tool does not say what the test
// is: then the program that took longest from beginning to end.
static uint32_t find_root(const struct timeline *timeline) {
	bool tree = strcmp(strings_get(timeline->tables->strings, timeline->scope), "tree") == 0;
	uint32_t longest = 0;
	uint64_t most = 0;
	if (timeline->command_exec || tree)
		return timeline->command_exec ? timeline->command_exec
					      : outermost(timeline, timeline->first_exec);
	for (uint32_t i = 1; i < timeline->threads.count; i++) {
		const struct timeline_thread *thread = timeline_thread(timeline, i);
		uint64_t end = thread->exited ? thread->exit_time : 0;
		if (thread->execed && end > thread->execed && end - thread->execed > most) {
			most = end - thread->execed;
			longest = i;
		}
	}
	return longest ? longest : timeline->first_exec;
}

static uint32_t find_thread(const struct timeline *timeline, const char *wanted) {
	char *end;
	unsigned long number = strtoul(wanted, &end, 10);
	const uint64_t *known = *wanted && !*end ? map_get(&timeline->by_tid, number) : NULL;
	if (known)
		return (uint32_t)*known;
	for (uint32_t i = 1; i < timeline->threads.count; i++)
		if (timeline_thread(timeline, i)->first && strcmp(timeline_name(timeline, i), wanted) == 0)
			return i;
	return 0;
}

static const struct timeline_case *find_case(const struct timeline *timeline, const char *name) {
	for (size_t i = 0; i < timeline->cases.count; i++)
		if (timeline->cases.items[i].to &&
		    strcmp(strings_get(timeline->tables->strings, timeline->cases.items[i].name), name) == 0)
			return &timeline->cases.items[i];
	return NULL;
}

static int fail(struct why *why, const char *format, const char *name) {
	snprintf(why->error, sizeof(why->error), format, name);
	return -ENOENT;
}

static int choose_time(struct why *why, const struct why_question *question) {
	const struct timeline *timeline = why->timeline;
	uint32_t root = find_root(timeline);
	const struct timeline_case *one = NULL;
	if (question->test_case && !(one = find_case(timeline, question->test_case)))
		return fail(why, "no case '%s' in this recording", question->test_case);
	why->thread = one ? one->thread : root ? first_thread(timeline, root) : busiest_thread(timeline);
	if (question->thread && !(why->thread = find_thread(timeline, question->thread)))
		return fail(why, "no thread '%s' in this recording", question->thread);
	if (!why->thread || !timeline->switches)
		return fail(why, "no context switches in this recording%s", "");
	why->from = one                         ? one->from
		    : root && !question->thread ? begin_of(timeline, root)
						: begin_of(timeline, why->thread);
	why->last = one || question->thread || !root ? why->thread : last_thread(timeline, why->thread);
	why->to = one ? one->to : end_of(timeline, why->last);
	why->cut = root && !one && !question->thread && timeline->command && !timeline->command_exec &&
		   !timeline_thread(timeline, root)->execed;
	if (question->has_from)
		why->from = MAX(why->from, timeline->start + question->from);
	if (question->has_to)
		why->to = MIN(why->to, timeline->start + question->to);
	return why->from < why->to ? 0 : fail(why, "no time between these limits%s", "");
}

int why_find(struct why *why, struct timeline *timeline, const struct why_question *question) {
	*why = (struct why){.timeline = timeline, .question = question};
	places_init(&why->places, timeline->tables);
	int error = choose_time(why, question);
	if (error)
		return error;
	why->result = strings_get(timeline->tables->strings, timeline->result);
	struct path_walk walk = {
		.timeline = timeline, .places = &why->places, .take = take_piece, .context = why};
	uint64_t end = why->to;
	if (why->last != why->thread) {
		end = MIN(MAX(end_of(timeline, why->thread), why->from), why->to);
		critical_path(&walk, why->last, end, why->to);
	}
	critical_path(&walk, why->thread, why->from, end);
	name_holders(why);
	why_find_throttled(why);
	reverse_path(why);
	sort_segments(why);
	choose_callers(why);
	for (size_t i = 0; i < why->segments.count; i++) {
		const struct why_segment *segment = &why->segments.items[i];
		why->unknown_ns += segment->state == PATH_UNKNOWN ? segment->ns : 0;
	}
	for (size_t i = 0; i < why->holders.capacity; i++)
		if (why->holders.slots[i].used && why_is_tracer(why, (uint32_t)why->holders.slots[i].key))
			why->tracer_ns += why->holders.slots[i].value;
	return 0;
}

void why_free(struct why *why) {
	places_free(&why->places);
	array_free(&why->segments);
	array_free(&why->path);
	array_free(&why->called);
	array_free(&why->beats);
	map_free(&why->by_key);
	map_free(&why->by_caller);
	map_free(&why->holders);
}

// ---- names ----

struct why_place why_place(const struct why *why, uint32_t own) {
	const struct tables *tables = why->timeline->tables;
	const struct frame *known = own ? stacks_frame(tables->stacks, own - 1) : NULL;
	if (!known)
		return (struct why_place){0};
	const char *function = strings_get(tables->strings, known->symbol);
	bool own_file = known->file &&
			!function_is_runtime(function, strings_get(tables->strings, known->module));
	bool at = known->at_file && known->at_line; // of a wait
	return (struct why_place){
		.function = function,
		.file = own_file ? strings_get(tables->strings, at ? known->at_file : known->file) : NULL,
		.line = own_file ? (at ? known->at_line : known->line) : 0};
}

char *why_role(const struct why *why, uint32_t thread) {
	char *role = memory_string(timeline_name(why->timeline, thread));
	size_t length = 0;
	for (const char *at = role; *at; at++)
		if (*at < '0' || *at > '9')
			role[length++] = *at;
	role[length] = 0;
	return role;
}
