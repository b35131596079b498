// The addresses around one for which an answer is the same: found by narrowing it at each comparison that led
// to the answer.
#pragma once

#include <stdint.h>

struct code_range {
	uint64_t begin, end;
};

#define CODE_RANGE_ALL ((struct code_range){0, UINT64_MAX})

static inline void range_from(struct code_range *range, uint64_t begin) {
	range->begin = begin > range->begin ? begin : range->begin;
}

static inline void range_to(struct code_range *range, uint64_t end) {
	range->end = end < range->end ? end : range->end;
}

// `address` is or is not among those from `begin` on, `size` of them: nor are the others in the range.
static inline void range_narrow(struct code_range *range, uint64_t address, uint64_t begin, uint64_t size) {
	uint64_t end = size > UINT64_MAX - begin ? UINT64_MAX : begin + size;
	if (address < begin)
		range_to(range, begin);
	else if (address - begin >= size)
		range_from(range, end);
	else {
		range_from(range, begin);
		range_to(range, end);
	}
}
