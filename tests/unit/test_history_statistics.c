// The statistics of the history against values that are known from tables, other programs or by hand.
#include "unit.h"

#include "base/memory.h"
#include "history/change.h"
#include "history/statistics.h"

#include <math.h>

#define NEAR(a, b, error) assert_true(fabs((a) - (b)) <= (error))

static void test_medians_and_spreads(void **state) {
	double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2}, spread[] = {1, 1, 2, 2, 4, 6, 9};
	int64_t integers[] = {9, 1, 5, 7};
	NEAR(statistics_median(odd, 3), 3, 0);
	NEAR(statistics_median(even, 4), 2.5, 0);
	NEAR(statistics_median(odd, 0), 0, 0);
	NEAR(statistics_spread(spread, 7), 1.4826, 1e-12); // distances 1 1 0 0 2 4 7: their median is 1
	assert_int_equal(statistics_middle(integers, 4), 7);
}

static void test_an_outlier_is_clipped_and_a_step_is_not(void **state) {
	double values[40], clipped[40];
	for (size_t i = 0; i < 40; i++)
		values[i] = (i < 20 ? 10 : 12) + 0.1 * (double)(i % 3);
	values[7] = 90;
	statistics_clip(values, 40, clipped);
	assert_true(clipped[7] < 10.7);
	NEAR(clipped[19], values[19], 0.1);
	NEAR(clipped[20], values[20], 0.1);
}

// From a table of Student's distribution.
static void test_students_distribution(void **state) {
	NEAR(statistics_t_probability(12.7062, 1), 0.05, 1e-6);
	NEAR(statistics_t_probability(2.2281389, 10), 0.05, 1e-7);
	NEAR(statistics_t_probability(3.1692727, 10), 0.01, 1e-7);
	NEAR(statistics_t_probability(-3.6459586, 30), 0.001, 1e-7);
	NEAR(statistics_t_probability(0, 5), 1, 1e-12);
}

// Two samples of five: t = -5, 8 degrees of freedom.
static void test_the_pooled_test(void **state) {
	double a[] = {1, 2, 3, 4, 5}, b[] = {6, 7, 8, 9, 10};
	NEAR(statistics_t_test(a, 5, b, 5, false), 0.001052826, 1e-8);
	NEAR(statistics_t_test(a, 5, a, 5, false), 1, 0);
	// the residuals rise: neighbours are alike, which weakens the test
	assert_true(statistics_t_test(a, 5, b, 5, true) > 0.005);
}

// As R: wilcox.test(a, b, exact = FALSE).
static void test_the_rank_test(void **state) {
	double a[] = {1, 2, 3, 4, 5}, b[] = {6, 7, 8, 9, 10}, tied[] = {1, 1, 2, 2, 3};
	NEAR(statistics_rank_test(a, 5, b, 5), 0.01218578, 1e-7);
	NEAR(statistics_rank_test(tied, 5, tied, 5), 1, 1e-12);
	NEAR(statistics_delta(a, 5, b, 5), 1, 1e-12);
	NEAR(statistics_delta(b, 5, a, 5), -1, 1e-12);
	NEAR(statistics_delta(tied, 5, tied, 5), 0, 1e-12);
}

// The example of many textbooks.
static void test_false_discoveries(void **state) {
	double values[] = {0.205, 0.001, 0.042, 0.008, 0.039, 0.041, 0.06, 0.074}, high[] = {0.5, 0.9};
	NEAR(statistics_discovery_limit(values, 8, 0.05), 0.008, 0);
	assert_true(statistics_discovery_limit(high, 2, 0.05) < 0);
	assert_true(statistics_discovery_limit(high, 0, 0.05) < 0);
}

static void test_the_lower_bound_of_a_rate(void **state) {
	NEAR(statistics_wilson(1, 10), 0.01787621, 1e-7);
	NEAR(statistics_wilson(5, 10), 0.23659309, 1e-7);
	NEAR(statistics_wilson(0, 10), 0, 1e-12);
	NEAR(statistics_wilson(0, 0), 0, 0);
}

