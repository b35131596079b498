#include "capture/bpf/counting.h"
#include "base/log.h"
#include "capture/pmu/counters.h"
#include "capture/pmu/metrics.h"
#include "tracelet.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct cpu_counters {
	struct pmu_events events;
	ARRAY(struct counter_place) places;
	struct counters counters;
	ARRAY(struct bpf_link *) ticks;
	uint64_t interval;
	bool per_slice, described, started;
};

// ---- choosing events ----

static void every_cpu(struct cpu_counters *counters) {
	struct cpu_list cpus = {0};
	CLEANUP_FREE char *online = pmu_sysfs_line("/sys/devices/system/cpu", "online");
	cpu_list_parse(&cpus, online ? online : "0");
	for (size_t i = 0; i < cpus.count; i++)
		array_push(&counters->places, (struct counter_place){.pid = -1, .cpu = cpus.items[i]});
	array_free(&cpus);
}

// Events that cannot be counted for the same reason share one line.
static void report_missing(const struct pmu_events *events) {
	for (size_t i = 0; i < events->count; i++) {
		const char *why = events->items[i].missing;
		struct buffer names = {0};
		bool reported = false;
		for (size_t j = 0; why && j < events->count; j++) {
			if (!events->items[j].missing || strcmp(events->items[j].missing, why) != 0)
				continue;
			reported |= j < i;
			buffer_printf(&names, "%s%s", names.size ? ", " : "", events->items[j].name);
		}
		if (why && !reported)
			log_warning("not counted: %.*s: %s", (int)names.size, (char *)names.data, why);
		buffer_free(&names);
	}
}

static void free_counters(struct cpu_counters *counters) {
	counters_close(&counters->counters);
	array_free(&counters->places);
	array_free(&counters->ticks);
	pmu_events_free(&counters->events);
	free(counters);
}

static size_t most_open_files(void) {
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur;
}

struct cpu_counters *cpu_counters_open(const struct counting_options *options) {
	char why[PMU_WHY_SIZE] = "";
	if (!options->events)
		return NULL;
	struct cpu_counters *counters = memory_alloc(sizeof(*counters));
	counters->interval = options->interval;
	counters->per_slice = options->per_slice;
	if (metrics_parse_events(&counters->events, options->events, why)) {
		log_warning("no counters: %s", why);
		free_counters(counters);
		return NULL;
	}
	for (size_t i = COUNTERS_MOST; i < counters->events.count; i++)
		if (!counters->events.items[i].missing)
			counters->events.items[i].missing = memory_format("a trace has room for %d events",
									  COUNTERS_MOST);
	most_open_files();
	every_cpu(counters);
	counters_open(&counters->counters, &counters->events, counters->places.items, counters->places.count);
	report_missing(&counters->events);
	if (counters->counters.groups.count)
		return counters;
	free_counters(counters);
	return NULL;
}

// ---- in the kernel ----

static uint32_t value_count(const struct cpu_counters *counters) {
	return counters ? (uint32_t)MIN(counters->events.count, (size_t)COUNTERS_MOST) : 0;
}

void cpu_counters_prepare(const struct cpu_counters *counters, struct tracelet *programs, uint32_t cpu_count,
			  uint32_t slot) {
	bpf_map__set_autocreate(programs->maps.counter_events, counters);
	bpf_map__set_autocreate(programs->maps.cpu_counts, counters);
	bpf_program__set_autoload(programs->progs.count_switch, counters);
	bpf_program__set_autoload(programs->progs.count_tick, counters);
	bpf_program__set_autoattach(programs->progs.count_tick, false);
	if (counters)
		bpf_map__set_max_entries(programs->maps.counter_events, value_count(counters) * cpu_count);
	programs->rodata->counter_count = value_count(counters);
	programs->rodata->counter_slot = slot;
	programs->rodata->counter_slices = counters && counters->per_slice;
}

