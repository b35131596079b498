// A CPU limit (cgroup quota) lets a thread run until its share of a period is used up, and then not before
// the next period begins. A CPU that stays idle meanwhile gives that away, but a busy machine hides it: other
// tasks have the CPU. What remains is the beat: the thread gets the CPU whenever a period begins.
#include "analyse/why.h"

enum {
	MS = 1000 * 1000,
	PERIOD = 100 * MS, // the kernel's usual one
	WINDOW = 8 * MS,   // in which a thread gets the CPU after the period has begun
	LONG = 10 * MS,
	MOST_BEATS = 4096,
	LEAST_BEATS = 5,
};

void why_note_beat(struct why *why, const struct path_piece *piece, uint32_t segment) {
	if (piece->to - piece->from >= LONG && piece->runs && why->beats.count < MOST_BEATS)
		array_push(&why->beats, (struct why_beat){.segment = segment, .end = piece->to});
}

static int by_phase(const void *left, const void *right) {
	uint64_t a = ((const struct why_beat *)left)->end % PERIOD;
	uint64_t b = ((const struct why_beat *)right)->end % PERIOD;
	return (a > b) - (a < b);
}

// The largest number of ends that are in one window, when all periods are laid on top of each other.
static size_t most_in_window(const struct why_beat *beats, size_t count) {
	size_t most = 0;
	for (size_t from = 0; from < count; from++) {
		size_t inside = 0;
		for (size_t i = 0; i < count; i++)
			inside += (beats[i].end % PERIOD + PERIOD - beats[from].end % PERIOD) % PERIOD <
				  WINDOW;
		most = MAX(most, inside);
	}
	return most;
}

static bool has_beat(const struct why *why, uint32_t segment) {
	enum { LOOKED_AT = 256 };
	struct why_beat beats[LOOKED_AT];
	size_t count = 0;
	for (size_t i = 0; i < why->beats.count && count < LOOKED_AT; i++)
		if (why->beats.items[i].segment == segment)
			beats[count++] = why->beats.items[i];
	if (count < LEAST_BEATS)
		return false;
	qsort(beats, count, sizeof(beats[0]), by_phase);
	size_t inside = most_in_window(beats, count);
	return inside >= LEAST_BEATS && inside * 2 > count;
}

void why_find_throttled(struct why *why) {
	for (uint32_t i = 0; i < why->segments.count; i++) {
		struct why_segment *segment = &why->segments.items[i];
		if (segment->state != PATH_READY || segment->reason != REASON_READY || !has_beat(why, i))
			continue;
		segment->reason = REASON_THROTTLED;
		segment->in_beat = true;
	}
}
