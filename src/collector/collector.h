// The resident collector: one process with the right to load BPF programs records for all users of a machine,
// for each only its own tasks (docs/collector.md).
//
// Three threads. Control accepts connections and answers requests; draining moves batches from rings to
// sockets, with real-time priority; the janitor does what may wait in the kernel. None waits for a client.
#pragma once

#include "collector/users.h"

struct collector_options {
	const char *socket; // path
	const char *group;  // that may connect; NULL for "tracelet", if there is one
	const char *admins; // the group that sees all users; NULL for "tracelet-admin", if there is one
	double idle_exit;   // seconds without a connection after which it ends; 0 for never
	struct limits limits;
	uint32_t ring_bytes;
};

#define COLLECTOR_OPTIONS_DEFAULT                                                                            \
	((struct collector_options){.socket = COLLECTOR_SOCKET,                                              \
				    .limits = {.sessions = 256, .connections = 2000, .samples = 4999},       \
				    .ring_bytes = 256 << 10})

// Settings from a file, which must belong to root. False after one line about what is wrong.
bool collector_configure(struct collector_options *options, const char *path);

int collector_main(const struct collector_options *options); // returns an exit status
