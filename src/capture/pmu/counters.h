// Counts events with perf_event_open() at one or more places (a process, a CPU, a thread) and reads what they
// counted since the last read.
#pragma once

#include "capture/pmu/events.h"

#include <sys/types.h>

// Where to count: by task, by CPU or both.
struct counter_place {
	pid_t pid;      // -1 for everything on the CPU
	int cpu;        // -1 for any CPU
	bool inherit;   // also what the task starts from now on
	bool elsewhere; // the task also runs on CPUs that are no place, so how it shared the counters is
			// unknown
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
	struct pmu_events *events; // the caller's; those that cannot be counted get `missing` set
	const struct counter_place *places;
	size_t place_count;
	ARRAY(struct counter_group) groups;
	int last_error; // of a part that could not be opened
	bool user_only; // this user may not count the kernel: at least one event leaves it out
};

// Events that cannot be opened get `missing`; this never fails.
void counters_open(struct counters *counters, struct pmu_events *events, const struct counter_place *places,
		   size_t place_count);
void counters_enable(struct counters *counters);
void counters_close(struct counters *counters);

// What was counted since the last call: counts[place * events->count + event], all zero before.
void counters_read(struct counters *counters, struct count *counts);

// Why perf_event_open() failed (an errno), as text, to be freed.
char *counter_why_missing(const struct pmu_event *event, int error);

// Adds what one kind of core counted. While a task runs on one kind, the others look as if they had
// no counter for it; only together do they show for how long there was one.
void count_add_part(struct count *count, uint64_t value, uint64_t enabled, uint64_t running);

// The part of an event that a CPU counts; -1 if none; 0 also if it has no parts.
int pmu_part_on(const struct pmu_event *event, int cpu);

// The CPUs of "0,3-5", in an array to be freed; -EINVAL if it is not such a list.
struct cpu_list {
	int *items;
	size_t count, capacity;
};
int cpu_list_parse(struct cpu_list *cpus, const char *text);
