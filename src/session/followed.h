// The process that an operation follows. When it ends, the operation continues with the next
// process above it in the same job: a CI agent runs each step in its own shell, and `start`, the
// work and `stop` may be in different ones.
#pragma once

#include "process/ancestors.h"
#include "session/recording.h"

struct followed {
	struct ancestor process;
	ancestor_array wider; // candidates for when it ends, nearest first
	size_t tried;         // how many of these were tried
	int ended;            // pidfd: readable once it has ended; -1 if nothing is followed
};

#define FOLLOWED_NONE ((struct followed){.ended = -1})

// `pid` is the process that the caller asked for; 0 for the caller, and the job above it.
void followed_choose(struct followed *followed, pid_t pid);
void followed_begin(struct followed *followed); // in the tracer
void followed_free(struct followed *followed);

// Call when the process has ended. True if another one is followed now. False if there is none, so
// that no new process will be recorded; a warning says so, and is in `words`, too.
bool followed_next(struct followed *followed, struct recording *recording, char *words, size_t size);
