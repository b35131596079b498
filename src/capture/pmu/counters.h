// Counting: events opened with perf_event_open() at one or more places (a process, a CPU, a
// thread), and what they have counted since they were last read.
#pragma once

#include "capture/pmu/events.h"

#include <sys/types.h>

// Where is counted: by task, by CPU or both.
struct counter_place {
	pid_t pid;      // -1: whoever runs on the CPU
	int cpu;        // -1: wherever the task runs
	bool inherit;   // also what the task starts from now on
	bool elsewhere; // the task also runs on CPUs that are no place: how it shared the counters is not
			// known
	bool on_exec;   // begins when the task executes a program, else with counters_enable()
};

struct count {
	uint64_t value;            // as counted
	double scaled;             // as if it had been on a counter all the time
	uint64_t enabled, running; // nanoseconds in which it should count, and did
};

struct counter_group {
	size_t place;
	size_t part; // of its events, on machines with several kinds of cores
	int leader;  // the descriptor to read them all
	size_t count;
	struct {
		size_t event;
		int fd;
		uint64_t last;
	} * members;
	uint64_t last_enabled, last_running;
};

struct counters {
	struct pmu_events *events; // of the caller; those that cannot be counted get `missing` set
	const struct counter_place *places;
	size_t place_count;
	ARRAY(struct counter_group) groups;
	int last_error; // of a part that could not be opened
	bool user_only; // the kernel may not be counted by this user: at least one event leaves it out
};

// What cannot be opened is missing afterwards; nothing fails.
void counters_open(struct counters *counters, struct pmu_events *events, const struct counter_place *places,
		   size_t place_count);
void counters_enable(struct counters *counters);
void counters_close(struct counters *counters);

// What was counted since the last call: counts[place * events->count + event], all zero before.
void counters_read(struct counters *counters, struct count *counts);

// In words, to be freed: why perf_event_open() did not take it (an errno).
char *counter_why_missing(const struct pmu_event *event, int error);

// What one kind of cores has counted of an event. While a task is on one kind, the others look as if
// they had no counter for it: only together do they tell how long there was one.
void count_add_part(struct count *count, uint64_t value, uint64_t enabled, uint64_t running);

// The part of an event that a CPU counts; -1: none. 0 also if it has no parts.
int pmu_part_on(const struct pmu_event *event, int cpu);

// The CPUs of "0,3-5", into an array to be freed; -EINVAL: it is no such list.
struct cpu_list {
	int *items;
	size_t count, capacity;
};
int cpu_list_parse(struct cpu_list *cpus, const char *text);
