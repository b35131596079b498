// The process through which a test finds the tracer's memory (marks, heap), if the kernel would not
// let the test access the tracer.
#pragma once

#include <sys/types.h>

// The tracer, or a small process that lives as long as the tracer and also has the memory open as
// `fd`.
pid_t marker_holder(int fd, pid_t tracer);

// main() of that process: argv[0] is HOLDER_NAME. Returns the exit status.
#define HOLDER_NAME "tracelet-marks"
int marker_hold(int count, char **words);
