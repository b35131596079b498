// The interning tables of one pipeline, shared by its reader and its writer.
#pragma once

#include "event/stacks.h"

struct tables {
	struct strings *strings;
	struct stacks *stacks;
};

static inline struct tables tables_new(void) {
	return (struct tables){.strings = strings_new(), .stacks = stacks_new()};
}

static inline void tables_free(struct tables *tables) {
	strings_free(tables->strings);
	stacks_free(tables->stacks);
	*tables = (struct tables){0};
}
