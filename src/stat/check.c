// Checks the counts against assertions and a baseline. An assertion about what cannot be counted on this
// machine fails, unless it was made for machines that can count it (--assert-if-available). The baseline
// gives a warning then: it was written elsewhere.
#include "stat/stat.h"
#include "base/log.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int stat_take_assertions(struct counting *counting) {
	for (size_t i = 0; i < counting->options->assertions.count; i++) {
		const struct stat_wanted *wanted = &counting->options->assertions.items[i];
		struct stat_assertion assertion = {.text = wanted->text,
						   .if_available = wanted->if_available};
		char why[FORMULA_WHY_SIZE] = "no comparison";
		if (formula_parse(&assertion.formula, assertion.text, why) == 0) {
			array_push(&counting->assertions, assertion);
			if (assertion.formula.comparison)
				continue;
			memcpy(why, "no comparison", sizeof("no comparison"));
		}
		log_error("--assert '%s': %s; write it as in 'instructions<5e6'", assertion.text, why);
		return STAT_USAGE;
	}
	return 0;
}

// The first event that a formula needs and that was not counted, at most `depth` metrics deep: they may go in
// circles.
static const struct pmu_event *missing_event(const struct counting *counting, const struct formula *formula,
					     unsigned depth) {
	for (size_t i = 0; depth && i < formula->steps.count; i++) {
		const char *name = formula->steps.items[i].name;
		const struct pmu_event *event = name ? pmu_events_find(&counting->events, name) : NULL;
		const struct metric *metric = name && !event ? metrics_find(&counting->metrics, name) : NULL;
		if (metric)
			event = missing_event(counting, &metric->formula, depth - 1);
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

// It has no value here: it fails, or there is a warning.
static int report_unchecked(const struct counting *counting, const struct stat_assertion *assertion,
			    const char *test) {
	const struct pmu_event *event = missing_event(counting, &assertion->formula, STAT_DEEPEST);
	void (*report)(const char *format, ...) = assertion->if_available ? log_warning : log_error;
	const char *option = assertion->if_available ? "--assert-if-available" : "--assert";
	const char *result = assertion->if_available ? "not checked" : "failed";
	if (event)
		report("%s%s '%s' %s: %s is not available: %s", test, option, assertion->text, result,
		       event->name, event->missing);
	else
		report("%s%s '%s' %s: it has no value", test, option, assertion->text, result);
	return assertion->if_available ? 0 : STAT_DIFFERS;
}

static int check_assertion(const struct counting *counting, const struct stat_assertion *assertion) {
	struct stat_part whole = stat_whole(counting, &counting->total);
	double left, right;
	char text[2][40], test[96];
	of_test(counting, test);
	if (formula_holds(&assertion->formula, stat_lookup, &whole, &left, &right))
		return 0;
	if (isnan(left) || isnan(right))
		return report_unchecked(counting, assertion, test);
	log_error("%s--assert '%s' failed: it compares %s with %s", test, assertion->text,
		  stat_number(left, text[0]), stat_number(right, text[1]));
	return STAT_DIFFERS;
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
		log_warning("%s%s not compared with the baseline: not available: %s", test, name,
			    stat_why_not(counting, (size_t)(event - counting->events.items)));
		return 0;
	}
	double change = before ? (now - before) / before : now ? (double)INFINITY : 0;
	if (fabs(change) <= counting->options->tolerance)
		return 0;
	// Less is better, whatever is counted: not a failure, but a baseline to be renewed.
	bool worse = change > 0;
	(worse ? log_error : log_warning)("%s%s: %s, baseline %s (%+.2f%%, tolerance %.4g%%)", test, name,
					  stat_number(now, text[0]), stat_number(before, text[1]),
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
