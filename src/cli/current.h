// For verbs about one session that goes on.
#pragma once

#include "cli/verb.h"
#include "session/operation.h"

// The session that the arguments name. An exit status to end with, or -1 to go on. `marks`: where --marks
// is noted; NULL: there is no such option.
int verb_find_session(int argc, char **argv, const struct verb *verb, struct state *session, bool *marks);
