// The stacks of processes that have crashed and are gone, from what was copied of
// them at that moment (struct record_crash).
#pragma once

#include <stdio.h>

// Reads such records from `in`, one after another, and prints for each its frames and
// then a line "end".
void crash_stacks_print(FILE *in, FILE *out);
