// Part of the spool reader: frames of Python's interpreter, which belong to samples.
#pragma once

#include "base/cursor.h"
#include "event/event.h"
#include "format/record.h"

struct script_code {
	uint32_t name, file; // strings
	uint32_t first_line;
	uint32_t line_table; // enum python_lines
	uint32_t lines;      // string: the table's bytes
};

struct scripts {
	ARRAY(struct script_code) codes;
	struct map by_place; // process and address, hashed → index in `codes` + 1
	struct map waiting;  // thread → the lower half of its sample's time, and its stack
	struct strings *strings;
	struct stacks *stacks;
};

// Takes a record. `bad` is cleared if it is a good one of these kinds.
void scripts_take(struct scripts *scripts, const struct record *head, struct cursor *in, uint64_t time,
		  bool *bad);
// The stack for event.sample.script.
uint32_t scripts_for(struct scripts *scripts, uint32_t tid, uint64_t time);
void scripts_free(struct scripts *scripts);
