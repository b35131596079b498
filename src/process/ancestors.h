// The processes above a process that belong to the same job: a CI agent starts one step after
// another, and what several steps share is above them.
#pragma once

#include "base/array.h"

#include <stdint.h>
#include <sys/types.h>

struct ancestor {
	pid_t pid;
	uint64_t start; // in the kernel's ticks since boot
	char name[17];
};
typedef ARRAY(struct ancestor) ancestor_array;

// False if there is no such process.
bool ancestor_read(pid_t pid, struct ancestor *process);

// Our nearest ancestor that is not sudo or the like, which only pass the request on.
pid_t ancestor_caller(void);

// Adds the ancestors of `pid`, nearest first, up to the first one of another job. The same job is: the same
// session; any process in the same container, if we are in one; or the same cgroup, unless that is a
// user's login or the whole system.
void ancestors_in_job(pid_t pid, ancestor_array *ancestors);
