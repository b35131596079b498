// Commands that run beside us, for who runs many: each with its output in a file, so that nothing has to be
// pumped and nobody who keeps a pipe open can hold us up, and with all that it starts in a process group
// (on Windows: a job) of its own.
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

// From here to children_end() who wants to end us (a signal, Ctrl-C) is noticed by children_wait().
struct children *children_begin(void);
void children_end(struct children *children);

// How many at the same time, unless somebody has said it.
unsigned children_usual(void);

// Starts a command with no input; `output` gets what it says. 0 or -errno.
int child_start(struct children *children, struct child *child, char **words, const char *output);
bool child_ended(struct child *child, int *status); // *status: as a shell gives it; once for each

// Until one has ended, somebody wants to end us or the time is over (-1: there is no limit). With what status
// we are to end, 0: nobody wants that.
int children_wait(struct children *children, int milliseconds);

// Hands on to one what we are to end by; `at_once`: ends it and all that it has started.
void child_stop(struct children *children, struct child *child, bool at_once);

// ---- commands ----

// What a command writes to standard output, behind which a NUL follows. It has no input, and what it says
// beside that is dropped. Its exit status, or -errno.
int child_output(char **command, struct buffer *text);

char *child_find_program(const char *name); // as it would be found; to be freed

// A further word of a text that programs here divide into words.
void child_quote(struct buffer *line, const char *word);
