// A thread that looks again and again whether something has happened, asleep in between or not, is woken by
// nothing that says what it waits for. What another thread of the test had done just before it stopped
// looking is the best that is known about it: one long wait or piece of work that ended then.
#include "analyse/why.h"

#include <inttypes.h>
#include <stdio.h>

enum { NEAR = 10 * 1000 * 1000, LEAST_LOOKS = 3, LEAST_PART = 4, MOST_THREADS = 4 };

struct looking {
	uint64_t from, to; // from the first look to the last
	uint64_t pause;    // at most so long between two
};

// Whether the thread may be looking for something; and when. A busy machine lets it look later.
static bool is_looking(const struct why *why, const struct why_segment *segment, struct looking *looking) {
	uint32_t number = (uint32_t)(segment - why->segments.items);
	bool sleeps = segment->state == PATH_WAITS && segment->reason == REASON_SLEEP;
	uint64_t from = why->from, known = why->to - why->from - why->unknown_ns;
	*looking = (struct looking){.pause = sleeps ? segment->longest : 0};
	for (size_t i = 0; i < why->segments.count; i++) {
		const struct why_segment *ready = &why->segments.items[i];
		if (ready->state != PATH_READY)
			continue;
		known -= ready->ns;
		if (ready->thread == segment->thread)
			looking->pause += ready->longest;
	}
	if ((!sleeps && segment->state != PATH_RUNS) || (sleeps && segment->pieces < LEAST_LOOKS) ||
	    segment->chain_count || segment->ns * LEAST_PART < known)
		return false;
	for (size_t i = 0; i < why->path.count; from = why->path.items[i++].to) {
		if (why->path.items[i].segment != number)
			continue;
		looking->from = looking->to ? looking->from : from;
		looking->to = why->path.items[i].to;
	}
	return looking->to;
}

// When the thread was done, if that is just before the other one stopped looking; or 0.
static uint64_t done_at(const struct why *why, uint32_t thread, const struct looking *looking) {
	const struct timeline *timeline = why->timeline;
	const struct timeline_thread *own = timeline_thread(timeline, thread);
	// After its last look the other one may have been without a CPU for as long as before.
	uint64_t latest = MIN(looking->to + looking->pause + NEAR, why->to);
	uint32_t at = own->last;
	if (own->outside || !own->tid || own->tid >= TID_OUTSIDE || timeline_is_kernel(timeline, thread) ||
	    why_is_tracer(why, thread))
		return 0;
	while (at && timeline_moment(timeline, at)->time > latest)
		at = timeline_moment(timeline, at)->before;
	const struct moment *moment = at ? timeline_moment(timeline, at) : NULL;
	uint64_t done = moment ? moment->time : 0;
	// It is back from a wait, and not done yet with what it does then.
	if (moment && moment->kind != MOMENT_ENDED && moment->kind != MOMENT_WAITS) {
		while (at && timeline_moment(timeline, at)->kind != MOMENT_WAITS) {
			moment = timeline_moment(timeline, at);
			at = moment->before;
		}
		done = at ? latest : 0;
	}
	return done > looking->from && moment->time + looking->pause + NEAR >= looking->to ? done : 0;
}

// Whether most of what the path to this thread's end has is one long wait, or work.
static bool is_one_thing(const struct why *other, uint32_t looks) {
	const struct why_segment *largest = NULL;
	uint64_t known = 0;
	for (size_t i = 0; i < other->segments.count; i++) {
		const struct why_segment *segment = &other->segments.items[i];
		if (segment->state == PATH_READY || segment->state == PATH_UNKNOWN)
			continue;
		known += segment->ns;
		largest = largest ? largest : segment;
	}
	return largest && largest->thread != looks &&
	       (largest->state == PATH_WAITS ? largest->longest : largest->ns) * 2 > known;
}

bool why_meanwhile(struct why *why, const struct why_segment *segment, struct why *other) {
	struct looking looking;
	unsigned tried = 0;
	if (!is_looking(why, segment, &looking))
		return false;
	for (uint32_t i = 1; i < why->timeline->threads.count && tried < MOST_THREADS; i++) {
		uint64_t done = i == segment->thread ? 0 : done_at(why, i, &looking);
		if (!done)
			continue;
		char tid[16];
		snprintf(tid, sizeof(tid), "%" PRIu32, timeline_thread(why->timeline, i)->tid);
		struct why_question question = {.thread = tid,
						.has_from = true,
						.has_to = true,
						.from = looking.from - why->timeline->start,
						.to = done - why->timeline->start};
		tried++;
		bool found = !why_find(other, why->timeline, &question) && other->thread == i &&
			     (other->to - other->from) * 2 > looking.to - looking.from &&
			     is_one_thing(other, segment->thread);
		other->question = NULL;
		if (found)
			return true;
		why_free(other);
	}
	return false;
}
