// The options that all verbs about samples share: what to read, what to count, how to
// name it. They are those of stackcollapse-perf.pl.
#pragma once

#include "cli/verb.h"
#include "event/sample_tree.h"
#include "read/reader.h"

struct sample_input {
	struct sample_options options;
	const struct reader *reader; // NULL to recognise it by content
	bool wakeups;                // waits have the stacks of what ended them
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
	OPTION_WAKEUPS,
	OPTION_OF_VERB, // the verb's own options start here
};

extern const struct verb_option sample_options[];

// As pipeline_samples(), the way these options say.
int sample_input_read(const struct sample_input *input, const char *const *paths, size_t count,
		      uint32_t flags, struct tables *tables, struct sink *sink);

// Handles one of these options. False if it is bad, after an error message.
bool sample_option(struct sample_input *input, int option, const char *value);
