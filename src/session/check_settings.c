#include "session/check_settings.h"
#include "base/log.h"
#include "capture/bpf/sample_event.h"
#include "capture/pmu/metrics.h"
#include "heap/leaks.h"
#include "process/user.h"

static bool check_suppressions(const struct settings *settings) {
	struct heap_suppressions suppressions;
	int error = heap_suppressions_load(&suppressions, settings->heap_suppressions);
	heap_suppressions_free(&suppressions);
	return !error;
}

bool check_settings(const struct settings *settings) {
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
	return !error && check_suppressions(settings);
}

bool check_user(const struct settings *settings) {
	return user_choose(settings->user) && user_choose_group(settings->artifact_group);
}
