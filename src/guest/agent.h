// The part that runs inside a guest: listens, runs what a host asks for, sends back what comes of it.
//
// One process and one loop around poll(). It captures nothing itself: a request for a verb of tracelet
// becomes a process that is this same program, so a command is traced as it would be on the host, and
// whatever becomes of that process the agent is there to tell. With nobody connected it sleeps in poll()
// without a time limit: no wakeups.
#pragma once

#include "base/array.h"
#include "guest/channel.h"
#include "guest/link.h"
#include "guest/message.h"

enum { CONNECTIONS_MOST = 16, VISITS_MOST = 16, LISTENERS_MOST = 8, ERRAND_POLLED = 4 };

// A recording that is sent while it is made, so that a guest that dies leaves what it had (agent_live.c).
struct live {
	int changes; // inotify's descriptor; -1: none
	int file;    // the recording; -1: not there yet
	bool more;   // there may be bytes that were not read
};

// What a request has made: a process, a terminal, a file that is being sent.
struct errand {
	enum request_kind kind;
	unsigned flags;
	pid_t pid;  // 0: none, or it has ended
	int status; // as wait() has it
	int input;  // of the process; -1 closed
	int output; // of the process, or its terminal
	int errors;
	struct buffer pending; // standard input that the process has not read yet
	size_t pending_done;
	bool input_ends; // when that is written
	char *folder;    // whose files are sent; NULL: none
	ARRAY(char *) files;
	size_t file_at;
	int file; // being sent; -1: none
	uint64_t file_size;
	struct live live;
	char why[256];
	bool begun, ended, listed;
};

// A host's session: it outlives connections.
struct visit {
	uint64_t session; // 0: free
	struct channel channel;
	struct connection *connection; // NULL: lost
	double lost_since;
	struct errand errand;
	bool power_off; // once all is acknowledged
};

struct connection {
	struct link link;
	struct frame_decoder decoder;
	struct visit *visit; // NULL: has not said hello
	bool used;
};

struct agent {
	struct listener listeners[LISTENERS_MOST];
	size_t listener_count;
	struct connection connections[CONNECTIONS_MOST];
	struct visit visits[VISITS_MOST];
	int signals;   // signalfd
	double linger; // seconds that a lost host is waited for
	bool init;     // we are process 1
	bool over;
};

struct agent_options {
	const char *const *addresses;
	size_t address_count;
	double linger;
	double wait_port; // seconds to wait for a virtio port to appear
};

int agent_main(const struct agent_options *options); // an exit status

// ---- what the loop calls (agent_errand.c) ----

struct pollfd;

void errand_begin(struct visit *visit, const struct message *message);
size_t errand_poll(struct visit *visit, struct pollfd *list); // at most ERRAND_POLLED
void errand_attend(struct visit *visit, const struct pollfd *list, size_t count);
void errand_input(struct visit *visit, const uint8_t *bytes, size_t size);
void errand_message(struct visit *visit, const struct message *message);
bool errand_process_ended(struct visit *visit, pid_t pid, int status);
void errand_work(struct visit *visit); // sends what can be sent without waiting
bool errand_may_work(const struct visit *visit);
void errand_drop(struct visit *visit); // the host will not come back

void errand_say(struct visit *visit, enum message_type type, uint64_t number, const char *word);

void live_begin(struct live *live, const char *folder);
void live_changed(struct visit *visit); // its descriptor said so
void live_work(struct visit *visit);
void live_end(struct live *live);
#define LIVE_NONE ((struct live){.changes = -1, .file = -1})

// ---- as process 1 (agent_init.c) ----

// What a throw-away guest has for it (vm/image.c): a link to where commands run, "NAME=VALUE\0"s.
#define INIT_FOLDER    "/tracelet/folder"
#define INIT_VARIABLES "/tracelet/environment"

void init_prepare(void);              // folders, modules, names
char **init_addresses(size_t *count); // of the kernel's command line, or the usual ones
__attribute__((noreturn)) void init_power_off(void);
