// The processes of the test: every process below us in /proc that was not there
// before the test and is not the tracer. Orphans come back to us if we adopt them
// (test_adopt_orphans()), so one that detached itself is found as well.
//
// A process is known by its id and the time it began: an id that another process
// has taken over is never signalled.
#pragma once

#include "base/array.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
	pid_t pid, parent;
	uint64_t start; // in the kernel's ticks since boot
	char state;     // a letter, as in ps
	bool over;      // ended, and not yet waited for
};

struct processes {
	ARRAY(struct process) list;
};

struct tree {
	struct processes strangers; // children of ours before the test was: a shell's, that became us by exec
	pid_t tracer;               // -1: there is none
};

// Before the test and the tracer are there.
void tree_begin(struct tree *tree);
void tree_free(struct tree *tree);

// The processes of the tree that are not over, the test itself among them.
void tree_list(const struct tree *tree, struct processes *found);

// Sends the signal to each; what has ended meanwhile is left out. How many got it.
size_t tree_signal(const struct processes *processes, int signal);
