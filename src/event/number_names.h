// Names for numbers in the kernel's events. Linux's, also where a trace is read on another system.
#pragma once

#include <stdint.h>

const char *error_name(int64_t result);        // of a system call: "ENOENT" for -2; NULL if it is no error
const char *socket_state_name(uint64_t state); // "SYN_SENT"; NULL if unknown
