// A heap profile of a process that is running: what it allocates in a window of time.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct heap_window_options {
	pid_t process;
	uint64_t nanoseconds; // how long; 0: until the process ends or we are told to end
	const char *output;   // "-": standard output
	bool reset; // of a process that our library is in: what came since the last such window, which ends
		    // here
};

// A process that our library is in (`run --heap`) has counted all along: it is asked. Without a time that
// tells all since its beginning.
// 0 or -errno, said in one line. The process does not notice.
int heap_attach(const struct heap_window_options *options);
