// Edit distance: how many letters must be added, removed or changed to turn one name into another; a typing
// error is one or two. Names are short, so one row of the table is enough.
#include "base/near.h"
#include "base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static size_t letters_between(const char *from, const char *to) {
	size_t row[NEAR_LONGEST + 1], length = strlen(to);
	for (size_t i = 0; i <= length; i++)
		row[i] = i;
	for (size_t line = 1; *from; from++, line++) {
		size_t corner = row[0];
		row[0] = line;
		for (size_t i = 1; i <= length; i++) {
			bool same = tolower((unsigned char)*from) == tolower((unsigned char)to[i - 1]);
			size_t above = row[i];
			row[i] = MIN(MIN(above, row[i - 1]) + 1, corner + !same);
			corner = above;
		}
	}
	return row[length];
}

void near_offer(struct near_name *near, const char *name) {
	size_t longest = MAX(strlen(near->wanted), strlen(name));
	if (longest > NEAR_LONGEST)
		return;
	bool begins = strlen(near->wanted) > 2 && strncmp(near->wanted, name, strlen(near->wanted)) == 0;
	size_t distance = letters_between(near->wanted, name);
	// Two errors, or one in a short name; anything further away is another name, unless it is an
	// abbreviation.
	if (begins && distance > 1)
		distance = 2;
	if (distance > (begins || longest > 5 ? 2 : 1) || (*near->best && distance >= near->distance))
		return;
	near->distance = distance;
	snprintf(near->best, sizeof(near->best), "%s", name);
}

void near_words(const struct near_name *near, char *text, size_t size) {
	*text = 0;
	if (*near->best)
		snprintf(text, size, " (did you mean '%s'?)", near->best);
}
