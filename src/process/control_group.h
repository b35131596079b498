// The control group of this process, to which everything that it starts belongs, too: its limits, and how
// often it ran into them. Version 1 and 2.
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct control_group {
	double cpus;                         // as many may be used; 0 if there is no limit
	uint64_t periods, throttled_periods; // in which it may use that; in which it had used it up
	uint64_t throttled_ns;               // for which its threads were stopped
	uint64_t memory_limit;               // bytes; 0 if there is none
	uint64_t memory_peak;                // the most that it ever had; 0 if unknown
	uint64_t oom_kills;                  // processes that the kernel ended because of the limit
};

void control_group_read(struct control_group *group);

// The groups that a process is in, as the kernel lists them; a process that has ended
// has them until its parent has waited for it. "" if unknown.
enum { CONTROL_GROUP_NAMES = 1024 };
void control_group_names(pid_t pid, char names[CONTROL_GROUP_NAMES]);
void control_group_read_named(struct control_group *group, const char *names);
// The same with another list of what is mounted where.
void control_group_read_mounted(struct control_group *group, const char *names, const char *list);
