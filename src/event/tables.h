// The interning tables of one pipeline, shared by its reader and its writer.
#pragma once

#include "event/stacks.h"
#include "event/symbolizer.h"

// Which frames keep their address. Without addresses, all places in a function are the
// same frame, so there are fewer stacks.
enum frame_addresses { ADDRESSES_NONE, ADDRESSES_OF_UNNAMED, ADDRESSES_ALL };

struct tables {
	struct strings *strings;
	struct stacks *stacks;
	enum frame_addresses addresses; // requested by the writer; a reader may provide more
	bool places;  // frames of all samples have the line of their code, at_file and at_line, where
		      // available
	bool details; // frames should have more than names, where available: source file and line, or the
		      // start in its module of a function without a name
	struct symbolizer *symbolizer; // names for addresses, or NULL; not owned by the tables
};

static inline struct tables tables_new(void) {
	return (struct tables){.strings = strings_new(), .stacks = stacks_new()};
}

static inline void tables_free(struct tables *tables) {
	strings_free(tables->strings);
	stacks_free(tables->stacks);
	*tables = (struct tables){0};
}
