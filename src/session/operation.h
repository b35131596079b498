// Operations: recordings started by one command and ended by another, for steps that
// are not one command. In between, the tracer runs on its own; commands find it through the state
// directory.
#pragma once

#include "session/request.h"
#include "session/state.h"
#include "settings/settings.h"

// Starts recording `pid` (0 for our caller, and when that has ended the process above it in the same job; see
// session/followed.h) and everything it starts, under a name. An earlier recording of that
// name is stopped and saved first. Returns once events arrive: 0, or -errno after an error message.
// `artifact` is the file that will be written.
int operation_start(const struct settings *settings, const char *name, pid_t pid, char artifact[4096]);

// Ends the operation. `answer` has the artifact, or the error for the caller to report. -errno if the
// tracer was gone; what is left of the recording has been reported.
int operation_stop(const struct state *session, enum control_request how, struct control_answer *answer);

// Saves what has been recorded so far; recording continues. Returns as operation_stop(); -ENOENT and similar
// if the session has just ended.
int operation_snapshot(const struct state *session, struct control_answer *answer);

// Lists the sessions whose tracer is alive. Cleans up the others: what they had recorded becomes an artifact,
// with a warning.
int operation_list(state_array *sessions);
void operation_clean_up(const struct state *session); // used for that; each system has its own way

// Whether an operation is still being recorded according to the recorder itself: WPR may have been stopped
// by another program. If false, this has been reported and the session is forgotten.
bool operation_is_there(const struct state *session);

// Stops and saves a recording of this name, if there is one, with a warning. 0 or -errno.
int operation_stop_earlier(const char *name);

// The session with this name or process id; if NULL, the only one. 0, or -ENOENT (none) or -EEXIST (several),
// after an error message.
int operation_find(const char *name, bool tests_too, struct state *session);
