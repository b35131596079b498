// What the threads of a test waited for when it was killed: at a time limit the path only says that its first
// thread waited until then.
#include "analyse/why.h"

#include <string.h>

// How far back a thread's last wait may be: stopping it for its stack and killing it takes several switches,
// more on a busy machine.
enum { LAST_MOMENTS = 64 };

static bool is_killed(const struct timeline_thread *thread) {
	return thread->exited && !thread->unknown_code && thread->code & 0x7f;
}

// Whether the thread was killed with the test, or was still there.
static bool is_left(const struct why *why, const struct timeline_thread *thread) {
	const struct timeline *timeline = why->timeline;
	bool tree = strcmp(strings_get(timeline->tables->strings, timeline->scope), "tree") == 0;
	bool ours = tree || thread->pid == timeline_thread(timeline, why->thread)->pid;
	bool there = !thread->exited || is_killed(thread) || thread->exit_time >= why->to;
	return ours && there && !thread->outside && thread->tid && thread->tid < TID_OUTSIDE && thread->last;
}

// When the test was over: before it is killed at a time limit, its threads are stopped for their stacks.
static uint64_t end_of_test(const struct why *why) {
	const struct timeline *timeline = why->timeline;
	uint32_t at = timeline_thread(timeline, why->thread)->last;
	uint64_t end = why->to;
	for (int i = 0; at && i < LAST_MOMENTS; i++) {
		const struct moment *moment = timeline_moment(timeline, at);
		if (moment->kind == MOMENT_WAITS && moment->state & (STATE_STOPPED | STATE_TRACED))
			end = MIN(end, moment->time);
		at = moment->before;
	}
	return end;
}

// The longest of a thread's last waits that began before the end.
static const struct moment *last_wait(const struct why *why, uint32_t thread, uint64_t end, uint64_t *ns) {
	const struct timeline *timeline = why->timeline;
	uint32_t at = timeline_thread(timeline, thread)->last;
	const struct moment *longest = NULL;
	*ns = 0;
	for (int i = 0; at && i < LAST_MOMENTS; i++) {
		const struct moment *moment = timeline_moment(timeline, at);
		if (moment->kind == MOMENT_WAITS && end > moment->time && end - moment->time > *ns) {
			*ns = end - moment->time;
			longest = moment;
		}
		end = MIN(end, moment->time);
		at = moment->before;
	}
	return longest;
}

static int by_length(const void *left, const void *right) {
	const struct why_ending *a = left, *b = right;
	return (a->ns < b->ns) - (a->ns > b->ns);
}

static bool is_lock(enum reason reason) {
	return reason == REASON_MUTEX || reason == REASON_RWLOCK || reason == REASON_SEMAPHORE ||
	       reason == REASON_FUTEX;
}

// Waits for others that can only end if another thread of the test goes on.
static bool is_passive(enum reason reason) {
	return is_lock(reason) || reason == REASON_JOIN || reason == REASON_CONDITION ||
	       reason == REASON_CHILD;
}

void why_endings(struct why *why, struct why_endings *endings) {
	const struct timeline *timeline = why->timeline;
	uint64_t end = end_of_test(why), half = end > why->from ? (end - why->from) / 2 : 0;
	unsigned locks = 0, others = 0;
	*endings = (struct why_endings){.killed = is_killed(timeline_thread(timeline, why->thread))};
	for (uint32_t i = 1; endings->killed && i < timeline->threads.count; i++) {
		const struct timeline_thread *thread = timeline_thread(timeline, i);
		uint64_t ns;
		if (!is_left(why, thread))
			continue;
		const struct moment *wait = last_wait(why, i, end, &ns);
		const struct place *place = wait && wait->stack ? place_of(&why->places, wait->stack) : NULL;
		enum reason reason = place ? place->reason : REASON_UNKNOWN;
		locks += is_lock(reason) && ns > half;
		others += !is_passive(reason) || ns <= half;
		if (place && ns > half)
			array_push(&endings->list, (struct why_ending){.thread = i,
								       .reason = reason,
								       .own = place->own,
								       .words = place->words,
								       .ns = ns});
	}
	if (endings->list.count)
		qsort(endings->list.items, endings->list.count, sizeof(struct why_ending), by_length);
	endings->stuck = locks > 1 && !others;
}

const struct timeline_signal *why_killer(const struct why *why) {
	const struct timeline *timeline = why->timeline;
	const struct timeline_thread *test = timeline_thread(timeline, why->thread);
	const struct timeline_signal *found = NULL;
	if (!is_killed(test) || test->exit_time > why->to)
		return NULL;
	for (size_t i = 0; i < timeline->signals.count; i++) {
		const struct timeline_signal *signal = &timeline->signals.items[i];
		bool own = timeline_thread(timeline, signal->sender)->pid == test->pid && !signal->by_kernel;
		if ((signal->target == test->pid || signal->target == test->tid) && !own &&
		    signal->number == (uint32_t)(test->code & 0x7f) && !why_is_tracer(why, signal->sender))
			found = signal;
	}
	return found;
}

const struct timeline_crash *why_crash(const struct why *why) {
	const struct timeline *timeline = why->timeline;
	const struct timeline_crash *found = NULL;
	uint32_t pid = timeline_thread(timeline, why->thread)->pid;
	for (size_t i = 0; i < timeline->crashes.count; i++) {
		const struct timeline_crash *crash = &timeline->crashes.items[i];
		bool own = timeline_thread(timeline, crash->thread)->pid == pid;
		if (crash->time >= why->from && crash->time <= why->to &&
		    (own || !found || timeline_thread(timeline, found->thread)->pid != pid))
			found = crash;
	}
	return found;
}

const struct timeline_victim *why_victim(const struct why *why) {
	const struct timeline *timeline = why->timeline;
	const struct timeline_victim *found = NULL;
	uint32_t pid = timeline_thread(timeline, why->thread)->pid;
	for (size_t i = 0; i < timeline->victims.count; i++) {
		const struct timeline_victim *victim = &timeline->victims.items[i];
		if (victim->time >= why->from && victim->time <= why->to &&
		    (victim->pid == pid || !found || found->pid != pid))
			found = victim;
	}
	return found;
}

// Only a recording of one test says which processes are the test's.
void why_left(const struct why *why, struct why_left *left) {
	const struct timeline *timeline = why->timeline;
	const struct timeline_thread *test = timeline_thread(timeline, why->thread);
	bool tree = strcmp(strings_get(timeline->tables->strings, timeline->scope), "tree") == 0;
	*left = (struct why_left){0};
	for (uint32_t i = 1;
	     tree && test->exited && test->exit_time <= why->to && i < timeline->threads.count; i++) {
		const struct timeline_thread *thread = timeline_thread(timeline, i);
		if (thread->tid == thread->pid && thread->pid != test->pid && thread->parent_pid &&
		    thread->first && !thread->exited && !thread->outside && !why_is_tracer(why, i))
			array_push(&left->threads, i);
	}
}
