// What clients ask for, in the control thread. Every answer is sent at once or not at all: a client that does
// not read its answers is disconnected.
#include "base/log.h"
#include "capture/spool.h"
#include "collector/request.h"
#include "collector/server.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

// Those that the programs always record. Marks are the client's own business.
#define SOURCES_ALWAYS                                                                                       \
	(1u << SOURCE_SCHED | 1u << SOURCE_PROCESS | 1u << SOURCE_IRQ | 1u << SOURCE_SIGNAL |                \
	 1u << SOURCE_MARKER)

// ---- the end of a session ----

// One line for each session, for the administrator.
static void write_audit_line(const struct session *session, uint64_t lost, uint64_t left) {
	fprintf(stderr,
		"tracelet collector: session %" PRIu64 " of uid %u, process %d: %.3f s, %" PRIu64
		" bytes, %" PRIu64 " events lost, %" PRIu64 " tasks left, %" PRIu64 " events sent%s\n",
		session->number, (unsigned)session->peer.uid, (int)session->peer.pid,
		(double)(clock_boot_now() - session->begun) / 1e9, session->bytes, lost, left,
		session->events, session->state == SESSION_ENDED ? "" : ", not ended by the client");
}

static struct janitor_extras extras_of(const struct session *session) {
	const struct wanted *wanted = &session->wanted;
	return (struct janitor_extras){wanted->sample_frequency,
				       (wanted->sources & extras_all()) |
					       (wanted->off_cpu ? EXTRA_OFF_CPU : 0)};
}

static bool wants_extras(const struct session *session) {
	struct janitor_extras extras = extras_of(session);
	return extras.frequency || extras.sources;
}

// All that open and waiting sessions want, and the highest rate of samples.
static void update_extras(struct server *server) {
	struct janitor_extras all = {0};
	for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
		const struct session *session = &server->sessions[i];
		if (session->fd < 0 || session->state == SESSION_NONE || session->state == SESSION_ENDED)
			continue;
		struct janitor_extras its = extras_of(session);
		all.frequency = MAX(all.frequency, its.frequency);
		all.sources |= its.sources;
	}
	janitor_want(server->janitor, all);
}

static void end_session(struct server *server, struct session *session) {
	const struct session_slot *slot = kernel_slot(&server->kernel, session->place);
	uint64_t lost = counters_lost(slot), left = slot->left;
	kernel_end(&server->kernel, session->place);
	drain_remove(server, session);
	session->user->sessions--;
	session->user->lost += lost;
	session->user->bytes += session->bytes;
	session->user->events += session->events;
	server->events += session->events;
	server->bytes += session->bytes;
	server->lost += lost;
	server->left += left;
	write_audit_line(session, lost, left);
	janitor_give_back(server->janitor, session->place);
	janitor_expect_no_more(server->janitor);
}

void clients_close(struct server *server, struct session *session) {
	pthread_mutex_lock(&session->lock);
	if (session->state == SESSION_WAITING) {
		server->waiting--;
		session->user->sessions--;
		janitor_expect_no_more(server->janitor);
	} else if (session->state != SESSION_NONE) {
		end_session(server, session);
	}
	close(session->fd);
	session->fd = -1;
	session->state = SESSION_NONE;
	bool wanted_more = wants_extras(session);
	session->wanted = (struct wanted){0};
	if (wanted_more)
		update_extras(server);
	session->place = NULL;
	session->user->connections--;
	if (!--server->connected)
		server->idle_since = clock_boot_now();
	pthread_mutex_unlock(&session->lock);
}

// ---- connections ----

static struct session *free_connection(struct server *server) {
	for (size_t i = 0; i < CONNECTIONS_MOST; i++)
		if (server->sessions[i].fd < 0)
			return &server->sessions[i];
	return NULL;
}

static void refuse_connection(struct server *server, int fd, enum collector_refusal refusal) {
	struct session passing = {.fd = fd, .drain_epoll = -1};
	server->refused++;
	session_answer(&passing, COLLECTOR_REFUSED, &(struct collector_answer){.refusal = refusal});
	close(fd);
}

