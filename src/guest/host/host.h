// The host's side: a session with the agent in a guest. One request after another; each forwards the
// command's input, output, signals and status, and receives files. A lost connection is resumed.
#pragma once

#include "format/clock.h"
#include "guest/host/progress.h"
#include "guest/host/receive.h"
#include "guest/wire/channel.h"
#include "guest/wire/link.h"
#include "guest/wire/message.h"
#include "guest/wire/token.h"

struct host_options {
	const char *address;
	double patience; // seconds that the guest may be silent, or the connection lost
	double connect;  // seconds that the first answer may take; 0 for `patience`
	bool compress;
	const struct token *token; // that the agent must know too on TCP and vsock; NULL if none
	// Returns true if the guest is gone for good, so that waiting is useless. May be NULL.
	bool (*is_over)(void *context);
	void *context;
};

struct host {
	struct host_options options;
	struct link link;
	struct packet_decoder decoder;
	struct channel channel;
	uint64_t session;
	struct hello guest; // its HELLO
	struct token_talk talk;
	bool challenged; // the agent has asked for the token on this connection
	bool proven;     // the agent has shown on this connection that it knows the token
	struct guest_clock clock;
	uint64_t heard, pinged; // when, by CLOCK_MONOTONIC
	uint64_t attended;      // when the guest last did something for this session, not only for a ping
	unsigned resyncs;       // since the last chunk
	unsigned resumed;       // number of resumed connections
	bool greeted, gone;     // it has sent HELLO; it will send nothing more
	int interrupts;         // signals that end the attempt to reconnect; -1 if none
	struct progress progress;
};

struct host_request {
	enum request_kind kind;
	unsigned flags;
	const char *const *words;
	size_t word_count;
	int input, output, errors; // descriptors; -1 if none
	struct receiver *receiver; // for files; NULL if not wanted
	struct receiver *live;     // for the live recording; NULL if not wanted
	bool signals;              // forward ours to the command
	bool keep_quiet;           // log nothing if the guest goes away meanwhile
	// results
	int status;       // as from wait()
	char why[256];    // the guest's error message, "" if none
	char folder[256]; // the guest's directory of artifacts
	bool answered;
};

// Returns 0 or -errno; failures are logged.
int host_open(struct host *host, const struct host_options *options);
int host_request(struct host *host, struct host_request *request);
void host_close(struct host *host);

uint64_t host_now(void); // CLOCK_MONOTONIC, in nanoseconds

// Measures round trips, of which the shortest counts. Call it before a request for a trace, and at its end.
void host_measure_clock(struct host *host, struct clock_offset *offset);
