// The options that all verbs about samples share: what to read, what to count, how to
// name it. They are those of stackcollapse-perf.pl.
#pragma once

#include "cli/verb.h"
#include "event/sample_tree.h"
#include "read/reader.h"

struct sample_input {
	struct sample_options options;
	const struct reader *reader; // NULL to recognise it by content
};

enum {
	OPTION_PID = LETTERS + 1,
	OPTION_TID,
	OPTION_KERNEL,
	OPTION_JIT,
	OPTION_ALL,
	OPTION_ADDRS,
	OPTION_EVENT_FILTER,
	OPTION_ALL_EVENTS,
	OPTION_METRIC,
	OPTION_INLINE,
	OPTION_NO_INLINE,
	OPTION_SRCLINE,
	OPTION_CONTEXT,
	OPTION_FROM,
	OPTION_OF_VERB, // the verb's own options start here
};

extern const struct verb_option sample_options[];

// Handles one of these options. False if it is bad, after an error message.
bool sample_option(struct sample_input *input, int option, const char *value);
