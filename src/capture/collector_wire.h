// A connection to the collector (docs/collector.md), as clients have it.
#pragma once

#include "format/collector_wire.h"

#include <stdbool.h>
#include <stddef.h>

enum { COLLECTOR_MOST_PACKET = 128 * 1024 }; // more than any message has

// The socket, or -errno. -EPERM: the socket is neither root's nor this user's.
int collector_connect(const char *path);

// Sends a request, with a descriptor unless it is -1. 0 or -errno.
int collector_send(int socket, enum collector_type type, struct collector_request request, int fd);

// Receives one message: its size; 0 if the collector is gone; -EAGAIN if there is none, or not in time; or
// -EPROTO if it is not one.
long collector_receive(int socket, void *packet, size_t room, bool wait);

const char *collector_refusal_words(unsigned refusal);
