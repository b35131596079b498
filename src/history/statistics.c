#include "history/statistics.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

// ---- of one sample ----

static int ascending(const void *a, const void *b) {
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

static int ascending_integers(const void *a, const void *b) {
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
	return (left > right) - (left < right);
}

double statistics_mean(const double *values, size_t count) {
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return count ? sum / (double)count : 0;
}

// Sorts in place. Most samples are small: windows of 15 and at most 60 points.
// An insertion sort is the quickest for a few, and does nothing for those that are in order.
static void sort_values(double *values, size_t count) {
	if (count > 64) {
		qsort(values, count, sizeof(*values), ascending);
		return;
	}
	for (size_t i = 1; i < count; i++) {
		double value = values[i];
		size_t at = i;
		for (; at && values[at - 1] > value; at--)
			values[at] = values[at - 1];
		values[at] = value;
	}
}

// Sorts them.
static double median_of(double *values, size_t count) {
	if (!count)
		return 0;
	sort_values(values, count);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double median_copy(const double *values, size_t count, double *room) {
	memcpy(room, values, count * sizeof(*room));
	return median_of(room, count);
}

double statistics_median(const double *values, size_t count) {
	double some[64], *room = count > ARRAY_SIZE(some) ? memory_alloc(count * sizeof(*room)) : some;
	double median = median_copy(values, count, room);
	if (room != some)
		free(room);
	return median;
}

static double spread_in(const double *values, size_t count, double median, double *room) {
	for (size_t i = 0; i < count; i++)
		room[i] = fabs(values[i] - median);
	return 1.4826 * median_of(room, count);
}

double statistics_spread(const double *values, size_t count) {
	double some[64], *room = count > ARRAY_SIZE(some) ? memory_alloc(count * sizeof(*room)) : some;
	double spread = spread_in(values, count, median_copy(values, count, room), room);
	if (room != some)
		free(room);
	return spread;
}

int64_t statistics_middle(int64_t *values, size_t count) {
	qsort(values, count, sizeof(*values), ascending_integers);
	return count ? values[count / 2] : 0;
}

void statistics_clip(const double *values, size_t count, double *clipped) {
	enum { SIDE = 7 };
	double room[2 * SIDE + 1];
	for (size_t i = 0; i < count; i++) {
		size_t from = i > SIDE ? i - SIDE : 0, to = MIN(i + SIDE + 1, count);
		double median = median_copy(values + from, to - from, room);
		double far = 3 * spread_in(values + from, to - from, median, room);
		clipped[i] = MIN(MAX(values[i], median - far), median + far);
	}
}

// ---- Student ----

// The continued fraction of the incomplete beta function, evaluated from its front (Lentz).
static double beta_fraction(double x, double a, double b) {
	enum { MOST = 300 };
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1);
	d = 1 / (fabs(d) < tiny ? tiny : d);
	double result = d;
	for (int m = 1; m <= MOST; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double factors[] = {even, odd}, change = 1;
		for (int k = 0; k < 2; k++) {
			d = 1 + factors[k] * d;
			c = 1 + factors[k] / c;
			d = 1 / (fabs(d) < tiny ? tiny : d);
			c = fabs(c) < tiny ? tiny : c;
			change = c * d;
			result *= change;
		}
		if (fabs(change - 1) < 1e-14)
			break;
	}
	return result;
}

// The regularised incomplete beta function.
static double beta_part(double x, double a, double b) {
	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(x, a, b) / a
					 : 1 - front * beta_fraction(1 - x, b, a) / b;
}

double statistics_t_probability(double t, double freedom) {
	if (isnan(t))
		return 1;
	return isinf(t) ? 0 : beta_part(freedom / (freedom + t * t), freedom / 2, 0.5);
}

struct sides {
	double squares, products, last; // sums over residuals; of neighbours
};

static void add_residuals(struct sides *sides, const double *values, size_t count, double mean) {
	for (size_t i = 0; i < count; i++) {
		double residual = values[i] - mean;
		sides->squares += residual * residual;
		if (i)
			sides->products += residual * sides->last;
		sides->last = residual;
	}
}

double statistics_t_test(const double *a, size_t a_count, const double *b, size_t b_count, bool correlated) {
	if (a_count + b_count < 3 || !a_count || !b_count)
		return 1;
	struct sides sides = {0};
	double a_mean = statistics_mean(a, a_count), b_mean = statistics_mean(b, b_count);
	double freedom = (double)(a_count + b_count) - 2;
	add_residuals(&sides, a, a_count, a_mean);
	add_residuals(&sides, b, b_count, b_mean);
	if (a_mean == b_mean)
		return 1;
	double variance = sides.squares / freedom;
	double t = (b_mean - a_mean) / sqrt(variance * (1 / (double)a_count + 1 / (double)b_count));
	if (correlated && sides.squares > 0) {
		double rho = MIN(MAX(sides.products / sides.squares, 0), 0.9);
		t *= sqrt((1 - rho) / (1 + rho));
	}
	return statistics_t_probability(t, freedom);
}

// What others do on the machine only adds to a time, so the values on one side of the median may spread much
// further than on the other: the distance to the outer tenth, as a deviation of normal values. `order` is
// ascending.
static double side_spread(const double *order, size_t count, double median, bool above) {
	const double outer = 1.35; // deviations, for some tens of values
	size_t tenth = count * 9 / 10;
	return (above ? order[tenth] - median : median - order[count - 1 - tenth]) / outer;
}

double statistics_single_test(double value, const double *baseline, size_t count) {
	if (count < 2)
		return 1;
	double some[64],
		*order = count > ARRAY_SIZE(some) / 2 ? memory_alloc(2 * count * sizeof(*order)) : some;
	double median = median_copy(baseline, count, order);
	double deviation = MAX(spread_in(order, count, median, order + count),
			       side_spread(order, count, median, value > median));
	if (order != some)
		free(order);
	double t = (value - median) / (MAX(deviation, 0.005) * sqrt(1 + 1 / (double)count));
	return statistics_t_probability(t, (double)count - 1);
}

// ---- ranks ----

struct ranked {
	double value;
	bool second;
};

static int by_value(const void *a, const void *b) {
	return ascending(&((const struct ranked *)a)->value, &((const struct ranked *)b)->value);
}

// The sum of the ranks of b, and of t^3 - t for each group of t equal values.
static double rank_sum(struct ranked *all, size_t count, double *ties) {
	double sum = 0;
	qsort(all, count, sizeof(*all), by_value);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && all[end].value == all[i].value;)
			end++;
		double size = (double)(end - i), rank = (double)(i + end + 1) / 2;
		*ties += size * size * size - size;
		for (size_t k = i; k < end; k++)
			sum += all[k].second ? rank : 0;
	}
	return sum;
}