static void test_a_rate_that_changes_is_split_where_it_changes(void **state) {
	struct statistics_trial trials[100];
	size_t splits[8];
	for (size_t i = 0; i < 100; i++)
		trials[i] = (struct statistics_trial){i >= 60 && i % 2, 1};
	assert_int_equal(statistics_segments(trials, 100, splits, 8), 1);
	assert_in_range(splits[0], 60, 62);
	assert_int_equal(statistics_segments(trials, 60, splits, 8), 0);
	assert_int_equal(statistics_segments(trials, 0, splits, 8), 0);
}

// Numbers that look random and are the same everywhere.
static double noise(uint64_t i) {
	uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (double)((z ^ z >> 31) >> 11) / 9007199254740992.0 - 0.5;
}

static void test_a_step_is_found_with_its_commits(void **state) {
	double series[120];
	struct change changes[8];
	for (size_t i = 0; i < 120; i++)
		series[i] = 1e7 * (i < 70 ? 1 : 1.2) * (1 + 0.04 * noise(i));
	assert_int_equal(change_find(series, 120, changes, 8), 1);
	assert_int_equal(changes[0].at, 70);
	assert_true(changes[0].first <= 70 && changes[0].last >= 70 &&
		    changes[0].last - changes[0].first <= 2);
	NEAR(changes[0].ratio, 1.2, 0.02);
	assert_true(changes[0].alert);
	assert_int_equal(change_find(series, 70, changes, 8), 0); // only noise
	assert_int_equal(change_find(series, 3, changes, 8), 0);
	assert_int_equal(change_find(series, 0, changes, 8), 0);
}

static void test_up_and_down_again_are_two_changes(void **state) {
	double series[150];
	struct change changes[8];
	for (size_t i = 0; i < 150; i++)
		series[i] = 1e7 * (i >= 50 && i < 100 ? 1.3 : 1) * (1 + 0.04 * noise(i + 1000));
	assert_int_equal(change_find(series, 150, changes, 8), 2);
	assert_int_equal(changes[0].at, 50);
	assert_int_equal(changes[1].at, 100);
	assert_true(changes[0].ratio > 1 && changes[1].ratio < 1);
	assert_int_equal(change_find(series, 150, changes, 1), 1); // the newest
	assert_int_equal(changes[0].at, 100);
}

// Each value resembles the one before. The sum of twelve is nearly normal, and the same everywhere.
static void wander(double *series, size_t count, double rho, size_t seed) {
	double value = 0;
	for (size_t i = 0; i < count; i++) {
		double sum = 0;
		for (size_t k = 0; k < 12; k++)
			sum += noise(seed * 7919 + i * 12 + k);
		value = rho * value + sqrt(1 - rho * rho) * sum;
		series[i] = 1e7 * exp(0.03 * value);
	}
}

// Noise of 5 % needs more than 30 points before the step, to know the level.
static void test_a_step_in_much_noise_is_found_with_a_long_history(void **state) {
	double series[128];
	struct change changes[8];
	size_t found = 0, alarms = 0;
	for (size_t i = 0; i < 200; i++) {
		wander(series, 128, 0, 5000 + i);
		for (size_t k = 0; k < 128; k++)
			series[k] = 1e7 * pow(series[k] / 1e7, 5.0 / 3);
		alarms += change_find(series, 120, changes, 8) > 0;
		for (size_t k = 120; k < 128; k++)
			series[k] *= 1.1;
		found += change_find(series, 128, changes, 8) > 0;
	}
	assert_in_range(alarms, 0, 2);
	assert_in_range(found, 130, 200);
}

static void test_a_short_series_that_wanders_does_not_change(void **state) {
	double series[40];
	struct change changes[8];
	size_t alarms = 0;
	for (size_t i = 0; i < 1000; i++) {
		wander(series, 40, 0.5, 9000 + i);
		alarms += change_find(series, 40, changes, 8) > 0;
	}
	assert_in_range(alarms, 0, 20);
}

