// A heap of the sources of a merge, each with the time of its earliest event. At equal
// times the source with the lower number comes first.
#pragma once

#include "base/array.h"

#include <stdint.h>

struct head {
	uint64_t time;
	uint32_t source;
};

typedef ARRAY(struct head) head_array;

static inline bool head_before(const struct head *left, const struct head *right) {
	return left->time != right->time ? left->time < right->time : left->source < right->source;
}

// Moves the head at `at`, which has become later, to its place.
static inline void heads_sift(struct head *heads, size_t count, size_t at) {
	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		child += child + 1 < count && head_before(&heads[child + 1], &heads[child]);
		if (!head_before(&heads[child], &heads[at]))
			return;
		struct head down = heads[at];
		heads[at] = heads[child];
		heads[child] = down;
	}
}

static inline void heads_build(head_array *heads) {
	for (size_t i = heads->count / 2; i-- > 0;)
		heads_sift(heads->items, heads->count, i);
}

// After the first head's time has changed; `more` is false if its source is empty now.
static inline void heads_next(head_array *heads, bool more) {
	if (!more)
		heads->items[0] = heads->items[--heads->count];
	heads_sift(heads->items, heads->count, 0);
}

// Before this time, `limit` at most, only the first source has events.
static inline uint64_t heads_second(const head_array *heads, uint64_t limit) {
	for (size_t i = 1; i < MIN(heads->count, 3); i++)
		limit = MIN(limit, heads->items[i].time);
	return limit;
}
