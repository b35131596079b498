// Memory dumps of processes that hang, for a debugger.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Stacks, modules and handles; `whole`: all memory. False: there is none, as was said.
bool dump_process(unsigned long pid, const char *path, bool whole);

// Bytes that a process has in memory or in the page file, 0: not known.
size_t dump_size(unsigned long pid);
