// One recording by Windows Performance Recorder, from its name to its .etl file.
#pragma once

#include "session/state.h"
#include "settings/settings.h"

struct wpr_session {
	const struct settings *settings;
	const char *name; // safe name of the test or operation
	struct state state;
	bool active;
	void *give_up; // a Windows event that ends waiting for a collector, or NULL
};

// Gives it a WPR instance name.
void wpr_session_name(struct wpr_session *session);

// Starts recording; waits while all collectors are in use, at most TRACELET_WPR_WAIT_SECONDS
// (120). False on failure, with the reason in `why`; nothing is left then.
bool wpr_session_begin(struct wpr_session *session, bool operation, char why[2048]);

// Stops recording and writes state->artifact. False if there is none, with the reason in `why`. If
// there is one, a text in `why` is a warning.
bool wpr_session_save(const struct state *state, char why[2048]);

void wpr_session_cancel(const struct state *state); // leaves nothing
