#include "capture/bpf/sample_event.h"
#include "capture/pmu/counters.h"
#include "capture/pmu/metrics.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool parse_rate(struct sample_event *event, const char *text) {
	char *end;
	errno = 0;
	event->rate = strtoull(text, &end, 10);
	event->frequency = strcasecmp(end, "hz") == 0;
	return isdigit((unsigned char)*text) && !errno && event->rate && (!*end || event->frequency);
}

int sample_event_parse(struct sample_event *event, const char *text, char why[PMU_WHY_SIZE]) {
	CLEANUP_FREE char *name = memory_string(text);
	char *at = strrchr(name, '@');
	*event = (struct sample_event){0};
	if (!at || at == name || !parse_rate(event, at + 1)) {
		snprintf(why, PMU_WHY_SIZE, "'%.100s' is neither EVENT@PERIOD nor EVENT@NUMBERhz", text);
		return -EINVAL;
	}
	*at = 0;
	int error = metrics_parse_events(&event->events, name, why);
	if (!error && event->events.count != 1) {
		snprintf(why, PMU_WHY_SIZE, "only one event can be sampled, not '%.100s'", name);
		error = -EINVAL;
	}
	return error;
}

void sample_event_free(struct sample_event *event) {
	pmu_events_free(&event->events);
}

const char *sample_event_name(const struct sample_event *event) {
	return event->events.items[0].name;
}

bool sample_event_is_hardware(const struct sample_event *event) {
	uint32_t type = event->events.items[0].type;
	return type != PERF_TYPE_SOFTWARE && type != PERF_TYPE_TRACEPOINT;
}

bool sample_event_on(const struct sample_event *event, int cpu, struct perf_event_attr *attribute) {
	const struct pmu_event *wanted = &event->events.items[0];
	int part = pmu_part_on(wanted, cpu);
	if (part < 0)
		return false;
	bool has_parts = wanted->parts.count;
	const uint64_t *config = has_parts ? wanted->parts.items[part].config : wanted->config;
	*attribute = (struct perf_event_attr){
		.size = sizeof(*attribute),
		.type = has_parts ? wanted->parts.items[part].type : wanted->type,
		.config = config[0],
		.config1 = config[1],
		.config2 = config[2],
		.sample_period = event->rate, // or the frequency: they share a field
		.freq = event->frequency,
		.disabled = 1,
		.exclude_kernel = wanted->only_user,
		.exclude_user = wanted->only_kernel,
		.exclude_hv = wanted->only_user || wanted->only_kernel,
	};
	return true;
}

char *sample_event_missing(const struct sample_event *event) {
	const struct pmu_event *wanted = &event->events.items[0];
	if (wanted->missing)
		return memory_string(wanted->missing);
	if (wanted->cpus)
		return memory_string("it is not counted by a core, so it has no stacks");
	struct perf_event_attr attribute;
	int error = ENOENT;
	for (int cpu = 0; cpu < (int)sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		if (!sample_event_on(event, cpu, &attribute))
			continue;
		int fd = (int)syscall(SYS_perf_event_open, &attribute, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd >= 0) {
			close(fd);
			return NULL;
		}
		error = errno;
	}
	return counter_why_missing(wanted, error);
}
