// Samples at the overflow of an event: "cache-misses@10000" every 10000, "cycles@999hz" 999 times a
// second.
#pragma once

#include "capture/pmu/events.h"

#include <linux/perf_event.h>

struct sample_event {
	struct pmu_events events; // exactly one
	uint64_t rate;            // a period, or samples per second
	bool frequency;
};

// 0, or -EINVAL and why. Free with sample_event_free() in either case.
int sample_event_parse(struct sample_event *event, const char *text, char why[PMU_WHY_SIZE]);
void sample_event_free(struct sample_event *event);

const char *sample_event_name(const struct sample_event *event);
bool sample_event_is_hardware(const struct sample_event *event);
// False if this CPU has no such event.
bool sample_event_on(const struct sample_event *event, int cpu, struct perf_event_attr *attribute);
// Why it cannot be sampled here (caller frees), or NULL if it can.
char *sample_event_missing(const struct sample_event *event);
