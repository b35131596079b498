// From counts to values: sums over CPUs and threads, and the formulas of metrics.
#include "stat/stat.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct stat_part stat_whole(const struct counting *counting, const struct stat_reading *reading) {
	return (struct stat_part){
		.counting = counting, .reading = reading, .cpu = STAT_ALL_PLACES, .thread = STAT_ALL_PLACES};
}

struct count stat_count(const struct stat_part *part, size_t event) {
	const struct counting *counting = part->counting;
	struct count sum = {0};
	for (size_t i = 0; i < counting->places.count; i++) {
		const struct counter_place *place = &counting->places.items[i];
		if ((part->cpu != STAT_ALL_PLACES && place->cpu != part->cpu) ||
		    (part->thread != STAT_ALL_PLACES && place->pid != part->thread))
			continue;
		const struct count *count = &part->reading->counts[i * counting->events.count + event];
		sum.value += count->value;
		sum.scaled += count->scaled;
		sum.enabled += count->enabled;
		sum.running += count->running;
	}
	return sum;
}

bool stat_was_counted(const struct counting *counting, size_t event, const struct count *count) {
	return !counting->events.items[event].missing && (count->running || !count->enabled);
}

const char *stat_why_not(const struct counting *counting, size_t event) {
	const char *missing = counting->events.items[event].missing;
	return missing                   ? missing
	       : counting->options->cpus ? "it never ran on these CPUs, or never got a hardware counter"
					 : "it never got a hardware counter";
}

double stat_event_value(const struct stat_part *part, size_t event) {
	struct count count = stat_count(part, event);
	return stat_was_counted(part->counting, event, &count)
		       ? count.scaled * part->counting->events.items[event].scale
		       : (double)NAN;
}

double stat_metric_value(const struct stat_part *part, const struct metric *metric) {
	struct stat_part deeper = *part;
	if (deeper.depth++ == STAT_DEEPEST)
		return (double)NAN;
	return formula_value(&metric->formula, stat_lookup, &deeper);
}

double stat_lookup(const char *name, void *context) {
	const struct stat_part *part = context;
	const struct counting *counting = part->counting;
	if (strcmp(name, "seconds") == 0)
		return part->reading->end - part->reading->begin;
	const struct pmu_event *event = pmu_events_find(&counting->events, name);
	if (event)
		return stat_event_value(part, (size_t)(event - counting->events.items));
	const struct metric *metric = metrics_find(&counting->metrics, name);
	return metric ? stat_metric_value(part, metric) : (double)NAN;
}

char *stat_number(double value, char text[40]) {
	char digits[40];
	if (value < 0 || value >= 1e18 || isnan(value) || (value != floor(value) && value < 1000)) {
		snprintf(text, 40, "%.4g", value);
		return text;
	}
	int length = snprintf(digits, sizeof(digits), "%.0f", value), out = 0;
	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			text[out++] = ',';
		text[out++] = digits[i];
	}
	text[out] = 0;
	return text;
}
