// Machines with several kinds of cores have a PMU for each kind, which lists its CPUs. An event is then
// counted by several of them, and its value is their sum. A name that all PMUs know is looked up in each of
// them; a generic one (cycles) is directed to a PMU by the PMU's number in the upper half of its own.
#include "capture/pmu/events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

enum { TYPE_SHIFT = 32 };

// What Arm's PMUs call events that have a name for all machines. Kernels before 6.6 know only these.
static const struct {
	uint64_t config;
	const char *names[2];
} hardware_names[] = {
	{PERF_COUNT_HW_CPU_CYCLES, {"cpu_cycles", "cpu-cycles"}},
	{PERF_COUNT_HW_INSTRUCTIONS, {"inst_retired", "instructions"}},
	{PERF_COUNT_HW_CACHE_REFERENCES, {"l1d_cache", "cache-references"}},
	{PERF_COUNT_HW_CACHE_MISSES, {"l1d_cache_refill", "cache-misses"}},
	{PERF_COUNT_HW_BRANCH_INSTRUCTIONS, {"br_retired", "branch-instructions"}},
	{PERF_COUNT_HW_BRANCH_MISSES, {"br_mis_pred", "branch-misses"}},
	{PERF_COUNT_HW_BUS_CYCLES, {"bus_cycles", "bus-cycles"}},
	{PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, {"stall_frontend", NULL}},
	{PERF_COUNT_HW_STALLED_CYCLES_BACKEND, {"stall_backend", NULL}},
	{PERF_COUNT_HW_REF_CPU_CYCLES, {"ref-cycles", NULL}},
};

// The PMUs of the cores if there is more than one kind; otherwise none.
static void list_cores(struct pmu_sysfs_names *cores, const char *devices) {
	struct pmu_sysfs_names all = {0};
	pmu_sysfs_list(&all, devices);
	for (size_t i = 0; i < all.count; i++) {
		CLEANUP_FREE char *folder = memory_format("%s/%s", devices, all.items[i]);
		CLEANUP_FREE char *cpus = pmu_sysfs_line(folder, "cpus");
		if (cpus && *cpus)
			array_push(cores, memory_string(all.items[i]));
	}
	pmu_sysfs_names_free(&all);
	if (cores->count < 2) {
		pmu_sysfs_names_free(cores);
		*cores = (struct pmu_sysfs_names){0};
	}
}

static bool take_named(struct pmu_event *event, const char *devices, const char *pmu, const char *name) {
	char why[PMU_WHY_SIZE];
	struct pmu_event found = {0};
	bool good = name && pmu_sysfs_event(&found, devices, pmu, name, why) == 0;
	if (good) {
		event->type = found.type;
		memcpy(event->config, found.config, sizeof(event->config));
	}
	free(found.cpus);
	free(found.unit);
	return good;
}

// The event as this PMU knows it; false if it does not.
static bool translate(struct pmu_event *event, const char *devices, const char *pmu, uint32_t type,
		      const char *name) {
	if (name)
		return take_named(event, devices, pmu, name);
	if (event->type == PERF_TYPE_RAW) {
		event->type = type;
		return true;
	}
	for (size_t i = 0; event->type == PERF_TYPE_HARDWARE && i < ARRAY_SIZE(hardware_names); i++)
		for (size_t j = 0; hardware_names[i].config == event->config[0] && j < 2; j++)
			if (take_named(event, devices, pmu, hardware_names[i].names[j]))
				return true;
	event->config[0] |= (uint64_t)type << TYPE_SHIFT;
	return true;
}

void pmu_spread(struct pmu_event *event, const char *devices, const char *name) {
	struct pmu_sysfs_names cores = {0};
	list_cores(&cores, devices);
	for (size_t i = 0; i < cores.count; i++) {
		CLEANUP_FREE char *folder = memory_format("%s/%s", devices, cores.items[i]);
		CLEANUP_FREE char *type = pmu_sysfs_line(folder, "type");
		struct pmu_event there = {.type = event->type,
					  .config = {event->config[0], event->config[1], event->config[2]}};
		if (!type ||
		    !translate(&there, devices, cores.items[i], (uint32_t)strtoul(type, NULL, 10), name))
			continue;
		struct pmu_part part = {.type = there.type, .cpus = pmu_sysfs_line(folder, "cpus")};
		memcpy(part.config, there.config, sizeof(part.config));
		array_push(&event->parts, part);
	}
	pmu_sysfs_names_free(&cores);
}

void pmu_confine(struct pmu_event *event, const char *devices, const char *pmu) {
	struct pmu_sysfs_names cores = {0};
	list_cores(&cores, devices);
	bool alike = !cores.count;
	pmu_sysfs_names_free(&cores);
	CLEANUP_FREE char *folder = memory_format("%s/%s", devices, pmu);
	char *cpus = alike ? NULL : pmu_sysfs_line(folder, "cpus");
	if (!cpus)
		return;
	array_push(&event->parts,
		   (struct pmu_part){.type = event->type,
				     .config = {event->config[0], event->config[1], event->config[2]},
				     .cpus = cpus});
}
