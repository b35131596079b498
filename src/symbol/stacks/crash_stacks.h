// The stacks of processes that crashed and no longer exist, from what was copied at the time of the
// crash (struct record_crash).
#pragma once

#include <stdio.h>

// Reads such records from `in`, one after another, and prints the frames of each, followed by a
// line "end".
void crash_stacks_print(FILE *in, FILE *out);
// The same for a core dump: the thread that crashed. Prints nothing if it is none.
void core_stack_print(int core, FILE *out);
