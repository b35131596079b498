// The interning tables of one pipeline, shared by its reader and its writer.
#pragma once

#include "event/stacks.h"
#include "event/symbolizer.h"

// Which frames keep their address. A frame without one is one frame wherever in
// its function it was, so the fewer have one, the fewer stacks there are.
enum frame_addresses { ADDRESSES_NONE, ADDRESSES_OF_UNNAMED, ADDRESSES_ALL };

struct tables {
	struct strings *strings;
	struct stacks *stacks;
	enum frame_addresses addresses; // what the writer asks the reader for; a reader may give more
	bool details; // frames are to tell more than names, where it can be found: source file and line; or
		      // of functions without a name, where in its module they begin
	struct symbolizer *symbolizer; // names for addresses; NULL: there is none. Not the tables' own.
};

static inline struct tables tables_new(void) {
	return (struct tables){.strings = strings_new(), .stacks = stacks_new()};
}

static inline void tables_free(struct tables *tables) {
	strings_free(tables->strings);
	stacks_free(tables->stacks);
	*tables = (struct tables){0};
}
