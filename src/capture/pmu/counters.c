// Each group of events has a leader, whose descriptor returns the values of all of them in one read, together
// with the times that they were enabled and running: with more events than counters the kernel takes turns,
// and the values are extrapolated.
#include "capture/pmu/counters.h"

#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_CPUS = 8192 };

int cpu_list_parse(struct cpu_list *cpus, const char *text) {
	for (const char *at = text; *at || at == text;) {
		char *end;
		unsigned long low = strtoul(at, &end, 10), high = low;
		if (!isdigit((unsigned char)*at))
			return -EINVAL;
		if (*end == '-' && isdigit((unsigned char)end[1]))
			high = strtoul(end + 1, &end, 10);
		if (low > high || high >= MOST_CPUS || (*end && *end != ',') || (*end && !end[1]))
			return -EINVAL;
		for (unsigned long cpu = low; cpu <= high; cpu++)
			array_push(cpus, (int)cpu);
		at = *end ? end + 1 : end;
	}
	return 0;
}

// ---- opening ----

static bool cpu_list_has(const char *list, int cpu) {
	struct cpu_list cpus = {0};
	bool found = false;
	cpu_list_parse(&cpus, list);
	for (size_t i = 0; i < cpus.count; i++)
		found |= cpus.items[i] == cpu;
	array_free(&cpus);
	return found;
}

int pmu_part_on(const struct pmu_event *event, int cpu) {
	for (size_t i = 0; i < event->parts.count; i++)
		if (cpu_list_has(event->parts.items[i].cpus, cpu))
			return (int)i;
	return event->parts.count ? -1 : 0;
}

