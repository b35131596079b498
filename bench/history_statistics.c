// How often the change points of the history are wrong: series of pure noise that must stay silent, and
// series with a step that must be found. The noises and seeds are not those the method was chosen on.
// Prints one line for each: NOISE SERIES ALARMS FOUND-WITHIN-8 MEDIAN-DELAY, for a single run against a
// baseline of 30 its alarms and how often 20 % more was found, and the alarms in series of SHORT points.
#include "base/memory.h"
#include "history/change.h"
#include "history/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POINTS = 200, STEP_AT = 120, SHORT = 40 };

// ---- random numbers: splitmix64, so that a seed gives the same series everywhere ----

static uint64_t state;

static double uniform(void) {
	uint64_t z = state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return ((double)((z ^ z >> 31) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void) {
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static double exponential(void) {
	return -log(uniform());
}

// ---- noises: factors around 1 ----

static double previous;

static double log_normal(void) {
	return exp(0.03 * normal());
}

static double outliers(void) {
	return exp(0.02 * normal()) * (uniform() < 0.03 ? 1.3 + uniform() : 1);
}

static double laplace(void) {
	return exp(0.02 * exponential() * (uniform() < 0.5 ? 1 : -1));
}

static double gamma_like(void) { // a sum of exponentials, skewed to the right
	double sum = 0;
	for (int i = 0; i < 400; i++)
		sum += exponential();
	return sum / 400;
}

static double student(void) { // three degrees of freedom: heavy tails
	double sum = 0;
	for (int i = 0; i < 3; i++) {
		double value = normal();
		sum += value * value;
	}
	return exp(0.02 * normal() / sqrt(sum / 3));
}

static double two_modes(void) { // one run in five takes another path
	return exp(0.015 * normal()) * (uniform() < 0.2 ? 1.06 : 1);
}

static double floor_and_tail(void) { // as fast as it can be, plus what others do
	return 1 + 0.03 * exponential();
}

static double quantised(void) { // a clock with coarse ticks
	return round(100 * exp(0.03 * normal())) / 100;
}

static double correlated(void) {
	previous = 0.5 * previous + sqrt(0.75) * normal();
	return exp(0.03 * previous);
}

static double drifting(void) { // a random walk that returns slowly
	previous = 0.9 * previous + sqrt(0.19) * normal();
	return exp(0.03 * previous);
}

static const struct noise {
	const char *name;
	double (*next)(void);
} noises[] = {
	{"log-normal", log_normal},   {"outliers", outliers},   {"laplace", laplace},
	{"gamma", gamma_like},        {"student-3", student},   {"two-modes", two_modes},
	{"floor", floor_and_tail},    {"quantised", quantised}, {"correlated-0.5", correlated},
	{"correlated-0.9", drifting},
};

static void fill(const struct noise *noise, double *series, size_t count, double step) {
	previous = 0;
	for (size_t i = 0; i < count; i++)
		series[i] = 1e8 * noise->next() * (i >= STEP_AT ? step : 1);
}

// How many points after the step the series needs until the step is found; 0: not within `most`.
static size_t delay(const double *series, size_t most) {
	struct change changes[16];
	for (size_t after = 2; after <= most; after++) {
		size_t count = change_find(series, STEP_AT + after, changes, ARRAY_SIZE(changes));
		for (size_t i = 0; i < count; i++)
			if (changes[i].at + 3 >= STEP_AT && changes[i].at <= STEP_AT + 3 &&
			    changes[i].ratio > 1)
				return after;
	}
	return 0;
}

// Whether `history compare` reports the last value of the series, as one of 100 tests.
static bool is_reported(const double *series, size_t count, double step) {
	enum { BASELINE = 30 };
	double baseline[BASELINE], value = log(series[count - 1] * step);
	for (size_t i = 0; i < BASELINE; i++)
		baseline[i] = log(series[count - 1 - BASELINE + i]);
	return fabs(expm1(value - statistics_median(baseline, BASELINE))) >= 0.05 &&
	       statistics_single_test(value, baseline, BASELINE) <= 0.05 / 100;
}

static void measure(const struct noise *noise, size_t trials) {
	double series[POINTS];
	struct change changes[16];
	size_t alarms = 0, found = 0, delays[9] = {0}, reported = 0, slower = 0, early = 0;
	for (size_t i = 0; i < trials; i++) {
		fill(noise, series, POINTS, 1);
		alarms += change_find(series, POINTS, changes, ARRAY_SIZE(changes)) > 0;
		early += change_find(series, SHORT, changes, ARRAY_SIZE(changes)) > 0;
		reported += is_reported(series, POINTS, 1);
		slower += is_reported(series, POINTS, 1.2);
		fill(noise, series, POINTS, 1.10);
		size_t late = delay(series, 8);
		found += late > 0;
		delays[late]++;
	}
	size_t middle = 1, sum = 0;
	for (; middle < 8 && (sum += delays[middle]) * 2 < found; middle++)
		;
	printf("%s %zu %zu %zu %zu %zu %zu %zu\n", noise->name, trials, alarms, found, middle, reported,
	       slower, early);
}

int main(int argc, char **argv) {
	size_t trials = argc > 1 ? strtoul(argv[1], NULL, 10) : 400;
	state = argc > 2 ? strtoull(argv[2], NULL, 10) : 20261118;
	for (size_t i = 0; i < ARRAY_SIZE(noises); i++)
		measure(&noises[i], trials);
	return 0;
}
