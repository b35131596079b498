// A heap profile of a process that is running: what it allocates in a window of time.
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct heap_window_options {
	pid_t process;
	uint64_t nanoseconds; // how long; 0: until the process ends or we are told to end
	const char *output;   // "-": standard output
};

// 0 or -errno, said in one line. The process does not notice.
int heap_attach(const struct heap_window_options *options);
