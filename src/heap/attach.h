// A heap profile of a running process: what it allocates during a period of time.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct heap_sums;

struct heap_window_options {
	pid_t process;
	uint64_t nanoseconds; // duration; 0 to go on until the process ends or we are interrupted
	const char *output;   // "-" for standard output
	bool reset; // for a process with our library: profile what came since the last such window, and end
		    // the window here
	struct heap_sums *sums; // what was allocated is added here
};

// If libtracelet-heap.so is in the process (`run --heap`), it has counted all along and provides
// its counts; without a duration, these are all counts since its start. Returns 0, or -errno after
// one error message. The process does not notice.
int heap_attach(const struct heap_window_options *options);
