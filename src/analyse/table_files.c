// Which files system calls work on: the path that a call names, or the file that its descriptor was opened
// for. A wrong name would be worse than none. So descriptors are forgotten when the kernel may have closed
// them without a call that says which: at an exec, at close_range(), and wherever events are missing.
#include "analyse/table.h"
#include "event/points.h"

#include <string.h>

// What a call does with descriptors.
enum descriptor_use {
	USE_NONE,
	USE_OPENS,   // a new one for the path
	USE_SOCKET,  // a new one without a path
	USE_FIRST,   // works on its first argument
	USE_CLOSES,  // the first argument is no longer one
	USE_DOUBLES, // the result is another for the first argument
	USE_CLOSES_MANY,
	USE_FLAGS_THIRD, // works on its first argument if AT_EMPTY_PATH is among its flags
	USE_FLAGS_FOURTH,
};

static enum descriptor_use descriptor_use(const char *call) {
	static const struct {
		const char *call;
		enum descriptor_use use;
	} uses[] = {
		{"open", USE_OPENS},
		{"openat", USE_OPENS},
		{"openat2", USE_OPENS},
		{"creat", USE_OPENS},
		{"socket", USE_SOCKET},
		{"accept", USE_SOCKET},
		{"accept4", USE_SOCKET},
		{"close", USE_CLOSES},
		{"dup", USE_DOUBLES},
		{"dup2", USE_DOUBLES},
		{"dup3", USE_DOUBLES},
		{"read", USE_FIRST},
		{"write", USE_FIRST},
		{"pread64", USE_FIRST},
		{"pwrite64", USE_FIRST},
		{"readv", USE_FIRST},
		{"writev", USE_FIRST},
		{"preadv", USE_FIRST},
		{"pwritev", USE_FIRST},
		{"fsync", USE_FIRST},
		{"fdatasync", USE_FIRST},
		{"lseek", USE_FIRST},
		{"fstat", USE_FIRST},
		{"ftruncate", USE_FIRST},
		{"fallocate", USE_FIRST},
		{"getdents64", USE_FIRST},
		{"flock", USE_FIRST},
		{"fcntl", USE_FIRST},
		{"ioctl", USE_FIRST},
		{"connect", USE_FIRST},
		{"bind", USE_FIRST},
		{"listen", USE_FIRST},
		{"sendto", USE_FIRST},
		{"recvfrom", USE_FIRST},
		{"sendmsg", USE_FIRST},
		{"recvmsg", USE_FIRST},
		{"shutdown", USE_FIRST},
		{"fchdir", USE_FIRST},
		{"fchmod", USE_FIRST},
		{"fstatfs", USE_FIRST},
		{"syncfs", USE_FIRST},
		{"close_range", USE_CLOSES_MANY},
		{"statx", USE_FLAGS_THIRD},
		{"newfstatat", USE_FLAGS_FOURTH},
		{"sync_file_range", USE_FIRST},
	};
	for (size_t i = 0; call && i < ARRAY_SIZE(uses); i++)
		if (strcmp(uses[i].call, call) == 0)
			return uses[i].use;
	return USE_NONE;
}

// Descriptors are known by process and era: a process begins a new era when it forgets them all. The eras are
// in the same map.
static uint64_t *era_of(struct table *table, uint32_t pid) {
	return map_put(&table->descriptors, UINT64_C(1) << 63 | pid);
}

// The string of the descriptor's file; 0 if it is not known, as for one from before the recording.
static uint64_t *descriptor_file(struct table *table, uint32_t pid, uint64_t descriptor) {
	enum { PID_BITS = 23, DESCRIPTOR_BITS = 20, ERA_BITS = 20 };
	uint64_t eras = *era_of(table, 0); // before the map may move
	eras += *era_of(table, pid);
	uint64_t era = eras & ((1u << ERA_BITS) - 1);
	return map_put(&table->descriptors, (era << PID_BITS | (pid & ((1u << PID_BITS) - 1)))
							    << DESCRIPTOR_BITS |
						    (descriptor & ((1u << DESCRIPTOR_BITS) - 1)));
}

void table_follow_files(struct table *table, const struct event *event) {
	if (event->kind == EVENT_EXEC)
		++*era_of(table, table_pid(table, event));
	else if (event->kind == EVENT_FORK && event->fork.child_tid == event->fork.child_pid)
		++*era_of(table, event->fork.child_pid);
	else if (event->kind == EVENT_LOST)
		++*era_of(table, 0); // of all processes
}

// The file before the call.
static uint32_t file_used(struct table *table, const struct event *entry, uint32_t pid,
			  enum descriptor_use use) {
	enum { EMPTY_PATH = 0x1000 };
	uint64_t flags = use == USE_FLAGS_THIRD    ? entry->point.values[2]
			 : use == USE_FLAGS_FOURTH ? entry->point.values[3]
						   : EMPTY_PATH;
	if (use == USE_SOCKET)
		return strings_add(table->tables->strings, "socket");
	if (use == USE_NONE || use == USE_OPENS || entry->point.path || !(flags & EMPTY_PATH))
		return entry->point.path;
	return (uint32_t)*descriptor_file(table, pid, entry->point.values[0]);
}

uint32_t table_file(struct table *table, const struct event *entry, int64_t result) {
	uint32_t pid = table_pid(table, entry);
	enum descriptor_use use = descriptor_use(describer_call(&table->describer, entry->point.small));
	uint32_t file = use == USE_CLOSES_MANY ? 0 : file_used(table, entry, pid, use);
	if (result < 0)
		return file;
	if (use == USE_CLOSES)
		*descriptor_file(table, pid, entry->point.values[0]) = 0;
	else if (use == USE_CLOSES_MANY)
		++*era_of(table, pid);
	else if (use == USE_OPENS || use == USE_SOCKET || use == USE_DOUBLES)
		*descriptor_file(table, pid, (uint64_t)result) = file;
	return file;
}
