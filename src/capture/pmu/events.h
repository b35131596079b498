// Names of events that the kernel counts, and the perf_event_open() arguments for each: software, hardware
// and cache events by their usual names, tracepoints (sched:sched_switch), raw codes (r1a0), those of a PMU
// in sysfs (pmu/event/, pmu/config=0x3c,umask=1/), groups in braces, and :u and :k after any of them.
#pragma once

#include "base/array.h"

// An event on one kind of core.
struct pmu_part {
	uint32_t type;
	uint64_t config[3];
	char *cpus; // those with such a core
};

struct pmu_event {
	char *name; // as written by the user
	uint64_t config[3];
	uint32_t type;
	unsigned group; // events of one group share a number: they are on the counters together
	bool only_user, only_kernel;
	struct {
		struct pmu_part *items;
		size_t count, capacity;
	} parts;       // one per kind of core; none if all cores are alike
	char *cpus;    // for an uncore PMU: the CPUs that can read it, as in "0,8-9"; else NULL
	double scale;  // from counts to `unit`
	char *unit;    // NULL if none
	char *missing; // why it cannot be counted here; NULL if nothing is known to prevent it
};

struct pmu_events {
	struct pmu_event *items;
	size_t count, capacity;
	unsigned groups;
};

// Where names come from.
struct pmu_source {
	const char *devices; // a folder for each PMU: /sys/bus/event_source/devices
	const char *tracing; // tracefs: /sys/kernel/tracing
	// Other names for events, NULL if it knows none; may be NULL.
	const char *(*alias)(const char *name, void *context);
	void *context;
	bool pfm; // ask libpfm4 for names that are unknown otherwise
};
#define PMU_SOURCE_HERE                                                                                      \
	{ .devices = "/sys/bus/event_source/devices", .tracing = "/sys/kernel/tracing", .pfm = true }

enum { PMU_WHY_SIZE = 256 };

// Adds the events of a list. An event whose PMU this machine does not have is added with `missing` set.
// Returns -EINVAL, with the reason, if the list is invalid; some events may have been added then.
int pmu_events_parse(struct pmu_events *events, const char *list, const struct pmu_source *source,
		     char why[PMU_WHY_SIZE]);
void pmu_events_free(struct pmu_events *events);

// The first one of that name, or NULL.
struct pmu_event *pmu_events_find(const struct pmu_events *events, const char *name);

// All names that need no PMU, for lists. `kind` is "software", "hardware" or "cache".
typedef void pmu_name_taker(const char *name, const char *kind, const char *description, void *context);
void pmu_event_names(pmu_name_taker *take, void *context);

// ---- PMUs of sysfs (sysfs.c) ----

// The terms between the slashes of pmu/terms/. Returns -ENOENT if there is no such PMU, or -EINVAL with the
// reason.
int pmu_sysfs_event(struct pmu_event *event, const char *devices, const char *pmu, const char *terms,
		    char why[PMU_WHY_SIZE]);

// The PMU that has an event with this name, to be freed; NULL if none.
char *pmu_sysfs_owner(const char *devices, const char *name);

// The first line of a file in a directory, to be freed; NULL if none.
char *pmu_sysfs_line(const char *folder, const char *name);

// The names in a directory, sorted.
struct pmu_sysfs_names {
	char **items;
	size_t count, capacity;
};
void pmu_sysfs_list(struct pmu_sysfs_names *names, const char *folder);
void pmu_sysfs_names_free(struct pmu_sysfs_names *names);

// ---- cores of several kinds (hybrid.c) ----

// Gives an event its parts, if there are several kinds of cores. `name` is its name in their PMUs; NULL if it
// has a generic number.
void pmu_spread(struct pmu_event *event, const char *devices, const char *name);
// Restricts the event to this PMU.
void pmu_confine(struct pmu_event *event, const char *devices, const char *pmu);

// ---- names of libpfm4 (pfm.c) ----

// Returns -ENOENT if it is not installed, or does not know the name for this CPU.
int pmu_pfm_event(struct pmu_event *event, const char *name);
