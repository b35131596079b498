#include "analyse/critical_path.h"

const char *const path_state_names[4] = {"runs", "ready", "waits", "unknown"};

struct cursor_pair {
	uint32_t moment, sample; // the newest that the walk has not passed
	uint32_t later; // stack of the oldest sample that the walk has passed, unless it waited in between;
			// or 0
};

struct walker {
	const struct path_walk *walk;
	const struct timeline *timeline;
	struct cursor_pair *cursors; // by thread
	size_t gap;                  // gaps before this number are ahead
	uint64_t from, time;         // the path is known from `time` on
	uint32_t thread;
	uint32_t entered; // the last MOMENT_RUNS that was passed
	ARRAY(struct path_wait) waits;
};

static struct moment *moment_at(const struct walker *walker, uint32_t moment) {
	return timeline_moment(walker->timeline, moment);
}

// ---- pieces ----

static void pass_on(struct walker *walker, struct path_piece piece, uint64_t from, uint64_t to) {
	if (from >= to)
		return;
	piece.from = from;
	piece.to = to;
	walker->walk->take(walker->walk->context, &piece, walker->waits.items, walker->waits.count);
}

// Where only switches of one CPU are missing, a thread that was elsewhere is not concerned, nor is one that
// waited until a wakeup that is known.
static bool concerns(const struct walker *walker, const struct timeline_gap *gap,
		     const struct path_piece *piece) {
	if (gap->cpu == CPU_NONE)
		return true;
	if (piece->state == PATH_WAITS && piece->woken)
		return false;
	uint32_t at = piece->runs ? piece->runs : piece->moment;
	return !at || moment_at(walker, at)->cpu == gap->cpu;
}

// Where events are lost, what the thread did is not known.
static void emit(struct walker *walker, struct path_piece piece) {
	const struct timeline *timeline = walker->timeline;
	uint64_t to = piece.to;
	while (walker->gap && timeline->gaps.items[walker->gap - 1].from >= to)
		walker->gap--;
	for (size_t i = walker->gap; i > 0 && timeline->gaps.items[i - 1].to > piece.from; i--) {
		const struct timeline_gap *gap = &timeline->gaps.items[i - 1];
		uint64_t gap_to = MIN(gap->to, to), gap_from = MAX(gap->from, piece.from);
		if (gap_from >= gap_to || !concerns(walker, gap, &piece))
			continue;
		pass_on(walker, piece, gap_to, to);
		pass_on(walker, (struct path_piece){.thread = piece.thread, .state = PATH_UNKNOWN}, gap_from,
			gap_to);
		to = gap_from;
	}
	pass_on(walker, piece, piece.from, to);
}

// A sample stands for the time since the previous one; the last one also for what follows it. On a busy
// machine a thread loses the CPU more often than it is sampled: the next sample stands for these pieces, too,
// if the thread did not wait before it.
static void emit_running(struct walker *walker, uint32_t runs, uint64_t from) {
	uint32_t *cursor = &walker->cursors[walker->thread].sample;
	uint32_t *later = &walker->cursors[walker->thread].later;
	struct path_piece piece = {.thread = walker->thread, .state = PATH_RUNS, .moment = runs};
	while (*cursor && moment_at(walker, *cursor)->time > walker->time)
		*cursor = moment_at(walker, *cursor)->before;
	uint64_t to = walker->time;
	while (*cursor && moment_at(walker, *cursor)->time >= from) {
		piece.stack = *later = moment_at(walker, *cursor)->stack;
		*cursor = moment_at(walker, *cursor)->before;
		uint64_t previous = *cursor ? moment_at(walker, *cursor)->time : 0;
		piece.from = MIN(MAX(previous, from), to);
		piece.to = to;
		emit(walker, piece);
		to = piece.from;
	}
	piece.stack = *later;
	piece.from = from;
	piece.to = to;
	if (from < to)
		emit(walker, piece);
}

// ---- waits ----

// Moves the thread's cursor to this time. True if it can have been running there: some kernels do not report
// every switch, and a thread that was ready and then wakes another one has got a CPU in between.
static bool arrive(struct walker *walker, uint32_t thread, uint64_t time) {
	uint32_t *cursor = &walker->cursors[thread].moment;
	walker->cursors[thread].later = 0;
	while (*cursor) {
		const struct moment *moment = moment_at(walker, *cursor);
		if (moment->time < time || (moment->time == time && moment->kind == MOMENT_RUNS))
			break;
		*cursor = moment->before;
	}
	if (*cursor)
		return moment_at(walker, *cursor)->kind != MOMENT_WAITS &&
		       moment_at(walker, *cursor)->kind != MOMENT_ENDED;
	// It was there before the recording: the first thing known about it is that it left the CPU.
	uint32_t first = timeline_thread(walker->timeline, thread)->first;
	uint8_t kind = first ? moment_at(walker, first)->kind : MOMENT_BORN;
	return kind == MOMENT_READY || kind == MOMENT_WAITS || kind == MOMENT_ENDED;
}

