// The processes of the test: every process below us in /proc that did not exist before
// the test and is not the tracer. Orphans come back to us if we adopt them
// (test_adopt_orphans()), so daemons are found as well.
//
// A process is identified by its id and its start time: a process that reuses an id is
// never signalled.
#pragma once

#include "base/array.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
	pid_t pid, parent;
	uint64_t start; // in the kernel's ticks since boot
	char state;     // a letter, as in ps
	bool over;      // ended, but not yet waited for
};

struct processes {
	ARRAY(struct process) list;
};

struct tree {
	struct processes strangers; // our children from before the test: of a shell that became us by exec
	pid_t tracer;               // -1 if none
};

// Call this before the test and the tracer exist.
void tree_begin(struct tree *tree);
void tree_free(struct tree *tree);

// The processes of the tree that have not ended, including the test itself.
void tree_list(const struct tree *tree, struct processes *found);

// Sends the signal to each; skips those that have ended. Returns how many got it.
size_t tree_signal(const struct processes *processes, int signal);
