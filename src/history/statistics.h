// The tests that tell a change from noise. Small, exact where it is cheap, and without state: unit tests
// compare each with known values. GSL has most of these, but is 5 MB for the few functions here.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

double statistics_mean(const double *values, size_t count);
double statistics_median(const double *values, size_t count); // of an even count the mean of the middle two
double statistics_spread(const double *values, size_t count); // 1.4826 x the median distance to the median
int64_t statistics_middle(int64_t *values, size_t count);     // the item [count / 2] in order; sorts

// Replaces outliers: a value further than 3 spreads from the median of its neighbours (7 on each side)
// becomes that limit.
void statistics_clip(const double *values, size_t count, double *clipped);

// ---- probabilities that two samples differ only by chance, from both sides ----

double statistics_t_probability(double t, double freedom); // of Student's distribution
// Pooled t-test, weakened by the autocorrelation of the residuals if `correlated`.
double statistics_t_test(const double *a, size_t a_count, const double *b, size_t b_count, bool correlated);
// Mann-Whitney: normal approximation with ties.
double statistics_rank_test(const double *a, size_t a_count, const double *b, size_t b_count);
// Cliff's delta: how much more often b is above a than below; from -1 to 1.
double statistics_delta(const double *a, size_t a_count, const double *b, size_t b_count);

// One value against a baseline of logarithms. The deviation is that of all values, or that on the side of the
// value if it is larger; at least 0.5 %.
double statistics_single_test(double value, const double *baseline, size_t count);

// Benjamini-Hochberg: of `count` probabilities, the largest that counts as significant at the false
// discovery rate q; negative if none does.
double statistics_discovery_limit(const double *probabilities, size_t count, double q);

double statistics_wilson(uint64_t hits, uint64_t count); // lower bound of the rate, 95 %

// ---- rates that change over time ----

struct statistics_trial {
	uint32_t hits, count; // failures, runs
};

// Splits a sequence of trials where its rate changes: writes the first trial of each segment but the first,
// ascending, and returns how many. `most` is the room in `splits`.
size_t statistics_segments(const struct statistics_trial *trials, size_t count, size_t *splits, size_t most);
