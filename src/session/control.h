// The talk between whoever controls sessions (`tracelet stop`, `snapshot` …) and
// the tracer of one: a socket in the state folder, one request and one answer for
// each connection. Only the same user, or root, is listened to.
#pragma once

#include "session/recording.h"
#include "session/request.h"
#include "session/state.h"

// ---- the tracer's side ----

struct control {
	struct state state;
	int listener;   // -1: nobody can talk to us
	int connection; // has not said yet what it wants, or -1
	uint64_t connected;
	int waiting; // the connection that will be answered when recording has ended, or -1
	pid_t saver; // makes a snapshot, or 0
	int asker;   // waits for it, or -1
	char *snapshot;
};

#define CONTROL_NONE ((struct control){.listener = -1, .connection = -1, .waiting = -1, .asker = -1})

// Makes the session known. A failure is the caller's to tell: recording goes on without.
int control_open(struct control *control, const struct recording *recording, const char *log);

// What a tracer does with signals: SIGUSR1 asks for a snapshot, SIGTERM ends an operation,
// the others are the test's business.
void control_take_signals(bool operation);

// Records, serves requests and makes snapshots until something else is to be done: returns
// CONTROL_STOP or CONTROL_CANCEL if that was asked for, or 0: `waiter` (-1: there is none)
// has something to say, or has gone.
int control_attend(struct control *control, struct recording *recording, int waiter);

void control_answer(struct control *control, const struct control_answer *answer); // to `waiting`
void control_close(struct control *control);

// ---- the other side ----

// Asks and waits. 0 or -errno: the tracer could not be asked.
int control_ask(const struct state *session, enum control_request request, struct control_answer *answer);
