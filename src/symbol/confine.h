// Takes all rights from this process, for good, before it reads files that others wrote. Whatever such a file
// makes the process do, it can use processor time and memory up to a limit, read the descriptors that it was
// given, and answer; nothing else.
#pragma once

#include <stdbool.h>

struct confined {
	bool user;    // has another user, if it was root's
	bool filter;  // the kernel refuses all other system calls
	bool limited; // in memory, time and files
};

// Closes all descriptors but `socket`, which becomes descriptor 0. Goes as far as the kernel allows, and says
// how far that was.
struct confined confine(int socket);

// For tracelet-stacks, which has to attach to processes and to look into files by name: it keeps its
// descriptors, may read all files and processes that it could read before, and write to what is open. It can
// no longer create or change files, use the network, start processes, change memory or registers of others,
// or send signals but those of an attached debugger. It dies with its parent.
void confine_unwinder(void);
