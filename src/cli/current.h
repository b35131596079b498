// For verbs about one session that is still recording.
#pragma once

#include "cli/verb.h"
#include "session/operation.h"

struct current_flags {
	bool marks, json;
};

// Finds the session that the arguments name. Returns an exit status to end with, or -1 to continue. `flags`
// may be NULL if the verb has no such options.
int verb_find_session(int argc, char **argv, const struct verb *verb, struct state *session,
		      struct current_flags *flags);
