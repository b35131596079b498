// Connections between a host and a guest: addresses, opening, non-blocking input and output.
//
// A host connects, an agent listens. A virtio port, a serial line and standard input are always open:
// their link is kept, and hosts come and go on it.
#pragma once

#include "base/memory.h"

#include <stdio.h>
#include <sys/types.h>

enum link_kind { LINK_SOCKET, LINK_PORT, LINK_SERIAL, LINK_STDIO };

enum { LINK_WHY = 256, LINK_PORT_NUMBER = 21580 /* "TL": vsock's, and TCP's if none is given */ };

struct link {
	enum link_kind kind;
	int in, out;   // usually the same
	int edge;      // of a virtio port: readable when its state has changed; -1 if none
	int pipe[2];   // of a virtio port: output goes through it; -1 if none
	bool absent;   // the other side of the port is not open
	bool network;  // an accepted connection of TCP or vsock: anyone may be at its other end
	bool stranger; // of vsock: not from the host
	pid_t helper;  // of exec:, 0 if none
};

// ADDRESS of a host: unix:PATH, vsock:CID[:PORT], vsock:PATH[:PORT] (CONNECT), tcp:HOST:PORT, serial:DEVICE,
// exec:COMMAND (its standard input and output). Returns 0, or -errno with a reason as text.
int link_connect(struct link *link, const char *address, double seconds, char why[LINK_WHY]);

// ADDRESS of an agent: port:NAME (virtio), vsock:[PORT], tcp:HOST:PORT, unix:PATH, serial:DEVICE, stdio.
// A socket to accept connections from, or a link that is already open.
struct listener {
	int socket; // -1 if there is a link
	struct link link;
};
int listener_open(struct listener *listener, const char *address, char why[LINK_WHY]);
int listener_accept(struct listener *listener, struct link *link); // 0 or -errno

// Returns the bytes moved, 0 if not now, -errno if the connection is lost (for a port: the host is gone).
ssize_t link_read(struct link *link, void *bytes, size_t size);
ssize_t link_write(struct link *link, const void *bytes, size_t size);
void link_close(struct link *link);

// The descriptor to poll for input; and, once it is ready, whether there is anything to read.
int link_input(const struct link *link);
bool link_ready(struct link *link);
static inline bool link_stays(const struct link *link) {
	return link->kind != LINK_SOCKET;
}
