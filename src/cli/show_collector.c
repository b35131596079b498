#include "cli/show_collector.h"
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "capture/collector_wire.h"
#include "cli/verb.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// What JSON has, in its order.
static const struct {
	const char *name;
	size_t offset;
} members[] = {
#define MEMBER(name)                                                                                         \
	{ #name, offsetof(struct collector_counters, name) }
	MEMBER(sessions),      MEMBER(waiting),     MEMBER(opened),       MEMBER(refused),
	MEMBER(bytes),         MEMBER(events),      MEMBER(lost),         MEMBER(left),
	MEMBER(cpu_ns),        MEMBER(memory),      MEMBER(seconds),      MEMBER(attached),
	MEMBER(your_sessions), MEMBER(your_opened), MEMBER(your_refused), MEMBER(your_bytes),
	MEMBER(your_events),   MEMBER(your_lost),
#undef MEMBER
};

// All that it answers.
struct answers {
	struct collector_counters counters;
	ARRAY(struct collector_user) users;
	ARRAY(struct collector_session) sessions;
	uint32_t more_users, more_sessions; // that it had no room for
};

// ---- JSON ----

static void json_count(struct json *json, const char *name, uint64_t value) {
	json_int(json, name, (int64_t)value);
}

static void json_user(struct json *json, uint32_t uid) {
	const struct passwd *user = getpwuid(uid);
	json_count(json, "uid", uid);
	if (user)
		json_string(json, "user", user->pw_name);
}

static void json_users(struct json *json, const struct answers *answers) {
	json_array(json, "users");
	for (size_t i = 0; i < answers->users.count; i++) {
		const struct collector_user *user = &answers->users.items[i];
		json_object(json, NULL);
		json_user(json, user->uid);
		json_count(json, "sessions", user->sessions);
		json_count(json, "opened", user->opened);
		json_count(json, "refused", user->refused);
		json_count(json, "bytes", user->bytes);
		json_count(json, "events", user->events);
		json_count(json, "lost", user->lost);
		json_close_object(json);
	}
	json_close_array(json);
}

static void json_sessions(struct json *json, const struct answers *answers) {
	json_array(json, "open_sessions");
	for (size_t i = 0; i < answers->sessions.count; i++) {
		const struct collector_session *session = &answers->sessions.items[i];
		json_object(json, NULL);
		json_count(json, "number", session->number);
		json_user(json, session->uid);
		json_count(json, "pid", session->pid);
		json_double(json, "seconds", (double)session->nanoseconds / 1e9);
		json_count(json, "bytes", session->bytes);
		json_count(json, "events", session->events);
		json_count(json, "lost", session->lost);
		json_close_object(json);
	}
	json_close_array(json);
}

static void show_json(const struct answers *answers) {
	struct buffer out = {0};
	struct json json = json_into(&out);
	json_object(&json, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		uint64_t value;
		memcpy(&value, (const char *)&answers->counters + members[i].offset, sizeof(value));
		json_count(&json, members[i].name, value);
	}
	json_users(&json, answers);
	json_sessions(&json, answers);
	json_close_object(&json);
	verb_print_json(&out);
}

// ---- words ----

static void show_counters(const struct collector_counters *counters) {
	char sent[16], memory[16];
	printf("sessions  %" PRIu64 " now, %" PRIu64 " since it started %" PRIu64 " s ago; %" PRIu64
	       " refused\n",
	       counters->sessions, counters->opened, counters->seconds, counters->refused);
	printf("data      %" PRIu64 " events, %s sent, %" PRIu64 " events lost, %" PRIu64
	       " tasks left their sessions\n",
	       counters->events, file_size_words(counters->bytes, sent), counters->lost, counters->left);
	printf("cost      %.3f s of CPU time, %s of memory for sessions; programs %s\n",
	       (double)counters->cpu_ns / 1e9, file_size_words(counters->memory, memory),
	       counters->attached ? "attached" : "not attached");
}

// The name, or the number if it has none.
static const char *name_of(uint32_t uid, char number[16]) {
	const struct passwd *user = getpwuid(uid);
	snprintf(number, 16, "%u", uid);
	return user ? user->pw_name : number;
}

static void show_user(const struct collector_user *user) {
	char number[16], sent[16];
	printf("user      %s: %u session%s now, %" PRIu64 " so far, %" PRIu64 " refused; %" PRIu64
	       " events, %s, %" PRIu64 " lost\n",
	       name_of(user->uid, number), user->sessions, user->sessions == 1 ? "" : "s", user->opened,
	       user->refused, user->events, file_size_words(user->bytes, sent), user->lost);
}

static void show_session(const struct collector_session *session) {
	char number[16], sent[16];
	if (!session->number)
		printf("session   of %s, process %u: waits to begin\n", name_of(session->uid, number),
		       session->pid);
	else
		printf("session   %" PRIu64 " of %s, process %u: %.1f s, %" PRIu64 " events, %s, %" PRIu64
		       " lost\n",
		       session->number, name_of(session->uid, number), session->pid,
		       (double)session->nanoseconds / 1e9, session->events,
		       file_size_words(session->bytes, sent), session->lost);
}

static void show_more(uint32_t more, const char *what) {
	if (more)
		printf("          and %u more %s\n", more, what);
}

static void show_words(const struct answers *answers) {
	show_counters(&answers->counters);
	for (size_t i = 0; i < answers->users.count; i++)
		show_user(&answers->users.items[i]);
	show_more(answers->more_users, "users");
	for (size_t i = 0; i < answers->sessions.count; i++)
		show_session(&answers->sessions.items[i]);
	show_more(answers->more_sessions, "sessions");
}

// ---- asking ----

// A list: its entries are copied to `to`, which has room for all that fit into a packet. The number of
// entries, or -1 if it is no such list.
static long take_list(int socket, unsigned type, size_t entry, void *to, uint32_t *more) {
	CLEANUP_FREE uint8_t *packet = memory_alloc(COLLECTOR_MOST_PACKET);
	long got = collector_receive(socket, packet, COLLECTOR_MOST_PACKET, true);
	struct collector_list list;
	if (got < (long)sizeof(list))
		return -1;
	memcpy(&list, packet, sizeof(list));
	if (list.head.type != type || (size_t)got != sizeof(list) + list.count * entry)
		return -1;
	memcpy(to, packet + sizeof(list), list.count * entry);
	*more = list.more;
	return list.count;
}

#define TAKE_LIST(socket, type, array, more)                                                                 \
	((array).items = memory_alloc(COLLECTOR_MOST_PACKET),                                                \
	 take_list(socket, type, sizeof(*(array).items), (array).items, more))

// False if it does not answer as it should.
static bool ask(int socket, struct answers *answers) {
	struct collector_counters *counters = &answers->counters;
	if (collector_send(socket, COLLECTOR_STATUS, (struct collector_request){0}, -1) ||
	    collector_receive(socket, counters, sizeof(*counters), true) != (long)sizeof(*counters) ||
	    counters->head.type != COLLECTOR_COUNTERS)
		return false;
	long users = TAKE_LIST(socket, COLLECTOR_USERS, answers->users, &answers->more_users);
	long sessions = users < 0 ? -1
				  : TAKE_LIST(socket, COLLECTOR_SESSIONS, answers->sessions,
					      &answers->more_sessions);
	answers->users.count = (size_t)MAX(users, 0);
	answers->sessions.count = (size_t)MAX(sessions, 0);
	return sessions >= 0;
}

int show_collector(const char *path, bool json) {
	struct answers answers = {0};
	int socket = collector_connect(path);
	bool answered = socket >= 0 && ask(socket, &answers);
	if (socket >= 0)
		close(socket);
	if (!answered)
		log_error("%s: no collector: %s", path,
			  socket < 0 ? strerror(-socket) : "it does not answer");
	else if (json)
		show_json(&answers);
	else
		show_words(&answers);
	free(answers.users.items);
	free(answers.sessions.items);
	return answered ? 0 : EXIT_FOUND;
}
