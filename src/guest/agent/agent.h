// The part that runs inside a guest: listens, runs what a host requests, sends back the results.
//
// One process and one loop around poll(). It captures nothing itself: a request for a verb of tracelet
// becomes a process that runs this same program. So a command is traced as on the host, and the agent
// survives to report what happened to it. Without a connection it sleeps in poll() without a timeout:
// no wakeups.
#pragma once

#include "base/array.h"
#include "guest/agent/folder.h"
#include "guest/wire/channel.h"
#include "guest/wire/link.h"
#include "guest/wire/message.h"
#include "guest/wire/token.h"

enum { CONNECTIONS_MOST = 16, VISITS_MOST = 16, LISTENERS_MOST = 8, ERRAND_POLLED = 4 };

// A recording that is sent while it is made, so that a guest that dies leaves what it had (live.c).
struct live {
	int changes; // inotify descriptor; -1 if none
	int file;    // the recording; -1 if not there yet
	bool more;   // there may be unread bytes
};

// The state of a request: a process, a terminal, a file that is being sent.
struct errand {
	enum request_kind kind;
	unsigned flags;
	pid_t pid;  // 0 if none, or it has ended
	int status; // as from wait()
	int input;  // of the process; -1 if closed
	int output; // of the process, or its terminal
	int errors;
	struct buffer pending; // standard input that the process has not read yet
	size_t pending_done;
	bool input_ends;            // close it when that is written
	struct agent_folder folder; // whose files are sent
	ARRAY(char *) files;        // their names there
	size_t file_at;
	int file; // being sent; -1 if none
	uint64_t file_size;
	struct live live;
	char why[256];
	bool begun, ended, listed;
};

// A host's session. It outlives connections.
struct visit {
	uint64_t session; // 0 if free
	struct channel channel;
	struct connection *connection; // NULL if lost
	double lost_since;
	struct errand errand;
	bool power_off; // once everything is acknowledged
};

struct connection {
	struct link link;
	struct packet_decoder decoder;
	struct visit *visit; // NULL before HELLO
	bool used;
	bool unproven; // it must show that it knows the token first
	double since;  // when it was accepted
	struct token_talk talk;
};

struct agent {
	struct listener listeners[LISTENERS_MOST];
	size_t listener_count;
	struct connection connections[CONNECTIONS_MOST];
	struct visit visits[VISITS_MOST];
	int signals;     // signalfd
	double linger;   // seconds to wait for a lost host
	bool init;       // we are process 1
	pid_t collector; // a child; 0 if there is none
	bool over;
	struct token token;
};

struct agent_options {
	const char *token_file; // NULL if none
	const char *const *addresses;
	size_t address_count;
	double linger;
	double wait_port;             // seconds to wait for a virtio port to appear
	const char *collector_group;  // whose members get a collector; NULL if there is to be none
	const char *collector_socket; // where it listens; NULL for the usual place
};

int agent_main(const struct agent_options *options); // returns an exit status

// ---- a collector for the machine's users (collector.c) ----

void agent_collector_begin(struct agent *agent, const struct agent_options *options);
bool agent_collector_ended(struct agent *agent, pid_t pid, int status); // true if that was it
void agent_collector_end(struct agent *agent);

// ---- called by the loop (errand.c) ----

struct pollfd;

void errand_begin(struct visit *visit, const struct message *message);
size_t errand_poll(struct visit *visit, struct pollfd *list); // at most ERRAND_POLLED
void errand_attend(struct visit *visit, const struct pollfd *list, size_t count);
void errand_input(struct visit *visit, const uint8_t *bytes, size_t size);
void errand_message(struct visit *visit, const struct message *message);
bool errand_process_ended(struct visit *visit, pid_t pid, int status);
void errand_work(struct visit *visit); // sends what it can without blocking
bool errand_may_work(const struct visit *visit);
void errand_drop(struct visit *visit); // the host will not come back

void errand_say(struct visit *visit, enum message_type type, uint64_t number, const char *word);

void live_begin(struct live *live, const char *folder);
void live_changed(struct visit *visit); // call it when `changes` is readable
void live_work(struct visit *visit);
void live_end(struct live *live);
#define LIVE_NONE ((struct live){.changes = -1, .file = -1})

// ---- as process 1 (init.c) ----

// In a throw-away guest (vm/image.c): a link to where commands run, and variables, "NAME=VALUE\0" each.
#define INIT_FOLDER    "/tracelet/folder"
#define INIT_VARIABLES "/tracelet/environment"

void init_prepare(void);              // directories, modules, names
char *init_word(const char *key);     // what follows `key` there; NULL if it is not there; to be freed
char **init_addresses(size_t *count); // from the kernel command line, or the defaults
__attribute__((noreturn)) void init_power_off(void);
