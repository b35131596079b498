// A client's connection and its session: moves batches from the session's ring to the client's socket.
//
// Nothing is copied in between, and nothing waits: a batch that the socket has no room for stays in the ring.
// When the ring is full, the programs drop this session's events and count them.
#pragma once

#include "collector/kernel.h"
#include "collector/samples.h"
#include "collector/users.h"

#include <pthread.h>

enum session_state {
	SESSION_NONE,    // connected, or not even that
	SESSION_WAITING, // for a place, or for the programs to be attached
	SESSION_OPEN,
	SESSION_STOPPING, // END follows when all is sent
	SESSION_ENDED,
};

struct session {
	pthread_mutex_t lock; // for all below, between the control thread and the draining one
	int fd;               // -1 if there is no connection
	enum session_state state;
	struct peer peer;
	struct user *user;
	struct place *place;
	uint32_t handle;
	struct wanted wanted;
	struct samples_told told; // to this client
	uint64_t number;          // in the log
	bool flushing;            // FLUSHED is to be sent
	uint64_t cookie;
	uint64_t watermark; // the lanes have been flushed at this time; 0 once it is sent
	bool broken;        // the client cannot be reached
	int drain_epoll;    // where the draining thread waits for room in its socket
	uint64_t index;     // its number there
	uint64_t begun, bytes, events;
};

// The next ones need the lock.

bool session_answer(struct session *session, enum collector_type type, struct collector_answer *answer);

// Sends what is in the ring; first flushes the lanes if wanted.
void session_drain(struct kernel *kernel, struct samples *samples, struct session *session, bool flush);
