// Commands that run next to us, for callers that run many: each writes its output to a file, so that nothing
// has to be pumped and no process that keeps a pipe open can block us, and everything it starts is in its own
// process group (on Windows: a job).
#pragma once

#include "base/buffer.h"

#include <sys/types.h>

struct child {
#ifdef _WIN32
	void *process, *job, *waiting;
#else
	pid_t pid;
#endif
};

struct children;

// Set in the environment of children: their parent has already reported which parts of the profile are not
// recorded.
#define CHILD_REPORTED "TRACELET_TOLD"

// From here to children_end(), requests to end us (a signal, Ctrl-C) are noticed by children_wait().
struct children *children_begin(void);
bool children_end(struct children *children); // true if one was killed and left its recording running

// How many to run at the same time by default.
unsigned children_usual(void);

// The main function of this program, to be called with words in place of executing it again.
typedef int child_main(int argc, char **argv);

// With it, commands that name this program run in a fork of it, which takes less time than executing it
// again. NULL executes everything. On Windows it makes no difference.
void children_run_here(struct children *children, const char *program, child_main *here);

// Starts a command without input; its output goes to `output`. 0 or -errno.
int child_start(struct children *children, struct child *child, char **words, const char *output);
bool child_ended(struct child *child, int *status); // *status: as in a shell; true once for each

// Waits until one has ended, we are asked to end or the time is over (-1 for no limit). Returns the status to
// end with, or 0 to continue.
int children_wait(struct children *children, int milliseconds);

// Passes the request to end on to one child; `at_once`: kills it and everything that it has started.
void child_stop(struct children *children, struct child *child, bool at_once);

// ---- commands ----

// Reads what a command writes to standard output, followed by a NUL. It has no input, and its standard error
// is discarded. Its exit status, or -errno.
int child_output(char **command, struct buffer *text);

char *child_find_program(const char *name); // as the system would find it; to be freed

// Appends a word to a text that programs here split into words.
void child_quote(struct buffer *line, const char *word);
