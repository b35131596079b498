// One recording by Windows Performance Recorder, from its name to its .etl file.
#pragma once

#include "session/settings.h"
#include "session/state.h"

struct wpr_session {
	const struct settings *settings;
	const char *name; // of the test or operation, made safe
	struct state state;
	bool active;
	void *give_up; // an event of Windows: whoever waits for a collector waits no longer. Or NULL
};

// Gives it the instance name by which WPR will know it.
void wpr_session_name(struct wpr_session *session);

// Begins to record; waits while all collectors are in use, at most TRACELET_WPR_WAIT_SECONDS
// (120). False: what went wrong is in `why`, and nothing is left.
bool wpr_session_begin(struct wpr_session *session, bool operation, char why[2048]);

// Ends it and makes state->artifact. False: there is none, `why` says so. What is said though there
// is one is a warning.
bool wpr_session_save(const struct state *state, char why[2048]);

void wpr_session_cancel(const struct state *state); // nothing is left of it