static int open_event(const struct pmu_event *event, size_t part, const struct counter_place *place,
		      int leader, bool user_only) {
	bool has_parts = part < event->parts.count;
	const uint64_t *config = has_parts ? event->parts.items[part].config : event->config;
	struct perf_event_attr attribute = {
		.size = sizeof(attribute),
		.type = has_parts ? event->parts.items[part].type : event->type,
		.config = config[0],
		.config1 = config[1],
		.config2 = config[2],
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
		.inherit = place->inherit,
		.disabled = leader < 0,
		.enable_on_exec = leader < 0 && place->on_exec,
		.exclude_kernel = event->only_user || user_only,
		.exclude_hv = event->only_user || event->only_kernel || user_only,
		.exclude_user = event->only_kernel,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attribute, place->pid, place->cpu, leader,
			      PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

// Without the kernel these would always be 0, which is worse than no number.
static bool only_in_kernel(const struct pmu_event *event) {
	return event->type == PERF_TYPE_SOFTWARE && (event->config[0] == PERF_COUNT_SW_CONTEXT_SWITCHES ||
						     event->config[0] == PERF_COUNT_SW_CPU_MIGRATIONS);
}

// Ordinary users usually may not count the kernel.
static int open_as_allowed(struct counters *counters, const struct pmu_event *event, size_t part,
			   const struct counter_place *place, int leader) {
	int fd = open_event(event, part, place, leader, false);
	if ((fd == -EACCES || fd == -EPERM) && !event->only_user && !event->only_kernel &&
	    !only_in_kernel(event)) {
		fd = open_event(event, part, place, leader, true);
		counters->user_only |= fd >= 0;
	}
	return fd;
}

static char *why_missing(const struct pmu_event *event, int error, bool in_group) {
	bool hardware = event->type == PERF_TYPE_HARDWARE || event->type == PERF_TYPE_HW_CACHE ||
			event->type == PERF_TYPE_RAW;
	CLEANUP_FREE char *level = pmu_sysfs_line("/proc/sys/kernel", "perf_event_paranoid");
	switch (error) {
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
	case ENXIO:
		return memory_string(hardware ? "no PMU on this machine counts it"
					      : "the kernel does not count it");
	case EACCES:
	case EPERM:
		return memory_format(
			"not permitted; run as root or lower kernel.perf_event_paranoid (now %s)",
			level ? level : "unknown");
	case EINVAL:
		return memory_string(in_group ? "the group needs more counters than the PMU has"
					      : "the PMU rejects it");
	case EMFILE:
		return memory_string("too many open files (ulimit -n)");
	default:
		return memory_string(strerror(error));
	}
}

char *counter_why_missing(const struct pmu_event *event, int error) {
	return why_missing(event, error, false);
}

// Whether this part of the event is counted at a place. Without a CPU all parts are.
static bool belongs(const struct pmu_event *event, size_t part, const struct counter_place *place) {
	if (!event->parts.count)
		return part == 0;
	return part < event->parts.count && (place->cpu < 0 || pmu_part_on(event, place->cpu) == (int)part);
}

// The events [first, end) form one group; a group runs on one kind of core.
static void open_group(struct counters *counters, size_t first, size_t end, size_t place_index,
		       const struct counter_place *place, size_t part) {
	struct counter_group group = {.place = place_index, .leader = -1, .part = part};
	group.members = memory_alloc((end - first) * sizeof(*group.members));
	for (size_t i = first; i < end; i++) {
		struct pmu_event *event = &counters->events->items[i];
		if (event->missing || !belongs(event, part, place))
			continue;
		int fd = open_as_allowed(counters, event, part, place, group.leader);
		if (fd < 0) {
			// That a thread or a CPU went away meanwhile, or that a kind of core lacks the event,
			// is not the event's fault.
			bool may_fail = fd == -ESRCH || place_index || event->parts.count > 1;
			if (!may_fail || fd == -EMFILE)
				event->missing = why_missing(event, -fd, group.leader >= 0);
			else if (event->parts.count > 1)
				counters->last_error = -fd;
			continue;
		}
		if (group.leader < 0)
			group.leader = fd;
		group.members[group.count].event = i;
		group.members[group.count++].fd = fd;
	}
	if (group.count)
		array_push(&counters->groups, group);
	else
		free(group.members);
}

// An uncore PMU counts for the whole machine and is read through the CPUs it names. If places are CPUs, each
// takes its own; otherwise the first place has them all.
static void open_beside(struct counters *counters, size_t first, size_t end) {
	struct cpu_list cpus = {0};
	if (cpu_list_parse(&cpus, counters->events->items[first].cpus) == 0)
		for (size_t i = 0; i < cpus.count; i++) {
			size_t place = 0;
			for (size_t other = 0; other < counters->place_count; other++)
				if (counters->places[other].cpu == cpus.items[i])
					place = other;
			open_group(counters, first, end, place,
				   &(struct counter_place){.pid = -1, .cpu = cpus.items[i]}, 0);
		}
	array_free(&cpus);
}

static bool is_open(const struct counters *counters, size_t event) {
	for (size_t i = 0; i < counters->groups.count; i++)
		for (size_t j = 0; j < counters->groups.items[i].count; j++)
			if (counters->groups.items[i].members[j].event == event)
				return true;
	return false;
}

// Opens the group at each place, on each kind of core that may be there.
static void open_everywhere(struct counters *counters, size_t first, size_t end) {
	struct pmu_events *events = counters->events;
	size_t parts = 1;
	for (size_t i = first; i < end; i++)
		parts = MAX(parts, events->items[i].parts.count);
	for (size_t place = 0; place < counters->place_count; place++)
		for (size_t part = 0; part < parts; part++)
			open_group(counters, first, end, place, &counters->places[place], part);
	for (size_t i = first; i < end; i++)
		if (events->items[i].parts.count > 1 && !events->items[i].missing && !is_open(counters, i))
			events->items[i].missing = why_missing(
				&events->items[i], counters->last_error ? counters->last_error : ENOENT,
				false);
}

void counters_open(struct counters *counters, struct pmu_events *events, const struct counter_place *places,
		   size_t place_count) {
	*counters = (struct counters){.events = events, .places = places, .place_count = place_count};
	for (size_t first = 0, end; first < events->count; first = end) {
		for (end = first + 1;
		     end < events->count && events->items[end].group == events->items[first].group; end++)
			;
		if (events->items[first].cpus) {
			open_beside(counters, first, end);
			continue;
		}
		open_everywhere(counters, first, end);
	}
}

void counters_enable(struct counters *counters) {
	for (size_t i = 0; i < counters->groups.count; i++) {
		const struct counter_group *group = &counters->groups.items[i];
		size_t event = group->members[0].event;
		if (!counters->places[group->place].on_exec || counters->events->items[event].cpus)
			ioctl(group->leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	}
}

void counters_close(struct counters *counters) {
	for (size_t i = 0; i < counters->groups.count; i++) {
		for (size_t member = 0; member < counters->groups.items[i].count; member++)
			close(counters->groups.items[i].members[member].fd);
		free(counters->groups.items[i].members);
	}
	array_free(&counters->groups);
}

// ---- reading ----

void count_add_part(struct count *count, uint64_t value, uint64_t enabled, uint64_t running) {
	count->value += value;
	count->running += running;
	count->enabled = MAX(count->enabled, enabled);
	// The kernel tracks these times per PMU, so they differ slightly.
	bool shared = count->running && count->running < count->enabled - count->enabled / 1000;
	count->scaled = (double)count->value * (shared ? (double)count->enabled / (double)count->running : 1);
}

static void read_group(const struct counters *counters, struct counter_group *group, uint64_t *values,
		       struct count *counts) {
	enum { COUNT, ENABLED, RUNNING, VALUES };
	size_t size = (VALUES + group->count) * sizeof(*values);
	if (read(group->leader, values, size) != (ssize_t)size || values[COUNT] != group->count)
		return;
	uint64_t enabled = values[ENABLED] - group->last_enabled;
	uint64_t running = values[RUNNING] - group->last_running;
	group->last_enabled = values[ENABLED];
	group->last_running = values[RUNNING];
	for (size_t i = 0; i < group->count; i++) {
		struct count *count =
			&counts[group->place * counters->events->count + group->members[i].event];
		uint64_t value = values[VALUES + i] - group->members[i].last;
		group->members[i].last = values[VALUES + i];
		const struct pmu_event *event = &counters->events->items[group->members[i].event];
		if (event->parts.count) {
			bool confined = event->parts.count == 1 && counters->places[group->place].cpu < 0;
			count_add_part(count, value, confined ? running : enabled, running);
			continue;
		}
		count->value += value;
		count->scaled += running && running < enabled
					 ? (double)value * ((double)enabled / (double)running)
					 : (double)value;
		count->enabled += enabled;
		count->running += running;
	}
}

// For a task that is counted on each CPU separately, time spent on another CPU looks like time
// without a counter. Only all its CPUs together tell the two apart.
static void share_of_task(const struct counters *counters, size_t first, size_t end, size_t event,
			  struct count *counts) {
	uint64_t enabled = 0, running = 0;
	for (size_t place = first; place < end; place++) {
		const struct count *count = &counts[place * counters->events->count + event];
		enabled = MAX(enabled, count->enabled);
		running += count->running;
	}
	// The kernel tracks these times per CPU, so they differ slightly.
	double factor = !counters->places[first].elsewhere && running && running < enabled - enabled / 1000
				? (double)enabled / (double)running
				: 1;
	for (size_t place = first; place < end; place++) {
		struct count *count = &counts[place * counters->events->count + event];
		if (running)
			count->enabled = (uint64_t)((double)count->running * factor);
		count->scaled = (double)count->value * factor;
	}
}

static void share_of_tasks(const struct counters *counters, struct count *counts) {
	for (size_t first = 0, end; first < counters->place_count; first = end) {
		const struct counter_place *place = &counters->places[first];
		for (end = first + 1; end < counters->place_count && counters->places[end].pid == place->pid;
		     end++)
			;
		for (size_t event = 0; event < counters->events->count; event++)
			if (place->pid != -1 && place->cpu != -1 && !counters->events->items[event].cpus)
				share_of_task(counters, first, end, event, counts);
	}
}

void counters_read(struct counters *counters, struct count *counts) {
	CLEANUP_FREE uint64_t *values = memory_alloc((counters->events->count + 3) * sizeof(*values));
	for (size_t i = 0; i < counters->groups.count; i++)
		read_group(counters, &counters->groups.items[i], values, counts);
	share_of_tasks(counters, counts);
}
