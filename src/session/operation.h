// Operations: recordings that are begun by one command and ended by another, for
// steps that are not one command. The tracer goes on by itself in between; it is
// found through the state folder.
#pragma once

#include "session/request.h"
#include "session/settings.h"
#include "session/state.h"

// Begins to record `pid` (0: whoever has started us) and all it starts under a name. A recording of that name
// is stopped and saved first. Returns when events come in: 0 or -errno, said. `artifact` is the file that
// will be made.
int operation_start(const struct settings *settings, const char *name, pid_t pid, char artifact[4096]);

// Ends it. `answer` has the artifact, or what went wrong, for the caller to say. -errno: the
// tracer was gone; what is left of the recording has been said.
int operation_stop(const struct state *session, enum control_request how, struct control_answer *answer);

// Saves what there is so far, and recording goes on. As operation_stop(); -ENOENT and the like: it has just
// ended.
int operation_snapshot(const struct state *session, struct control_answer *answer);

// The sessions whose tracer is there. Those whose tracer is gone are cleaned up: what they
// had recorded is made an artifact, and one line tells.
int operation_list(state_array *sessions);
void operation_clean_up(const struct state *session); // for that: each system has its own way

// Whether an operation is being recorded as far as those know who record it: WPR may have been told to
// end it behind our back. False: it is not, which has been said, and it is forgotten.
bool operation_is_there(const struct state *session);

// Stops and saves what is being recorded under a name; its end is told in a warning. 0 or -errno.
int operation_stop_earlier(const char *name);

// The one session of that name, or with that number; NULL: the only one there is. 0, or
// -ENOENT (there is none) or -EEXIST (several), said.
int operation_find(const char *name, bool tests_too, struct state *session);