// U of b, and its ties.
static double rank_statistic(const double *a, size_t a_count, const double *b, size_t b_count, double *ties) {
	size_t count = a_count + b_count;
	struct ranked some[64], *all = count > ARRAY_SIZE(some) ? memory_alloc(count * sizeof(*all)) : some;
	for (size_t i = 0; i < count; i++)
		all[i] = i < a_count ? (struct ranked){a[i], false} : (struct ranked){b[i - a_count], true};
	*ties = 0;
	double sum = rank_sum(all, count, ties);
	if (all != some)
		free(all);
	return sum - (double)b_count * ((double)b_count + 1) / 2;
}

double statistics_rank_test(const double *a, size_t a_count, const double *b, size_t b_count) {
	if (!a_count || !b_count)
		return 1;
	double m = (double)a_count, n = (double)b_count, all = m + n, ties;
	double u = rank_statistic(a, a_count, b, b_count, &ties);
	double variance = m * n / 12 * (all + 1 - ties / (all * (all - 1)));
	double distance = MAX(fabs(u - m * n / 2) - 0.5, 0); // corrected for continuity
	return variance > 0 ? erfc(distance / sqrt(variance) / sqrt(2)) : 1;
}

double statistics_delta(const double *a, size_t a_count, const double *b, size_t b_count) {
	double ties;
	if (!a_count || !b_count)
		return 0;
	return 2 * rank_statistic(a, a_count, b, b_count, &ties) / ((double)a_count * (double)b_count) - 1;
}

// ---- many tests, rates ----

double statistics_discovery_limit(const double *probabilities, size_t count, double q) {
	double *order = memory_alloc((count + 1) * sizeof(*order)), limit = -1;
	memcpy(order, probabilities, count * sizeof(*order));
	qsort(order, count, sizeof(*order), ascending);
	for (size_t i = 0; i < count; i++)
		if (order[i] <= q * (double)(i + 1) / (double)count)
			limit = order[i];
	free(order);
	return limit;
}

double statistics_wilson(uint64_t hits, uint64_t count) {
	const double z = 1.959963984540054;
	if (!count)
		return 0;
	double n = (double)count, p = (double)hits / n;
	double middle = p + z * z / (2 * n), half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
	return MAX((middle - half) / (1 + z * z / n), 0);
}

// The logarithm of the chance to see these trials, over all rates that Beta(0.3, 0.5) gives.
static double likelihood(double hits, double count) {
	const double a = 0.3, b = 0.5;
	return lgamma(a + b) - lgamma(a) - lgamma(b) + lgamma(hits + a) + lgamma(count - hits + b) -
	       lgamma(count + a + b);
}

static double sums_likelihood(const uint64_t *hits, const uint64_t *counts, size_t from, size_t to) {
	return likelihood((double)(hits[to] - hits[from]), (double)(counts[to] - counts[from]));
}

struct split_search {
	const uint64_t *hits, *counts; // sums up to each trial
	size_t *splits, count, most;
};

// Finds the splits of [from, to) in order. The depth is bounded by the room for splits.
static void split(struct split_search *search, size_t from, size_t to, unsigned depth) {
	enum { DEEPEST = 32 };
	double best = 0, all = sums_likelihood(search->hits, search->counts, from, to) - log(1e-4);
	size_t at = 0;
	for (size_t i = from + 1; i < to; i++) {
		double gain = sums_likelihood(search->hits, search->counts, from, i) +
			      sums_likelihood(search->hits, search->counts, i, to) - all;
		if (gain > best) {
			best = gain;
			at = i;
		}
	}
	if (!at || depth == DEEPEST)
		return;
	split(search, from, at, depth + 1);
	if (search->count < search->most)
		search->splits[search->count++] = at;
	split(search, at, to, depth + 1);
}

size_t statistics_segments(const struct statistics_trial *trials, size_t count, size_t *splits, size_t most) {
	uint64_t *sums = memory_alloc(2 * (count + 1) * sizeof(*sums));
	struct split_search search = {sums, sums + count + 1, splits, 0, most};
	for (size_t i = 0; i < count; i++) {
		sums[i + 1] = sums[i] + trials[i].hits;
		sums[count + 1 + i + 1] = sums[count + 1 + i] + trials[i].count;
	}
	if (count)
		split(&search, 0, count, 0);
	free(sums);
	return search.count;
}
