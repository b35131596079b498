// Runs every case of a test program separately, traced under its own name.
#pragma once

#include "process/child.h"
#include "settings/settings.h"

// How `each` starts `run` for a case: RUN_CASE FRAMEWORK CASE OUTPUT REPORT run OPTIONS... OUTPUT is the file
// that gets the case's output. REPORT is "=" and the user's text for a case that passed, or empty. Not for
// users.
#define RUN_CASE "run-case"

struct each_options {
	unsigned jobs;         // cases at the same time; 0 for one per CPU
	const char *filter;    // only cases whose name contains this extended regular expression
	const char *framework; // NULL to recognise it
	const char *select;    // the user's arguments to run one case, with "{}" for its name
	const char *report;    // the text that a passed case prints, or NULL for the framework's
	const char *junit;     // file for the results, or NULL
	child_main *here;      // runs `tracelet WORDS...` in this process; NULL executes the program
	bool list;             // only list the cases
	bool once;             // do not run failed cases again
	bool all;              // every case has a line in the table
};

// The exit status that the framework would have given for all cases together.
int session_each(struct settings *settings, const struct each_options *options);
