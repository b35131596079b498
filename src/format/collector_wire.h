// The messages between the collector and its clients (docs/collector.md): packets on a SOCK_SEQPACKET
// socket of one machine. Each has a fixed size, except DATA, which has whole batches after its head.
#pragma once

#include "format/record.h"

#define COLLECTOR_SOCKET "/run/tracelet-collector.sock"

enum { COLLECTOR_VERSION = 1, COLLECTOR_SOURCES = 64, COLLECTOR_MOST_DATA = 60 * 1024 };

enum collector_type {
	// From the client. The number of descriptors that come with each is exact.
	COLLECTOR_OPEN = 1, // a pidfd of the client itself: begins a session; one for each connection
	COLLECTOR_FOLLOW,   // a pidfd of a task that joins the session, with all that it starts
	COLLECTOR_FLUSH,    // send everything up to now, then FLUSHED
	COLLECTOR_STOP,     // the same, then END
	COLLECTOR_STATUS,   // how is the collector? Without a session; COUNTERS, USERS and SESSIONS answer it
	COLLECTOR_REQUESTS_END,
	// From the collector.
	COLLECTOR_OPENED = 100,
	COLLECTOR_REFUSED,
	COLLECTOR_FOLLOWED,
	COLLECTOR_DATA,
	COLLECTOR_FLUSHED,
	COLLECTOR_END,
	COLLECTOR_GOING, // the collector ends
	COLLECTOR_COUNTERS,
	COLLECTOR_NAME, // of a kernel function in the stacks that follow
	COLLECTOR_USERS,
	COLLECTOR_SESSIONS,
};

// Why a request was refused: the number, and what the user reads.
#define COLLECTOR_REFUSALS                                                                                   \
	REFUSAL(VERSION, "it speaks another version of the protocol")                                        \
	REFUSAL(MALFORMED, "it did not understand the request")                                              \
	REFUSAL(SOURCES, "it does not record what was asked for")                                            \
	REFUSAL(NESTED, "it already records this process")                                                   \
	REFUSAL(QUOTA, "you have too many sessions")                                                         \
	REFUSAL(RATE, "you begin sessions too quickly")                                                      \
	REFUSAL(SAMPLES, "it does not take so many samples a second")                                        \
	REFUSAL(FULL, "it has no room for another session")                                                  \
	REFUSAL(NOT_YOURS, "the process is not yours, or you may not inspect it")                            \
	REFUSAL(GONE, "the process has ended")                                                               \
	REFUSAL(KERNEL, "the kernel refused")                                                                \
	REFUSAL(NAMESPACE, "it does not serve other user namespaces")

enum collector_refusal {
	COLLECTOR_ACCEPTED,
#define REFUSAL(name, text) COLLECTOR_NO_##name,
	COLLECTOR_REFUSALS
#undef REFUSAL
		COLLECTOR_REFUSAL_COUNT
};

// Every message begins with it.
struct collector_head {
	uint16_t version; // COLLECTOR_VERSION
	uint16_t type;    // enum collector_type
	uint32_t size;    // of the whole message
};

enum {
	COLLECTOR_HARD_FAULTS = 1, // of page faults only the major ones
	COLLECTOR_OFF_CPU = 2,     // a stack whenever a thread leaves its CPU to wait
	COLLECTOR_FLAGS_END = 4,
};

// Every request of a client.
struct collector_request {
	struct collector_head head;
	uint64_t sources; // OPEN: a bit for each source that is wanted
	uint64_t cookie;  // FLUSH: comes back with FLUSHED
	// OPEN:
	uint64_t long_wait;        // take the stack of a wait of at least so many nanoseconds; 0 for none
	uint32_t sample_frequency; // samples a second on each CPU; 0 if none
	uint32_t flags;            // COLLECTOR_HARD_FAULTS and so on
};

// OPENED, REFUSED, FOLLOWED, FLUSHED, GOING.
struct collector_answer {
	struct collector_head head;
	uint32_t refusal;   // enum collector_refusal
	uint32_t session;   // OPENED: its number in the collector's log
	uint64_t sources;   // OPENED: those that are recorded
	uint64_t long_wait; // OPENED: what was asked for, or 0 if the stacks of waits are not recorded
	uint64_t cookie;    // FLUSHED
};

// Followed by batches, each struct batch and as many bytes as its size says.
struct collector_data {
	struct collector_head head;
	uint64_t watermark; // everything before this time has been sent; 0 if not known
};

enum { COLLECTOR_NAME_SIZE = 128, COLLECTOR_NAME_RANGE = 64 };

// Kernel functions have names and no addresses: in the stacks that follow, this one has the numbers from
// `address` to below `address` + COLLECTOR_NAME_RANGE.
struct collector_name {
	struct collector_head head;
	uint64_t address;
	char name[COLLECTOR_NAME_SIZE]; // with a NUL
};

struct collector_end {
	struct collector_head head;
	uint64_t lost[COLLECTOR_SOURCES];
	uint64_t unfollowed; // tasks that could not be added to the session
	uint64_t left;       // tasks that left it because they changed their user
};

struct collector_counters {
	struct collector_head head;
	uint64_t sessions, waiting; // now
	uint64_t opened, refused;   // since it started
	uint64_t bytes, lost, left; // sent to clients; dropped because a client did not read; tasks
	uint64_t cpu_ns, memory;    // of the collector; bytes of memory that it keeps for sessions
	uint64_t seconds, attached; // since it started; whether it records now
	uint64_t events;            // sent to clients
	uint64_t your_sessions, your_opened, your_refused, your_bytes, your_events, your_lost;
};

// USERS and SESSIONS: followed by `count` structures of one of the types below. Root gets all, other users
// what is theirs.
struct collector_list {
	struct collector_head head;
	uint32_t count;
	uint32_t more; // for which the message has no room
};

struct collector_user {
	uint32_t uid, sessions;                        // now
	uint64_t opened, refused, bytes, events, lost; // since the collector started; without those of now
};

struct collector_session {
	uint64_t number; // in the collector's log; 0 if it waits to begin
	uint32_t uid, pid;
	uint64_t nanoseconds, bytes, events, lost; // since it began
};
