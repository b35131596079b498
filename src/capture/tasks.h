// What /proc tells about tasks that are there before recording begins.
#pragma once

#include "capture/spool.h"

#include <sys/types.h>

// Appends the process with its threads, or every process when `pid` is 0.
void spool_tasks(struct spool *spool, pid_t pid);

// The command line of a process, arguments separated by NUL; empty if it is gone.
void task_command_line(pid_t pid, struct buffer *line);