static bool can_follow(struct walker *walker, const struct moment *woken) {
	uint32_t waker = woken->other;
	bool interrupt = woken->detail & (WOKEN_HARDIRQ | WOKEN_SOFTIRQ) && !(woken->detail & WOKEN_BY_TASK);
	if (!waker || waker == walker->thread || interrupt || woken->detail & WOKEN_OUTSIDE ||
	    timeline_thread(walker->timeline, waker)->outside || timeline_is_idle(walker->timeline, waker) ||
	    timeline_is_kernel(walker->timeline, waker))
		return false;
	return arrive(walker, waker, woken->time);
}

// The wait before this one, how long the thread ran in between, and whether an interrupt ended that wait; 0
// if it did something else than run and be ready.
static uint32_t wait_before(const struct walker *walker, const struct moment *wait, uint64_t *ran,
			    bool *interrupted) {
	enum { MOST_STEPS = 16 };
	uint64_t end = wait->time;
	uint32_t at = wait->before;
	*ran = 0;
	*interrupted = false;
	for (int i = 0; at && i < MOST_STEPS; i++) {
		const struct moment *moment = moment_at(walker, at);
		if (moment->kind == MOMENT_WAITS)
			return at;
		if (moment->kind != MOMENT_RUNS && moment->kind != MOMENT_READY &&
		    moment->kind != MOMENT_WOKEN)
			return 0;
		*ran += moment->kind == MOMENT_RUNS ? end - moment->time : 0;
		*interrupted |= moment->kind == MOMENT_WOKEN &&
				moment->detail & (WOKEN_HARDIRQ | WOKEN_TIMER);
		end = moment->time;
		at = moment->before;
	}
	return 0;
}

// The wait before this one, if the thread ran only to look and to wait for the same again; 0 if not. A thread
// that waits for an interpreter's lock looks every few milliseconds, when a timer wakes it.
static uint32_t same_wait_before(const struct walker *walker, const struct moment *wait) {
	enum { SHORT = 50 * 1000, SHORT_AFTER_TIMER = 500 * 1000 };
	uint64_t ran;
	bool interrupted;
	if (!wait->stack || !reason_may_wake_early(place_of(walker->walk->places, wait->stack)->reason))
		return 0;
	uint32_t at = wait_before(walker, wait, &ran, &interrupted);
	bool same = at && moment_at(walker, at)->stack == wait->stack;
	return same && ran <= (interrupted ? SHORT_AFTER_TIMER : SHORT) ? at : 0;
}

static uint32_t first_of_wait(const struct walker *walker, uint32_t wait, uint64_t limit) {
	for (uint32_t before = wait; before && moment_at(walker, wait)->time > limit; wait = before)
		if (!(before = same_wait_before(walker, moment_at(walker, wait))))
			break;
	return wait;
}

// The thread was woken here. The time it waited belongs to the waker, or to itself.
static void cross_wait(struct walker *walker, uint32_t woken, uint32_t wait, uint64_t limit) {
	uint32_t thread = walker->thread;
	const struct moment *wakeup = moment_at(walker, woken);
	walker->cursors[thread].later = 0;
	if (can_follow(walker, wakeup)) {
		uint32_t first = wait ? first_of_wait(walker, wait, limit) : 0;
		uint64_t began = first ? moment_at(walker, first)->time : 0;
		walker->cursors[thread].moment = first;
		array_push(&walker->waits, (struct path_wait){.thread = thread,
							      .moment = wait,
							      .woken = woken,
							      .from = MAX(began, limit)});
		walker->thread = wakeup->other;
		return;
	}
	uint64_t began = wait ? moment_at(walker, wait)->time : 0;
	emit(walker, (struct path_piece){.from = MAX(began, limit),
					 .to = walker->time,
					 .thread = thread,
					 .state = PATH_WAITS,
					 .moment = wait,
					 .woken = woken,
					 .stack = wait ? moment_at(walker, wait)->stack : 0});
	walker->time = MAX(began, limit);
	walker->cursors[thread].moment = wait ? moment_at(walker, wait)->before : 0;
}