static int place_counters(const struct cpu_counters *counters, int map, uint32_t cpu_count) {
	for (size_t i = 0; i < counters->counters.groups.count; i++) {
		const struct counter_group *group = &counters->counters.groups.items[i];
		for (size_t member = 0; member < group->count; member++) {
			uint32_t cpu = (uint32_t)counters->places.items[group->place].cpu;
			uint32_t index = (uint32_t)group->members[member].event * cpu_count + cpu;
			uint32_t fd = (uint32_t)group->members[member].fd;
			if (cpu < cpu_count && bpf_map_update_elem(map, &index, &fd, BPF_ANY))
				return -errno;
		}
	}
	return 0;
}

static int start_tick(struct cpu_counters *counters, struct bpf_program *program, int cpu) {
	struct perf_event_attr attribute = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attribute),
		.sample_period = counters->interval,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attribute, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno == ENODEV ? 0 : -errno;
	struct bpf_link *link = bpf_program__attach_perf_event(program, fd);
	if (!link) {
		int error = -errno;
		close(fd);
		return error;
	}
	array_push(&counters->ticks, link); // closes the event, too
	return 0;
}

int cpu_counters_start(struct cpu_counters *counters, struct tracelet *programs, uint32_t cpu_count) {
	int error = place_counters(counters, bpf_map__fd(programs->maps.counter_events), cpu_count);
	counters_enable(&counters->counters);
	for (size_t i = 0; !error && i < counters->places.count; i++)
		error = start_tick(counters, programs->progs.count_tick, counters->places.items[i].cpu);
	counters->started = !error;
	return error;
}

// ---- in the spool ----

static const char *unit_of(const struct pmu_event *event) {
	bool clock = event->type == PERF_TYPE_SOFTWARE && (event->config[0] == PERF_COUNT_SW_TASK_CLOCK ||
							   event->config[0] == PERF_COUNT_SW_CPU_CLOCK);
	return clock ? "ns" : event->unit ? event->unit : "";
}

void cpu_counters_describe(struct cpu_counters *counters, struct spool *spool) {
	if (!counters || counters->described)
		return;
	struct spool_counters head = {.count = value_count(counters), .per_slice = counters->per_slice};
	struct buffer block = {0};
	buffer_append(&block, &head, sizeof(head));
	for (size_t i = 0; i < head.count; i++) {
		const struct pmu_event *event = &counters->events.items[i];
		const char *name = event->missing ? "" : event->name; // "" if it has no values
		const char *unit = unit_of(event);
		char scale[32];
		int length = snprintf(scale, sizeof(scale), "%.17g", event->scale);
		buffer_append(&block, name, strlen(name) + 1);
		buffer_append(&block, unit, strlen(unit) + 1);
		buffer_append(&block, scale, (size_t)length + 1);
	}
	spool_append(spool, SPOOL_COUNTERS, block.data, block.size);
	buffer_free(&block);
	counters->described = true;
}

// ---- the end ----

// An event that shared its counter with others has estimated values.
static void report_shared(struct cpu_counters *counters) {
	size_t events = counters->events.count;
	CLEANUP_FREE struct count *counts = memory_alloc(counters->places.count * events * sizeof(*counts));
	counters_read(&counters->counters, counts);
	for (size_t event = 0; event < events; event++) {
		uint64_t enabled = 0, running = 0;
		for (size_t place = 0; place < counters->places.count; place++) {
			enabled += counts[place * events + event].enabled;
			running += counts[place * events + event].running;
		}
		if (running < enabled - enabled / 1000)
			log_warning("%s was on a counter for %.0f %% of the time: its values are scaled",
				    counters->events.items[event].name,
				    (double)running / (double)enabled * 100);
	}
}

void cpu_counters_close(struct cpu_counters *counters) {
	if (!counters)
		return;
	for (size_t i = 0; i < counters->ticks.count; i++)
		bpf_link__destroy(counters->ticks.items[i]);
	if (counters->started)
		report_shared(counters);
	free_counters(counters);
}
