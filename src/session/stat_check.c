// Whether the counts are as they should be. What cannot be counted on this machine cannot be
// checked on it: that is said, and is no failure.
#include "session/stat.h"
#include "base/log.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int stat_take_assertions(struct counting *counting) {
	for (size_t i = 0; i < counting->options->assertions.count; i++) {
		struct stat_assertion assertion = {.text = counting->options->assertions.items[i]};
		char why[FORMULA_WHY_SIZE] = "it compares nothing";
		if (formula_parse(&assertion.formula, assertion.text, why) == 0) {
			array_push(&counting->assertions, assertion);
			if (assertion.formula.comparison)
				continue;
			memcpy(why, "it compares nothing", sizeof("it compares nothing"));
		}
		log_error("--assert '%s': %s; it is written like 'instructions<5e6'", assertion.text, why);
		return STAT_USAGE;
	}
	return 0;
}

// The first event that a formula needs and that was not counted.
static const struct pmu_event *missing_event(const struct counting *counting, const struct formula *formula) {
	for (size_t i = 0; i < formula->steps.count; i++) {
		const char *name = formula->steps.items[i].name;
		const struct pmu_event *event = name ? pmu_events_find(&counting->events, name) : NULL;
		const struct metric *metric = name && !event ? metrics_find(&counting->metrics, name) : NULL;
		if (metric)
			event = missing_event(counting, &metric->formula);
		if (event && event->missing)
			return event;
	}
	return NULL;
}

// Of which case the next words are: "name: ", or nothing.
static const char *of_test(const struct counting *counting, char text[96]) {
	*text = 0;
	if (counting->test)
		snprintf(text, 96, "%.90s: ", counting->test);
	return text;
}

static int check_assertion(const struct counting *counting, const struct stat_assertion *assertion) {
	struct stat_part whole = stat_whole(counting, &counting->total);
	double left, right;
	char text[2][40], test[96];
	of_test(counting, test);
	if (formula_holds(&assertion->formula, stat_lookup, &whole, &left, &right))
		return 0;
	if (!isnan(left) && !isnan(right)) {
		log_error("%s--assert '%s': it is %s, compared with %s", test, assertion->text,
			  stat_number(left, text[0]), stat_number(right, text[1]));
		return STAT_DIFFERS;
	}
	const struct pmu_event *event = missing_event(counting, &assertion->formula);
	if (event)
		log_warning("%s--assert '%s' was not checked: %s is not available: %s", test, assertion->text,
			    event->name, event->missing);
	else
		log_warning("%s--assert '%s' was not checked: it has no value", test, assertion->text);
	return 0;
}

static int check_baseline(const struct counting *counting, size_t index) {
	const char *name = counting->baseline.items[index].name;
	double before = counting->baseline.items[index].value;
	const struct pmu_event *event = pmu_events_find(&counting->events, name);
	struct stat_part whole = stat_whole(counting, &counting->total);
	char text[2][40], test[96];
	of_test(counting, test);
	if (!event)
		return 0;
	double now = stat_event_value(&whole, (size_t)(event - counting->events.items)) / event->scale;
	if (isnan(now)) {
		log_warning("%s%s was not compared with the baseline: it is not available: %s", test, name,
			    stat_why_not(counting, (size_t)(event - counting->events.items)));
		return 0;
	}
	double change = before ? (now - before) / before : now ? (double)INFINITY : 0;
	if (fabs(change) <= counting->options->tolerance)
		return 0;
	// Less is better, whatever is counted: not a failure, but a baseline to be renewed.
	bool worse = change > 0;
	(worse ? log_error : log_warning)("%s%s: %s, in the baseline %s (%+.2f%%, tolerance %.4g%%)", test,
					  name, stat_number(now, text[0]), stat_number(before, text[1]),
					  100 * change, 100 * counting->options->tolerance);
	return worse ? STAT_DIFFERS : 0;
}

int stat_check(const struct counting *counting) {
	int status = 0;
	for (size_t i = 0; i < counting->assertions.count; i++)
		status |= check_assertion(counting, &counting->assertions.items[i]);
	for (size_t i = 0; i < counting->baseline.count; i++)
		status |= check_baseline(counting, i);
	return status;
}
