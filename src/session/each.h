// Every case of a test program by itself, traced under its own name.
#pragma once

#include "session/settings.h"

struct each_options {
	unsigned jobs;         // cases at the same time, 0: as many as there are CPUs
	const char *filter;    // only cases whose name this extended regular expression is found in
	const char *framework; // NULL: found out
	const char *select;    // the user's words to run one case, "{}" for its name
	const char *junit;     // file for the results
	bool list;             // only list the cases
};

// The exit status that the framework would have given for all cases together.
int session_each(struct settings *settings, const struct each_options *options);
