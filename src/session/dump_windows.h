// Memory dumps of hanging processes, for a debugger.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Saves stacks, modules and handles, or all memory if `whole`. False if there is no dump, after a warning.
bool dump_process(unsigned long pid, const char *path, bool whole);

// Bytes that a process has in memory or in the page file; 0 if unknown.
size_t dump_size(unsigned long pid);
