// Suggestions for misspelt names: the nearest of the known ones.
#pragma once

#include <stddef.h>

enum { NEAR_LONGEST = 63 };

struct near_name {
	const char *wanted;
	char best[NEAR_LONGEST + 1]; // "" if none is near
	size_t distance;
};

void near_offer(struct near_name *near, const char *name);

// " (did you mean 'NAME'?)", or nothing.
void near_words(const struct near_name *near, char *text, size_t size);