// ---- steps ----

// Before its first moment: a thread that was woken had waited, one that left the CPU had run.
static void before_first(struct walker *walker, uint64_t limit) {
	uint32_t first = timeline_thread(walker->timeline, walker->thread)->first;
	const struct moment *moment = first ? moment_at(walker, first) : NULL;
	if (moment && moment->time == walker->time && moment->kind == MOMENT_WOKEN) {
		cross_wait(walker, first, 0, limit);
		return;
	}
	bool ran = moment && (moment->kind == MOMENT_READY || moment->kind == MOMENT_WAITS ||
			      moment->kind == MOMENT_ENDED);
	if (ran)
		emit_running(walker, 0, limit);
	else
		emit(walker, (struct path_piece){.from = limit,
						 .to = walker->time,
						 .thread = walker->thread,
						 .state = PATH_UNKNOWN});
	walker->time = limit;
}

static void cross_ready(struct walker *walker, uint32_t at, uint64_t limit) {
	const struct moment *moment = moment_at(walker, at);
	uint64_t from = MAX(moment->time, limit);
	uint32_t woken = moment->kind == MOMENT_WOKEN ? at : 0;
	const struct moment *entered = moment_at(walker, walker->entered);
	bool ended = entered->thread == walker->thread && entered->time == walker->time;
	emit(walker, (struct path_piece){.from = from,
					 .to = walker->time,
					 .thread = walker->thread,
					 .state = PATH_READY,
					 .moment = at,
					 .woken = woken,
					 .runs = ended ? walker->entered : 0});
	walker->time = from;
	if (moment->time < limit)
		return;
	walker->cursors[walker->thread].moment = moment->before;
	if (woken && moment->before) {
		uint32_t wait = moment->before;
		if (moment_at(walker, wait)->kind == MOMENT_WAITS && walker->time > limit)
			cross_wait(walker, woken, wait, limit);
	} else if (moment->kind == MOMENT_BORN && moment->other &&
		   !timeline_thread(walker->timeline, moment->other)->outside) {
		walker->thread = moment->other;
		arrive(walker, walker->thread, walker->time);
	}
}

static void step(struct walker *walker, uint64_t limit) {
	uint32_t *cursor = &walker->cursors[walker->thread].moment;
	while (*cursor && moment_at(walker, *cursor)->time > walker->time)
		*cursor = moment_at(walker, *cursor)->before;
	uint32_t at = *cursor;
	if (!at) {
		before_first(walker, limit);
		return;
	}
	const struct moment *moment = moment_at(walker, at);
	uint64_t from = MAX(moment->time, limit);
	switch (moment->kind) {
	case MOMENT_RUNS:
		emit_running(walker, at, from);
		walker->entered = at;
		break;
	case MOMENT_WAITS:
	case MOMENT_ENDED:
		walker->cursors[walker->thread].later = 0;
		emit(walker,
		     (struct path_piece){.from = from,
					 .to = walker->time,
					 .thread = walker->thread,
					 .state = moment->kind == MOMENT_WAITS ? PATH_WAITS : PATH_UNKNOWN,
					 .moment = at,
					 .stack = moment->stack});
		break;
	default:
		cross_ready(walker, at, limit);
		return;
	}
	walker->time = from;
	if (moment->time >= limit)
		walker->cursors[walker->thread].moment = moment->before;
}

void critical_path(const struct path_walk *walk, uint32_t thread, uint64_t from, uint64_t to) {
	const struct timeline *timeline = walk->timeline;
	struct walker walker = {.walk = walk,
				.timeline = timeline,
				.gap = timeline->gaps.count,
				.from = from,
				.time = to,
				.thread = thread};
	walker.cursors = memory_alloc(timeline->threads.count * sizeof(*walker.cursors));
	for (size_t i = 0; i < timeline->threads.count; i++)
		walker.cursors[i] = (struct cursor_pair){.moment = timeline->threads.items[i].last,
							 .sample = timeline->threads.items[i].last_sample};
	while (walker.time > from) {
		while (walker.waits.count && walker.waits.items[walker.waits.count - 1].from >= walker.time)
			walker.thread = walker.waits.items[--walker.waits.count].thread;
		step(&walker, walker.waits.count ? walker.waits.items[walker.waits.count - 1].from : from);
	}
	array_free(&walker.waits);
	free(walker.cursors);
}
