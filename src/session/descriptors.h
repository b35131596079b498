// The open files that a user gives to `tracelet run` are the test's. The waiter
// and the tracer let go of them, so that whoever reads a pipe to its end waits
// for the test and for nobody else.
#pragma once

#include <stddef.h>

// Descriptors 0, 1 and 2 are open afterwards, so that no file of ours gets one of
// these numbers; one that was closed will be closed for the test too.
void descriptors_fill_gaps(void);

// Closes all but stderr and the `kept` ones; stdin and stdout, unless kept, become
// /dev/null.
void descriptors_give_up(const int *kept, size_t count);

// The descriptor meant by "5", "-", "/dev/stdout", "/dev/stderr" or "/dev/fd/5";
// -1: this is the name of a file.
int descriptor_named(const char *name);
