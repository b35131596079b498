// The counters, users and sessions of the resident collector, for 'status'.
#pragma once

#include <stdbool.h>

int show_collector(const char *socket, bool json); // returns an exit status
