// Names of events that the kernel counts, and what perf_event_open() wants to hear for each:
// software, hardware and cache events by the names that everybody uses, tracepoints
// (sched:sched_switch), raw ones (r1a0), those of a PMU in sysfs (pmu/event/,
// pmu/config=0x3c,umask=1/), groups in braces, and :u and :k behind any of them.
#pragma once

#include "base/array.h"

// An event on one kind of cores.
struct pmu_part {
	uint32_t type;
	uint64_t config[3];
	char *cpus; // that have such a core
};

struct pmu_event {
	char *name; // as it was written
	uint64_t config[3];
	uint32_t type;
	unsigned group; // those of one group, which are together on the counters, have one number
	bool only_user, only_kernel;
	struct {
		struct pmu_part *items;
		size_t count, capacity;
	} parts;       // where cores are not all alike; none: it is the same on each
	char *cpus;    // of a PMU beside the cores: the CPUs that may ask it, as in "0,8-9"; else NULL
	double scale;  // from counts to `unit`
	char *unit;    // NULL: none
	char *missing; // why it cannot be counted here; NULL: it can, as far as is known
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
	bool pfm; // what nobody else knows, libpfm4 may
};
#define PMU_SOURCE_HERE                                                                                      \
	{ .devices = "/sys/bus/event_source/devices", .tracing = "/sys/kernel/tracing", .pfm = true }

enum { PMU_WHY_SIZE = 256 };

// Adds the events of a list. An event that is not there because the machine has no such PMU
// is added, with `missing` set. -EINVAL and why: it makes no sense; some may have been added.
int pmu_events_parse(struct pmu_events *events, const char *list, const struct pmu_source *source,
		     char why[PMU_WHY_SIZE]);
void pmu_events_free(struct pmu_events *events);

// The first one of that name, or NULL.
struct pmu_event *pmu_events_find(const struct pmu_events *events, const char *name);

// All names that are known without a PMU, for lists. `kind` is "software", "hardware" or "cache".
typedef void pmu_name_taker(const char *name, const char *kind, const char *description, void *context);
void pmu_event_names(pmu_name_taker *take, void *context);

// ---- PMUs of sysfs (sysfs.c) ----

// The terms between the slashes of pmu/terms/. -ENOENT: there is no such PMU. -EINVAL and why.
int pmu_sysfs_event(struct pmu_event *event, const char *devices, const char *pmu, const char *terms,
		    char why[PMU_WHY_SIZE]);

// The PMU that has an event of this name, to be freed; NULL: none.
char *pmu_sysfs_owner(const char *devices, const char *name);

// A file's first line in a folder, to be freed; NULL: there is none.
char *pmu_sysfs_line(const char *folder, const char *name);

// The names in a folder, sorted.
struct pmu_sysfs_names {
	char **items;
	size_t count, capacity;
};
void pmu_sysfs_list(struct pmu_sysfs_names *names, const char *folder);
void pmu_sysfs_names_free(struct pmu_sysfs_names *names);

// ---- cores of several kinds (hybrid.c) ----

// Gives an event its parts, if there are several kinds of cores. `name`: what their PMUs call it;
// NULL: it has a number that all know.
void pmu_spread(struct pmu_event *event, const char *devices, const char *name);
// The event is this PMU's only.
void pmu_confine(struct pmu_event *event, const char *devices, const char *pmu);

// ---- names of libpfm4 (pfm.c) ----

// -ENOENT: it is not installed, or does not know the name for this CPU.
int pmu_pfm_event(struct pmu_event *event, const char *name);
