// The keywords that profiles of Windows Performance Recorder use for kernel events, and their
// equivalents on Linux.
#pragma once

#include "base/memory.h"
#include "format/sources.h"

enum { KEYWORD_COUNT = 68, STACK_COUNT = 179, NOT_RECORDED = -1 };

struct system_keyword {
	const char *name;
	const char *linux_events; // NULL if Linux has nothing like it
	const char *part;         // the part that other sources record, or NULL
	bool newer;               // the schema of WPR before 2018 rejects it
};

extern const struct system_keyword system_keywords[KEYWORD_COUNT];
extern const char *const stack_names[STACK_COUNT];

// Indexes into these tables; -1 if there is no such keyword. Ignores case.
int keyword_find(const char *name);
int stack_find(const char *name);

// Whether the keyword asks for this source (format/source_table.h). Then: the first source that it
// asks for, or NOT_RECORDED.
bool keyword_asks_for(const struct system_keyword *keyword, int source);
int keyword_source(const struct system_keyword *keyword);

// Whether at least part of the keyword is recorded here; the same as text.
bool keyword_recorded(const struct system_keyword *keyword);
const char *keyword_state(const struct system_keyword *keyword);
