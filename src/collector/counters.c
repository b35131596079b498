// What 'tracelet status --collector' shows: how the collector is, and its users and sessions. Root and
// administrators see all of them, other users their own. It is sent at once or not at all, as every answer.
#include "base/array.h"
#include "capture/spool.h"
#include "collector/server.h"

#include <sys/resource.h>
#include <sys/socket.h>

uint64_t counters_lost(const struct session_slot *slot) {
	uint64_t lost = 0;
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		lost += slot->slot.lost[source];
	return lost;
}

static uint64_t cpu_used(void) {
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * 1000000000u +
	       ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000u;
}

static bool tell_counters(struct server *server, struct session *session) {
	const struct user *user = session->user;
	struct collector_counters counters = {
		.head = {.version = COLLECTOR_VERSION, .type = COLLECTOR_COUNTERS, .size = sizeof(counters)},
		.sessions = __atomic_load_n(&server->open, __ATOMIC_RELAXED),
		.waiting = server->waiting,
		.opened = server->opened,
		.refused = server->refused,
		.bytes = server->bytes,
		.events = server->events,
		.lost = server->lost,
		.left = server->left,
		.cpu_ns = cpu_used(),
		.memory = janitor_memory(server->janitor),
		.seconds = (clock_boot_now() - server->started) / 1000000000,
		.attached = __atomic_load_n(&server->kernel.attached, __ATOMIC_RELAXED),
		.your_sessions = user->sessions,
		.your_opened = user->opened,
		.your_refused = user->refused,
		.your_bytes = user->bytes,
		.your_events = user->events,
		.your_lost = user->lost,
	};
	return send(session->fd, &counters, sizeof(counters), MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

// ---- lists ----

static bool sees(const struct session *client, uid_t uid) {
	return !client->peer.uid || client->peer.sees_all || client->peer.uid == uid;
}

// A message that is being filled.
struct list {
	struct collector_list head;
	struct buffer entries;
};

static void add(struct list *list, const void *entry, size_t size) {
	if (sizeof(list->head) + list->entries.size + size > COLLECTOR_MOST_DATA) {
		list->head.more++;
		return;
	}
	buffer_append(&list->entries, entry, size);
	list->head.count++;
}

static bool send_list(const struct session *client, struct list *list, enum collector_type type) {
	size_t size = sizeof(list->head) + list->entries.size;
	list->head.head = (struct collector_head){
		.version = COLLECTOR_VERSION, .type = (uint16_t)type, .size = (uint32_t)size};
	struct iovec pieces[] = {{&list->head, sizeof(list->head)}, {list->entries.data, list->entries.size}};
	struct msghdr message = {.msg_iov = pieces, .msg_iovlen = ARRAY_SIZE(pieces)};
	bool sent = sendmsg(client->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size;
	buffer_free(&list->entries);
	return sent;
}

static bool tell_users(const struct server *server, const struct session *client) {
	struct list list = {0};
	const struct user *user;
	for (size_t i = 0; (user = users_at(server->users, i)); i++) {
		struct collector_user entry = {.uid = user->uid,
					       .sessions = user->sessions,
					       .opened = user->opened,
					       .refused = user->refused,
					       .bytes = user->bytes,
					       .events = user->events,
					       .lost = user->lost};
		if (sees(client, user->uid))
			add(&list, &entry, sizeof(entry));
	}
	return send_list(client, &list, COLLECTOR_USERS);
}

// The draining thread changes its numbers meanwhile.
static struct collector_session entry_of(struct server *server, const struct session *session) {
	struct collector_session entry = {.uid = session->peer.uid, .pid = (uint32_t)session->peer.pid};
	if (session->state == SESSION_WAITING)
		return entry;
	entry.number = session->number;
	entry.nanoseconds = clock_boot_now() - session->begun;
	entry.bytes = __atomic_load_n(&session->bytes, __ATOMIC_RELAXED);
	entry.events = __atomic_load_n(&session->events, __ATOMIC_RELAXED);
	entry.lost = counters_lost(kernel_slot(&server->kernel, session->place));
	return entry;
}

static bool tell_sessions(struct server *server, const struct session *client) {
	struct list list = {0};
	for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
		const struct session *session = &server->sessions[i];
		if (session->fd < 0 || session->state == SESSION_NONE || !sees(client, session->peer.uid))
			continue;
		struct collector_session entry = entry_of(server, session);
		add(&list, &entry, sizeof(entry));
	}
	return send_list(client, &list, COLLECTOR_SESSIONS);
}

bool counters_tell(struct server *server, struct session *session) {
	return tell_counters(server, session) && tell_users(server, session) &&
	       tell_sessions(server, session);
}
