// The host's side: a session with the agent in a guest. One request after another; each has the command's
// input, output, signals and status, and brings files. A connection that is lost is taken up again.
#pragma once

#include "guest/channel.h"
#include "guest/clock.h"
#include "guest/link.h"
#include "guest/message.h"
#include "guest/progress.h"
#include "guest/receive.h"

struct host_options {
	const char *address;
	double patience; // seconds without a word from the guest, or without a connection
	double connect;  // seconds that the first answer may take; 0: as patience
	bool compress;
	// True: the guest is gone for good, and there is nothing to wait for; NULL: nobody knows.
	bool (*is_over)(void *context);
	void *context;
};

struct host {
	struct host_options options;
	struct link link;
	struct frame_decoder decoder;
	struct channel channel;
	uint64_t session;
	struct hello guest; // what it said
	struct guest_clock clock;
	uint64_t heard, pinged; // when, by CLOCK_MONOTONIC
	unsigned resyncs;       // since something arrived
	unsigned resumed;       // how often a connection was taken up again
	bool greeted, gone;     // it has said hello; it will say no more
	int interrupts;         // while a connection is taken up again: signals that end that; -1: none
	struct progress progress;
};

struct host_request {
	enum request_kind kind;
	unsigned flags;
	const char *const *words;
	size_t word_count;
	int input, output, errors; // descriptors; -1: none
	struct receiver *receiver; // for files; NULL: none is wanted
	struct receiver *live;     // for the recording while it is made; NULL: not wanted
	bool signals;              // ours are passed on to the command
	bool keep_quiet;           // say nothing when the guest goes away meanwhile
	// what came of it
	int status;       // as wait() has it
	char why[256];    // of the guest's own words, "" if all is well
	char folder[256]; // the guest's, of artifacts
	bool answered;
};

// 0 or -errno, said in one line.
int host_open(struct host *host, const struct host_options *options);
int host_request(struct host *host, struct host_request *request);
void host_close(struct host *host);

// Round trips, of which the shortest counts; for what brings a trace, before it and at its end.
void host_measure_clock(struct host *host, struct clock_offset *offset);
