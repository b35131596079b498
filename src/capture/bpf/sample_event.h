// Samples by the overflow of an event: "cache-misses@10000" after so many, "cycles@999hz" so often.
#pragma once

#include "capture/pmu/events.h"

#include <linux/perf_event.h>

struct sample_event {
	struct pmu_events events; // one
	uint64_t rate;            // a period, or times in a second
	bool frequency;
};

// 0, or -EINVAL and why. Freed by sample_event_free(), also then.
int sample_event_parse(struct sample_event *event, const char *text, char why[PMU_WHY_SIZE]);
void sample_event_free(struct sample_event *event);

const char *sample_event_name(const struct sample_event *event);
bool sample_event_is_hardware(const struct sample_event *event);
// False: this CPU has no such event.
bool sample_event_on(const struct sample_event *event, int cpu, struct perf_event_attr *attribute);
// Why it cannot be sampled here, to be freed; NULL: it can.
char *sample_event_missing(const struct sample_event *event);
