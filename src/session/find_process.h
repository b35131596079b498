// Running processes by name.
#pragma once

#include <sys/types.h>

// The one process that is called so: by its short name, or by its program's file. 0: there is none, or
// there are several; they have been listed, in one message.
pid_t find_process(const char *name);