void clients_accept(struct server *server) {
	struct peer peer;
	int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	if (peer_of(fd, server->admins, &peer)) {
		close(fd);
		return;
	}
	if (!peer_is_here(&peer)) {
		refuse_connection(server, fd, COLLECTOR_NO_NAMESPACE);
		return;
	}
	struct user *user = users_get(server->users, peer.uid);
	struct session *session = free_connection(server);
	bool quick = !user_may_connect(server->users, user, clock_boot_now());
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = session ? session - server->sessions : 0};
	if (quick || !session || epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event)) {
		user->refused++;
		refuse_connection(server, fd, quick ? COLLECTOR_NO_RATE : COLLECTOR_NO_FULL);
		return;
	}
	pthread_mutex_lock(&session->lock);
	session->fd = fd;
	session->peer = peer;
	session->user = user;
	session->flushing = session->broken = false;
	session->drain_epoll = -1;
	session->watermark = session->bytes = session->events = 0;
	pthread_mutex_unlock(&session->lock);
	user->connections++;
	server->connected++;
}

// ---- requests; with the session's lock. False: disconnect ----

static bool refuse(struct server *server, struct session *session, enum collector_refusal refusal) {
	server->refused++;
	session->user->refused++;
	session_answer(session, COLLECTOR_REFUSED, &(struct collector_answer){.refusal = refusal});
	return false;
}

static uint64_t sources_recorded(const struct server *server) {
	return SOURCES_ALWAYS |
	       (server->kernel.has_more ? 1ull << SOURCE_SAMPLE | (extras_all() & ~EXTRA_OFF_CPU) : 0);
}

// Begins a session that waits, as soon as all is there for it.
static bool try_to_begin(struct server *server, struct session *session) {
	enum janitor_answer answer = janitor_take(server->janitor, session->peer.uid, extras_of(session),
						  &session->place);
	if (answer == JANITOR_WAIT)
		return true;
	if (answer != JANITOR_READY)
		return refuse(server, session,
			      answer == JANITOR_FULL ? COLLECTOR_NO_FULL : COLLECTOR_NO_KERNEL);
	session->handle = kernel_begin(&server->kernel, session->place, &session->peer, &session->wanted);
	memset(&session->told, 0, sizeof(session->told));
	session->number = ++server->opened;
	session->user->opened++;
	session->begun = clock_boot_now();
	session->state = SESSION_OPEN;
	server->waiting--;
	drain_add(server, session);
	struct collector_answer opened = {
		.session = (uint32_t)session->number,
		.sources = sources_recorded(server),
		.long_wait = kernel_slot(&server->kernel, session->place)->long_wait};
	return session_answer(session, COLLECTOR_OPENED, &opened);
}

static bool open_session(struct server *server, struct session *session,
			 const struct collector_request *request, int pidfd) {
	if (session->state != SESSION_NONE)
		return refuse(server, session, COLLECTOR_NO_MALFORMED);
	if (request->sources & ~sources_recorded(server))
		return refuse(server, session, COLLECTOR_NO_SOURCES);
	if (request->flags >= COLLECTOR_FLAGS_END)
		return refuse(server, session, COLLECTOR_NO_MALFORMED);
	if (request->flags & COLLECTOR_OFF_CPU && !server->kernel.has_more)
		return refuse(server, session, COLLECTOR_NO_SOURCES);
	if (request->sample_frequency > server->options.limits.samples)
		return refuse(server, session, COLLECTOR_NO_SAMPLES);
	enum collector_refusal refusal = peer_look(&session->peer, pidfd);
	if (refusal)
		return refuse(server, session, refusal);
	if (kernel_is_followed(&server->kernel, pidfd))
		return refuse(server, session, COLLECTOR_NO_NESTED);
	if (!user_may_open(server->users, session->user))
		return refuse(server, session, COLLECTOR_NO_QUOTA);
	session->wanted = (struct wanted){.long_wait = request->long_wait,
					  .sample_frequency = request->sample_frequency,
					  .sources = request->sources | 1u << SOURCE_PROCESS,
					  .hard_faults = request->flags & COLLECTOR_HARD_FAULTS,
					  .off_cpu = request->flags & COLLECTOR_OFF_CPU};
	session->state = SESSION_WAITING;
	if (wants_extras(session))
		update_extras(server);
	session->user->sessions++;
	server->waiting++;
	janitor_expect(server->janitor);
	return try_to_begin(server, session);
}

