// How commands that control sessions (`tracelet stop`, `snapshot` …) talk to a tracer:
// a socket in the state directory, with one request and one answer for each
// connection. Only requests by the same user or by root are accepted.
#pragma once

#include "session/followed.h"
#include "session/request.h"
#include "session/state.h"

// ---- the tracer's side ----

struct control {
	struct state state;
	int listener;   // -1 if the session cannot be controlled
	int connection; // a connection whose request has not arrived yet, or -1
	uint64_t connected;
	int waiting; // the connection that will be answered when recording has ended, or -1
	pid_t saver; // process that makes a snapshot, or 0
	int asker;   // connection that waits for the snapshot, or -1
	char *snapshot;
	uint64_t open_at; // the session is registered at this time; 0 if it is, or is not to be
};

#define CONTROL_NONE ((struct control){.listener = -1, .connection = -1, .waiting = -1, .asker = -1})

// Registers the session. The caller reports a failure; recording continues
// without.
int control_open(struct control *control, const struct recording *recording, const char *log);

// The same for a test, in a moment, by control_attend(): making and deleting the files takes longer than many
// tests.
void control_open_soon(struct control *control);

// How a tracer handles signals: SIGUSR1 makes a snapshot, SIGTERM ends an operation;
// all others are for the test.
void control_take_signals(bool operation);

// Records, serves requests and makes snapshots until there is something else to do. Returns
// CONTROL_STOP or CONTROL_CANCEL on such a request, or 0 if `waiter` (-1 if none) has sent a
// message or closed its end.
int control_attend(struct control *control, struct recording *recording, int waiter);

void control_answer(struct control *control, const struct control_answer *answer); // to `waiting`
void control_hang_up(struct control *control); // takes no more requests; the session stays registered
void control_close(struct control *control);

// ---- the other side ----

// Sends a request and waits for the answer. 0, or -errno if the tracer cannot be reached.
int control_ask(const struct state *session, enum control_request request, struct control_answer *answer);
