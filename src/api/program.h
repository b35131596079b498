// The program `tracelet` at work for the library. A tracer must not be forked off a process with threads
// of its own, and its privileges are the program's, not the caller's: so calls that record start the
// program, which the variable TRACELET or the PATH names, and read what it reports as JSON.
#pragma once

#include "base/buffer.h"

// Starts the program with standard input and error closed to it, and appends what it prints to `output`.
// Returns its exit status, or -errno: it could not be started, or ended by a signal (-EIO), or the caller
// has its children reaped by something else (-ECHILD; the output is whole).
int program_ask(char *const *arguments, struct buffer *output);

// Starts the program with the caller's own standard descriptors, an environment, and `count` further
// descriptors under the numbers they have here. *wait_status is as waitpid() gives it. 0 or -errno.
int program_run(char *const *arguments, char *const *environment, const int *descriptors, size_t count,
		int *wait_status);
