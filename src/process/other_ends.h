// What is at the other end of a pipe or a socket: the processes that have it open, and the addresses.
#pragma once

#include "base/buffer.h"

#include <sys/types.h>

struct other_ends;

// Looks at the descriptors of all processes that may be looked at.
struct other_ends *other_ends_new(void);
void other_ends_free(struct other_ends *ends);

// `target` is what a descriptor of process `pid` leads to, "pipe:[1234]" or "socket:[1234]". Appends words
// such as "read by cat (12), written by sh (11)" or "TCP 127.0.0.1:80 to 127.0.0.1:5000, established; its
// peer is server (17)". False if nothing is known about it.
bool other_ends_describe(const struct other_ends *ends, pid_t pid, const char *target, struct buffer *out);
