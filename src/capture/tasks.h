// What /proc says about tasks that exist before recording starts.
#pragma once

#include "base/array.h"
#include "capture/spool.h"

#include <sys/types.h>

// Appends the process with its threads, or every process when `pid` is 0.
void spool_tasks(struct spool *spool, pid_t pid);

// A process and its remaining descendants, without `except` and those below it.
typedef ARRAY(pid_t) pid_array;
void task_tree(pid_t root, pid_t except, pid_array *processes);

// Calls `each` for every thread of a process, including the main thread.
void task_threads(pid_t pid, void (*each)(void *context, pid_t tid), void *context);

void task_all(void (*each)(void *context, pid_t pid), void *context); // the processes

// The executable mappings of a process.
struct task_mapping {
	uint64_t start, size, offset;
	dev_t device; // device and inode of the file; 0 if not a file
	ino_t inode;
	const char *path; // or "[vdso]", "//anon"; as perf would report it
};
void task_mappings(pid_t pid, void (*each)(void *context, const struct task_mapping *mapping), void *context);

// The command line of a process, arguments separated by NUL; empty if it is gone.
void task_command_line(pid_t pid, struct buffer *line);
