#include "session/check_events.h"
#include "base/log.h"
#include "capture/bpf/sample_event.h"
#include "capture/pmu/metrics.h"

bool check_events(const struct settings *settings) {
	char why[PMU_WHY_SIZE] = "";
	int error = 0;
	if (settings->counters && *settings->counters) {
		struct pmu_events events = {0};
		error = metrics_parse_events(&events, settings->counters, why);
		pmu_events_free(&events);
		if (error)
			log_error("--counters: %s", why);
	}
	if (!error && settings->sample_event) {
		struct sample_event event;
		error = sample_event_parse(&event, settings->sample_event, why);
		sample_event_free(&event);
		if (error)
			log_error("--sample: %s", why);
	}
	return !error;
}
