// The socket of the collector.
#pragma once

#include "collector/collector.h"

// The group of administrators; (gid_t)-1 if there is none. False after one line if the one that was named
// does not exist.
bool listen_find_admins(const struct collector_options *options, gid_t *gid);

// The socket that systemd passed, else a new one at options->socket. Returns it, or -1 after one line about
// what is wrong. `made`: it is ours to delete.
int listen_open(const struct collector_options *options, bool *made);
