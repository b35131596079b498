// Running processes by name.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// The one process with this name: its command name, or the name of its executable. 0 if there is none or
// there are several, after one message that lists them.
pid_t find_process(const char *name);

bool process_name(pid_t pid, char *name, size_t size); // false if there is no such process
