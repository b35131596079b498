// What a run was asked for. Filled in by the command line, read by everyone.
#pragma once

#include "capture/capture.h"

struct settings {
	const char *name;       // NULL: made from the command
	const char *output_dir;
	const char *json;       // a number: this descriptor; else a file; NULL: no
	char **command;         // ends with NULL
	enum capture_scope scope;
	size_t buffer_size;     // 0: sized to the machine
	double duration;        // seconds after which recording stops, 0: with the test
	double wait_tree;       // seconds to wait for the test's orphans, negative: do not
	bool strict;            // no trace, no test
	bool keep_spool;
	bool quiet, verbose;
};
