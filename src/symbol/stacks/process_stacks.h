// The stacks of all threads of a running process, as text.
#pragma once

#include <stdio.h>
#include <sys/types.h>

// Prints every thread with its name and state, its kernel stack if that may be read, and its frames. Stops
// each thread while looking at it.
void process_print(FILE *out, pid_t pid);

// The same without frames, which cannot hang: command line, or all threads.
void process_print_name(FILE *out, pid_t pid);
void process_print_threads(FILE *out, pid_t pid);
