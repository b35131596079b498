// The words that profiles of Windows Performance Recorder have for what the kernel
// can tell, and what answers to each on Linux.
#pragma once

#include "base/memory.h"
#include "event/record.h"

enum { KEYWORD_COUNT = 68, STACK_COUNT = 179, NOT_RECORDED = -1 };

struct system_keyword {
	const char *name;
	const char *linux_events; // NULL: Linux has nothing like it
	int source;               // RECORD_SOURCE_*, or NOT_RECORDED so far
	const char *part;         // the part of it that other sources record, or NULL
	bool newer;               // than the schema of WPR before 2018, which refuses it
};

extern const struct system_keyword system_keywords[KEYWORD_COUNT];
extern const char *const stack_names[STACK_COUNT];

// Places in these tables, -1: there is no such word. Case does not matter.
int keyword_find(const char *name);
int stack_find(const char *name);

// Whether it, or a part of it, is recorded here; the same in words.
bool keyword_recorded(const struct system_keyword *keyword);
const char *keyword_state(const struct system_keyword *keyword);
