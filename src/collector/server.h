// Inside collector/: what the threads share.
#pragma once

#include "collector/collector.h"
#include "collector/janitor.h"
#include "collector/session.h"

enum { CONNECTIONS_MOST = SLOTS_MOST + 128 };

struct server {
	struct collector_options options;
	struct kernel kernel;
	struct janitor *janitor;
	struct users *users;
	struct samples *samples;
	gid_t admins;                       // the group that sees all users; (gid_t)-1 if there is none
	int listener, epoll, done, signals; // control: its epoll, the janitor's news, signals
	int drain_epoll, drain_wake;
	pthread_t drainer;
	bool draining;
	bool stopping;
	uint32_t connected, open; // `open`: sessions that are drained; atomic
	uint32_t waiting;
	uint64_t started, idle_since, opened, refused, lost, left, bytes, events;
	struct session sessions[CONNECTIONS_MOST];
};

// ---- what 'status' shows (counters.c) ----

// False if the client does not read.
bool counters_tell(struct server *server, struct session *session);
uint64_t counters_lost(const struct session_slot *slot); // events of this session

// ---- draining (drain.c) ----

int drain_start(struct server *server); // 0 or -errno
void drain_stop(struct server *server);
// An open session joins or leaves; with its lock.
void drain_add(struct server *server, struct session *session);
void drain_remove(struct server *server, struct session *session);

// ---- requests (clients.c) ----

void clients_accept(struct server *server);
void clients_serve(struct server *server, struct session *session);
void clients_serve_waiting(struct server *server);
void clients_close(struct server *server, struct session *session);
void clients_say_going(struct server *server);
