// Counts what passes by.
#pragma once

#include "event/event.h"

struct tally {
	struct sink sink;
	struct sink *next;
	uint64_t events; // without watermarks and facts about the whole
	uint64_t kinds[EVENT_KIND_COUNT];
	uint64_t lost[SOURCE_COUNT];
	uint64_t first, last; // the earliest and the latest time of those
};

// Takes over `next`; the tally itself is the caller's.
struct sink *tally_init(struct tally *tally, struct sink *next);
