// Connections between a host and a guest: where they lead to, opening them, bytes that never block.
//
// A host connects, an agent listens. A virtio port, a serial line and standard input are there all the
// time and connect nobody: their link is kept, and hosts come and go on it.
#pragma once

#include "base/memory.h"

#include <stdio.h>
#include <sys/types.h>

enum link_kind { LINK_SOCKET, LINK_PORT, LINK_SERIAL, LINK_STDIO };

enum { LINK_WHY = 256, LINK_PORT_NUMBER = 21580 /* "TL": vsock's, and TCP's if none is given */ };

struct link {
	enum link_kind kind;
	int in, out;  // the same, mostly
	int edge;     // of a virtio port: readable when its state has changed; -1: there is none
	int pipe[2];  // of a virtio port: what is written goes through it; -1: there is none
	bool absent;  // nobody is on the other side of the port
	pid_t helper; // of exec:, 0: there is none
};

// ADDRESS of a host: unix:PATH, vsock:CID[:PORT], vsock:PATH[:PORT] (CONNECT), tcp:HOST:PORT, serial:DEVICE,
// exec:COMMAND (its standard input and output). 0 or -errno with a reason in words.
int link_connect(struct link *link, const char *address, double seconds, char why[LINK_WHY]);

// ADDRESS of an agent: port:NAME (virtio), vsock:[PORT], tcp:HOST:PORT, unix:PATH, serial:DEVICE, stdio.
// A socket to be accepted from, or a link that is there already.
struct listener {
	int socket; // -1: the link
	struct link link;
};
int listener_open(struct listener *listener, const char *address, char why[LINK_WHY]);
int listener_accept(struct listener *listener, struct link *link); // 0 or -errno

// Bytes moved, 0: not now, -errno: the connection is lost (of a port: the host is not there).
ssize_t link_read(struct link *link, void *bytes, size_t size);
ssize_t link_write(struct link *link, const void *bytes, size_t size);
void link_close(struct link *link);

// What to poll for input, and after it said so whether there is anything to read now.
int link_input(const struct link *link);
bool link_ready(struct link *link);
static inline bool link_stays(const struct link *link) {
	return link->kind != LINK_SOCKET;
}