static bool follow(struct server *server, struct session *session, int pidfd) {
	if (session->state != SESSION_OPEN)
		return refuse(server, session, COLLECTOR_NO_MALFORMED);
	enum collector_refusal refusal = peer_may_follow(&session->peer, pidfd);
	int error = refusal ? 0 : kernel_follow(&server->kernel, session->handle, pidfd);
	if (error)
		refusal = error == -EBUSY   ? COLLECTOR_NO_NESTED
			  : error == -ESRCH ? COLLECTOR_NO_GONE
					    : COLLECTOR_NO_KERNEL;
	return session_answer(session, COLLECTOR_FOLLOWED, &(struct collector_answer){.refusal = refusal});
}

static bool flush(struct server *server, struct session *session, uint64_t cookie) {
	if (session->state != SESSION_OPEN)
		return refuse(server, session, COLLECTOR_NO_MALFORMED);
	session->flushing = true;
	session->cookie = cookie;
	session_drain(&server->kernel, server->samples, session, true);
	return true;
}

static bool stop(struct server *server, struct session *session) {
	if (session->state != SESSION_OPEN)
		return refuse(server, session, COLLECTOR_NO_MALFORMED);
	kernel_stop(&server->kernel, session->place);
	session->state = SESSION_STOPPING;
	session_drain(&server->kernel, server->samples, session, true);
	return true;
}

static bool answer_request(struct server *server, struct session *session,
			   const struct collector_request *request, int fd) {
	switch (request->head.type) {
	case COLLECTOR_OPEN:
		return open_session(server, session, request, fd);
	case COLLECTOR_FOLLOW:
		return follow(server, session, fd);
	case COLLECTOR_FLUSH:
		return flush(server, session, request->cookie);
	case COLLECTOR_STOP:
		return stop(server, session);
	default:
		return counters_tell(server, session);
	}
}

// ---- receiving ----

enum { DESCRIPTORS_MOST = 4 }; // more than any request has; the kernel closes the rest

struct received {
	uint8_t bytes[sizeof(struct collector_request) + 1]; // one more, to see that it is longer
	ssize_t size;
	int fds[DESCRIPTORS_MOST];
	size_t count;
};

static void take_descriptors(struct received *received, struct msghdr *message) {
	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
		size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count && received->count < DESCRIPTORS_MOST; i++)
			memcpy(&received->fds[received->count++], CMSG_DATA(part) + i * sizeof(int),
			       sizeof(int));
	}
}

// False if there is nothing, or the client is gone.
static bool receive(int socket, struct received *received) {
	union {
		char bytes[CMSG_SPACE(DESCRIPTORS_MOST * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec piece = {received->bytes, sizeof(received->bytes)};
	struct msghdr message = {.msg_iov = &piece,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	received->count = 0;
	received->size = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (received->size <= 0)
		return false;
	take_descriptors(received, &message);
	if (message.msg_flags & (MSG_CTRUNC | MSG_TRUNC))
		received->size = 0; // too much of something: malformed
	return true;
}

void clients_serve(struct server *server, struct session *session) {
	struct received received;
	struct collector_request request;
	if (!receive(session->fd, &received)) {
		if (received.size == 0 || (errno != EAGAIN && errno != EINTR))
			clients_close(server, session);
		return;
	}
	pthread_mutex_lock(&session->lock);
	enum collector_refusal refusal = request_check(received.bytes, (size_t)received.size, received.count,
						       &request);
	bool stays = refusal ? refuse(server, session, refusal)
			     : answer_request(server, session, &request, received.fds[0]);
	pthread_mutex_unlock(&session->lock);
	for (size_t i = 0; i < received.count; i++)
		close(received.fds[i]);
	if (!stays)
		clients_close(server, session);
}

void clients_serve_waiting(struct server *server) {
	for (size_t i = 0; i < CONNECTIONS_MOST && server->waiting; i++) {
		struct session *session = &server->sessions[i];
		if (session->state != SESSION_WAITING)
			continue;
		pthread_mutex_lock(&session->lock);
		bool stays = try_to_begin(server, session);
		pthread_mutex_unlock(&session->lock);
		if (!stays)
			clients_close(server, session);
	}
}

void clients_say_going(struct server *server) {
	for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
		struct session *session = &server->sessions[i];
		if (session->fd < 0)
			continue;
		pthread_mutex_lock(&session->lock);
		session_drain(&server->kernel, server->samples, session, true);
		session_answer(session, COLLECTOR_GOING, &(struct collector_answer){0});
		pthread_mutex_unlock(&session->lock);
		clients_close(server, session);
	}
}
