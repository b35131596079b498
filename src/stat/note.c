// The manifest's line of a command that was counted, so that the history can follow its counts.
#include "base/system.h"
#include "session/recording_facts.h"
#include "stat/stat.h"

#include <math.h>
#include <stdio.h>

// Whole counts only: an estimate from a counter that was shared varies from run to run.
static void add_counters(const struct counting *counting, manifest_counts *counters) {
	struct stat_part whole = stat_whole(counting, &counting->total);
	for (size_t i = 0; i < counting->events.count; i++) {
		struct count count = stat_count(&whole, i);
		double value = stat_event_value(&whole, i);
		if (!isnan(value) && value > 0 && value < 0x1p63 && count.running == count.enabled)
			array_push(counters, (struct manifest_count){counting->events.items[i].name,
								     (uint64_t)llround(value)});
	}
}

// Each case has a beginning of its own.
static struct timespec started_before(double seconds) {
	struct timespec time;
	clock_gettime(CLOCK_REALTIME, &time);
	int64_t ns = time.tv_sec * INT64_C(1000000000) + time.tv_nsec - (int64_t)(seconds * 1e9);
	return (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
}

void stat_note(const struct counting *counting, int wait_status, const struct rusage *usage, bool accepted) {
	struct settings settings = *counting->options->settings;
	struct measured measured = {.kind = "stat",
				    .end = {.status = wait_status,
					    .started = started_before(counting->total.end),
					    .wall_seconds = counting->total.end,
					    .accepted = accepted}};
	settings.command = counting->options->command;
	CLEANUP_FREE char *program = counting->program ? system_command_name(counting->program) : NULL;
	if (counting->test) {
		measured.name = counting->test;
		settings.suite = settings.suite ? settings.suite : program;
		snprintf(measured.end.verdict, sizeof(measured.end.verdict), "%s", counting->case_result);
	}
	usage_put(&measured.end, usage);
	add_counters(counting, &measured.counters);
	facts_note_measured(&settings, &measured);
	array_free(&measured.counters);
}
