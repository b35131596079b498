// Files that the user of `tracelet run` leaves open are for the test. The waiter and the
// tracer close them, so that a process that reads a pipe to its end waits only for the
// test.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Makes sure that descriptors 0, 1 and 2 are open, so that none of our files gets one of
// these numbers; one that was closed will be closed for the test too.
void descriptors_fill_gaps(void);

// Whether the limit (`ulimit -n`) leaves room for `count` more.
bool descriptors_can_open(unsigned count);

// Closes all but stderr and the `kept` ones; stdin and stdout, unless kept, become
// /dev/null.
void descriptors_give_up(const int *kept, size_t count);
