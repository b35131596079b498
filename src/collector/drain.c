// The draining thread: sends what is in the rings when a ring fills, when a socket has room again, and ten
// times a second. Without sessions it sleeps.
#include "capture/spool.h"
#include "collector/server.h"
#include "process/urgent.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { TICK_MS = 100, EVENTS_AT_ONCE = 64 };
#define WAKE UINT64_MAX

// If the control thread has the session right now, it drains it.
static void drain_one(struct server *server, struct session *session, bool flush) {
	if (pthread_mutex_trylock(&session->lock))
		return;
	session_drain(&server->kernel, server->samples, session, flush);
	pthread_mutex_unlock(&session->lock);
}

static void drain_all(struct server *server) {
	kernel_set_clock(&server->kernel);
	kernel_take_nudges(&server->kernel);
	for (size_t i = 0; i < CONNECTIONS_MOST; i++)
		if (__atomic_load_n((int *)&server->sessions[i].state, __ATOMIC_RELAXED) >= SESSION_OPEN)
			drain_one(server, &server->sessions[i], true);
}

static void take_events(struct server *server, const struct epoll_event *events, int count) {
	uint64_t news;
	for (int i = 0; i < count; i++) {
		if (events[i].data.u64 < CONNECTIONS_MOST)
			drain_one(server, &server->sessions[events[i].data.u64], false);
		else if (read(server->drain_wake, &news, sizeof(news)) < 0)
			continue; // it only wakes
	}
}

static void *drain_always(void *context) {
	struct server *server = context;
	struct epoll_event events[EVENTS_AT_ONCE];
	uint64_t ticked = 0;
	urgent_begin();
	while (!__atomic_load_n(&server->stopping, __ATOMIC_ACQUIRE)) {
		bool idle = !__atomic_load_n(&server->open, __ATOMIC_RELAXED);
		uint64_t since = (clock_boot_now() - ticked) / 1000000;
		int wait = idle ? -1 : since >= TICK_MS ? 0 : (int)(TICK_MS - since);
		int count = epoll_wait(server->drain_epoll, events, EVENTS_AT_ONCE, wait);
		take_events(server, events, count);
		if (!idle && clock_boot_now() - ticked >= TICK_MS * 1000000ull) {
			ticked = clock_boot_now();
			drain_all(server);
		}
	}
	return NULL;
}

static void wake(struct server *server) {
	uint64_t one = 1;
	if (write(server->drain_wake, &one, sizeof(one)) < 0)
		return; // it is awake already
}

int drain_start(struct server *server) {
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = WAKE};
	server->drain_epoll = epoll_create1(EPOLL_CLOEXEC);
	server->drain_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->drain_epoll < 0 || server->drain_wake < 0 ||
	    epoll_ctl(server->drain_epoll, EPOLL_CTL_ADD, server->drain_wake, &event))
		return -errno;
	int error = -pthread_create(&server->drainer, NULL, drain_always, server);
	server->draining = !error;
	return error;
}

void drain_stop(struct server *server) {
	__atomic_store_n(&server->stopping, true, __ATOMIC_RELEASE);
	if (server->draining) {
		wake(server);
		pthread_join(server->drainer, NULL);
	}
	if (server->drain_epoll >= 0)
		close(server->drain_epoll);
	if (server->drain_wake >= 0)
		close(server->drain_wake);
}

// Edges only: a ring that cannot be sent now would wake us again and again. The socket is of interest when it
// had no room (session.c).
void drain_add(struct server *server, struct session *session) {
	uint64_t index = (uint64_t)(session - server->sessions);
	struct epoll_event ring = {.events = EPOLLIN | EPOLLET, .data.u64 = index};
	struct epoll_event room = {.events = EPOLLONESHOT, .data.u64 = index};
	session->drain_epoll = server->drain_epoll;
	session->index = index;
	epoll_ctl(server->drain_epoll, EPOLL_CTL_ADD, session->place->ring.fd, &ring);
	epoll_ctl(server->drain_epoll, EPOLL_CTL_ADD, session->fd, &room);
	if (__atomic_fetch_add(&server->open, 1, __ATOMIC_RELAXED) == 0)
		wake(server);
}

void drain_remove(struct server *server, struct session *session) {
	epoll_ctl(server->drain_epoll, EPOLL_CTL_DEL, session->place->ring.fd, NULL);
	epoll_ctl(server->drain_epoll, EPOLL_CTL_DEL, session->fd, NULL);
	__atomic_fetch_sub(&server->open, 1, __ATOMIC_RELAXED);
}
