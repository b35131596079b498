// What /proc tells about tasks that are there before recording begins.
#pragma once

#include "base/array.h"
#include "capture/spool.h"

#include <sys/types.h>

// Appends the process with its threads, or every process when `pid` is 0.
void spool_tasks(struct spool *spool, pid_t pid);

// A process and all that it has started, as far as they are its descendants still; not
// `except` and those below it.
typedef ARRAY(pid_t) pid_array;
void task_tree(pid_t root, pid_t except, pid_array *processes);

// Calls `each` for every thread of a process, the first one too.
void task_threads(pid_t pid, void (*each)(void *context, pid_t tid), void *context);

void task_all(void (*each)(void *context, pid_t pid), void *context); // the processes

// The code that a process has in its address space.
struct task_mapping {
	uint64_t start, size, offset;
	dev_t device; // and inode: of the file, 0 if it is none
	ino_t inode;
	const char *path; // or "[vdso]", "//anon"; as perf would tell it
};
void task_mappings(pid_t pid, void (*each)(void *context, const struct task_mapping *mapping), void *context);

// The command line of a process, arguments separated by NUL; empty if it is gone.
void task_command_line(pid_t pid, struct buffer *line);