static void test_a_series_that_wanders_does_not_change(void **state) {
	static const double correlations[] = {0, 0.5, 0.9};
	double series[200];
	struct change changes[8];
	for (size_t c = 0; c < ARRAY_SIZE(correlations); c++) {
		size_t alarms = 0, found = 0;
		for (size_t i = 0; i < 100; i++) {
			wander(series, 200, correlations[c], i);
			alarms += change_find(series, 200, changes, 8) > 0;
			for (size_t k = 120; k < 200; k++)
				series[k] *= 1.25;
			found += change_find(series, 200, changes, 8) > 0;
		}
		assert_in_range(alarms, 0, 4);
		assert_in_range(found, correlations[c] > 0.5 ? 60 : 98, 100);
	}
}

static void test_an_exact_metric_needs_no_noise(void **state) {
	double series[20];
	struct change changes[4];
	for (size_t i = 0; i < 20; i++)
		series[i] = i < 12 ? 1000000 : 1020000;
	assert_int_equal(change_find_exact(series, 20, changes, 4), 1);
	assert_int_equal(changes[0].at, 12);
	NEAR(changes[0].after, 1020000, 0);
	series[12] = 1000000; // a single point is not enough
	series[13] = 1000500;
	assert_int_equal(change_find_exact(series, 14, changes, 4), 0);
	for (size_t i = 0; i < 20; i++)
		series[i] = i < 12 ? 1000000 : 1200000; // large
	assert_int_equal(change_find_exact(series, 20, changes, 4), 1);
	assert_int_equal(changes[0].at, 12);
	NEAR(changes[0].after, 1200000, 0);
	for (size_t i = 0; i < 20; i++)
		series[i] = i < 12 ? 1200000 : 1000000;
	assert_int_equal(change_find_exact(series, 20, changes, 4), 1);
	assert_int_equal(changes[0].at, 12);
}

static void test_one_run_against_a_baseline(void **state) {
	double baseline[20];
	for (size_t i = 0; i < 20; i++)
		baseline[i] = log(1e7) + 0.02 * noise(i);
	assert_true(statistics_single_test(log(1.15e7), baseline, 20) < 1e-6);
	assert_true(statistics_single_test(log(1e7), baseline, 20) > 0.3);
	NEAR(statistics_single_test(log(1e7), baseline, 1), 1, 0);
}

// Most runs take as long as they must, some take longer because of others: one more of these is no news.
static void test_a_long_tail_is_part_of_the_baseline(void **state) {
	double baseline[30];
	for (size_t i = 0; i < 30; i++)
		baseline[i] = 10 + 0.004 * noise(i) + (i % 6 == 0 ? 0.1 : 0);
	assert_true(statistics_single_test(10.1, baseline, 30) > 0.1);
	assert_true(statistics_single_test(10.6, baseline, 30) < 1e-4);
	assert_true(statistics_single_test(9.9, baseline, 30) < 1e-4); // on the other side there is none
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_medians_and_spreads),
		cmocka_unit_test(test_an_outlier_is_clipped_and_a_step_is_not),
		cmocka_unit_test(test_students_distribution),
		cmocka_unit_test(test_the_pooled_test),
		cmocka_unit_test(test_the_rank_test),
		cmocka_unit_test(test_false_discoveries),
		cmocka_unit_test(test_the_lower_bound_of_a_rate),
		cmocka_unit_test(test_a_rate_that_changes_is_split_where_it_changes),
		cmocka_unit_test(test_a_step_is_found_with_its_commits),
		cmocka_unit_test(test_up_and_down_again_are_two_changes),
		cmocka_unit_test(test_a_step_in_much_noise_is_found_with_a_long_history),
		cmocka_unit_test(test_a_short_series_that_wanders_does_not_change),
		cmocka_unit_test(test_a_series_that_wanders_does_not_change),
		cmocka_unit_test(test_an_exact_metric_needs_no_noise),
		cmocka_unit_test(test_a_long_tail_is_part_of_the_baseline),
		cmocka_unit_test(test_one_run_against_a_baseline),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
