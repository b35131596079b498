// E-divisive means (Matteson and James 2014) in windows (as Hunter does, 2023) proposes where a series may
// change; four conditions then decide which proposals stay. The proposals alone raise far too many alarms
// on real machines: outliers, drift and correlated neighbours all look like steps.
#include "history/change.h"
#include "base/array.h"
#include "history/statistics.h"

#include <math.h>
#include <string.h>

enum { WINDOW = 50, STEP = 25, SIDE = 30, FAR_SIDE = 120, LEAST_SIDE = 2 };

static const double propose_limit = 1e-3, keep_limit = 1e-4, alert_limit = 1e-5, rank_limit = 1e-3;
static const double least_change = 0.03, far_price = 3;
// The evidence for a step, times ln of the values; few values say little about how a series wanders.
static const double least_evidence = 3.5, evidence_of_few = 15;

typedef ARRAY(size_t) positions;

// ---- proposals ----

// The best split of up to WINDOW values: `split` of the first `end` ones. False if there is none.
static bool best_split(const double *values, size_t count, size_t *split, size_t *end) {
	double inside[WINDOW], later[WINDOW] = {0}, best = 0;
	*split = 0;
	for (size_t t = 0; t < count; t++) { // sums of distances to earlier values, summed up to t
		inside[t] = t ? inside[t - 1] : 0;
		for (size_t i = 0; i < t; i++)
			inside[t] += fabs(values[t] - values[i]);
	}
	for (size_t k = 1; k <= count; k++) { // the first k values
		double all = 0, total = 0, n = (double)k;
		for (size_t t = 0; t + 1 < k; t++)
			total += later[t] += fabs(values[k - 1] - values[t]);
		for (size_t t = 0; t + LEAST_SIDE < k; t++) {
			all += later[t];
			size_t s = t + 1; // values on the left
			if (s < LEAST_SIDE)
				continue;
			double m = (double)s, left = inside[t], cross = all - left, right = total - all;
			double q = 2 / n * cross - 2 * (n - m) / (n * (m - 1)) * left -
				   2 * m / (n * (n - m - 1)) * right;
			if (q > best) {
				best = q;
				*split = s;
				*end = k;
			}
		}
	}
	return *split;
}

static void propose(const double *values, size_t from, size_t count, positions *found, unsigned depth) {
	enum { DEEPEST = 16 };
	size_t split, end;
	if (count < 2 * LEAST_SIDE || depth == DEEPEST || !best_split(values + from, count, &split, &end))
		return;
	if (statistics_t_test(values + from, split, values + from + split, end - split, false) >
	    propose_limit)
		return;
	array_push(found, from + split);
	propose(values, from, split, found, depth + 1);
	propose(values, from + split, count - split, found, depth + 1);
}

static int by_position(const void *a, const void *b) {
	size_t left = *(const size_t *)a, right = *(const size_t *)b;
	return (left > right) - (left < right);
}

static void propose_all(const double *values, size_t count, positions *found) {
	size_t kept = 0;
	for (size_t from = 0; from < count; from += STEP) {
		propose(values, from, MIN(count - from, (size_t)WINDOW), found, 0);
		if (count - from <= WINDOW)
			break;
	}
	if (found->count)
		qsort(found->items, found->count, sizeof(*found->items), by_position);
	for (size_t i = 0; i < found->count; i++)
		if (!kept || found->items[i] != found->items[kept - 1])
			found->items[kept++] = found->items[i];
	found->count = kept;
}

// ---- what stays ----

// At most SIDE values on each side, and where the neighbours are.
struct sides {
	size_t from, at, to;
	size_t previous, next;
};

struct series {
	const double *values, *clipped; // logarithms
	size_t count;
};

static struct sides sides_of(const struct series *series, const positions *found, size_t i) {
	size_t at = found->items[i];
	size_t from = i ? found->items[i - 1] : 0;
	size_t to = i + 1 < found->count ? found->items[i + 1] : series->count;
	return (struct sides){.from = at - from > SIDE ? at - SIDE : from,
			      .at = at,
			      .to = to - at > SIDE ? at + SIDE : to,
			      .previous = from,
			      .next = to};
}

static double size_of(const struct series *series, const struct sides *sides) {
	return statistics_median(series->values + sides->at, sides->to - sides->at) -
	       statistics_median(series->values + sides->from, sides->at - sides->from);
}

// ---- a step, or a series that wanders? ----

// On a machine that is slow for hours, a value resembles the one before. How closely is not known: a step
// makes neighbours look alike, and a series that wanders looks like a few steps. So both explanations are
// tried, each with the correlation that suits it best: x[i] - m[i] = rho (x[i-1] - m[i-1]) + noise, where m
// is one level, or has a step. The difference of the two likelihoods decides.

// Sums for the least squares of values on a constant and a step.
struct sums {
	double cc, cs, ss, cy, sy, yy;
};

static void add_row(struct sums *sums, double constant, double step, double value) {
	sums->cc += constant * constant;
	sums->cs += constant * step;
	sums->ss += step * step;
	sums->cy += constant * value;
	sums->sy += step * value;
	sums->yy += value * value;
}

// What is left of the squares after the best fit.
static double residue(const struct sums *sums, bool step) {
	double determinant = sums->cc * sums->ss - sums->cs * sums->cs;
	if (!step || determinant <= 1e-12)
		return sums->yy - sums->cy * sums->cy / sums->cc;
	double constant = (sums->cy * sums->ss - sums->sy * sums->cs) / determinant;
	double size = (sums->sy * sums->cc - sums->cy * sums->cs) / determinant;
	return sums->yy - constant * sums->cy - size * sums->sy;
}

// -2 ln of the likelihood with this correlation, up to a constant. The first value counts as one of a series
// that has gone on for long. Values differ from the first one, so that no digits are lost.
static double misfit(const double *values, size_t left, size_t count, double rho, bool step) {
	struct sums sums = {0};
	add_row(&sums, sqrt(1 - rho * rho), 0, 0);
	for (size_t i = 1; i < count; i++) {
		double jump = (i >= left ? 1 : 0) - (i > left ? rho : 0);
		add_row(&sums, 1 - rho, jump, values[i] - values[0] - rho * (values[i - 1] - values[0]));
	}
	double squares = MAX(residue(&sums, step), 1e-12);
	return (double)count * log(squares / (double)count) - log(1 - rho * rho);
}

static double least_misfit(const double *values, size_t left, size_t count, bool step) {
	enum { CORRELATIONS = 20 }; // 0 to 0.95
	double least = INFINITY;
	for (int i = 0; i < CORRELATIONS; i++)
		least = MIN(least, misfit(values, left, count, (double)i / CORRELATIONS, step));
	return least;
}

// How much is missing until the step is the better explanation; a longer series has more places where it may
// look like one. More values count than for the other conditions: it is the series before that shows how it
// wanders.
static double missing_evidence(const struct series *series, const struct sides *sides) {
	size_t left = MIN(sides->at - sides->previous, (size_t)FAR_SIDE);
	size_t count = left + MIN(sides->next - sides->at, (size_t)FAR_SIDE);
	const double *values = series->clipped + sides->at - left;
	double evidence = least_misfit(values, left, count, false) - least_misfit(values, left, count, true);
	return (least_evidence + evidence_of_few / (double)count) * log((double)count) - evidence;
}

// ---- all conditions ----

// The probabilities that the values on both sides differ by chance, with at most `most` values on each side.
struct chance {
	double t, rank;
};

static struct chance chance_of(const struct series *series, const struct sides *sides, size_t most) {
	size_t at = sides->at, left = MIN(at - sides->previous, most), right = MIN(sides->next - at, most);
	return (struct chance){
		statistics_t_test(series->clipped + at - left, left, series->clipped + at, right, true),
		statistics_rank_test(series->values + at - left, left, series->values + at, right)};
}

// How far it is from being kept: 0 or less if all conditions hold, in powers of ten. Many values tell a small
// step from much noise, few ones suit a series that wanders. So both are tried; as two attempts may be wrong
// twice, the second one has to be more certain.
static double doubt(const struct series *series, const struct sides *sides, double *probability) {
	struct chance near = chance_of(series, sides, SIDE), far = chance_of(series, sides, FAR_SIDE);
	double rank = MIN(near.rank, far_price * far.rank);
	*probability = MIN(near.t, far_price * far.t);
	double worst = log10(*probability + 1e-300) - log10(keep_limit);
	worst = MAX(worst, log10(rank + 1e-300) - log10(rank_limit));
	if (fabs(expm1(size_of(series, sides))) < least_change || sides->at - sides->from < LEAST_SIDE ||
	    sides->to - sides->at < LEAST_SIDE)
		worst = MAX(worst, 0) + 1;
	if (worst <= 0) // it takes a while, so only where it decides; 2 ln 10 of it are a power of ten
		worst = MAX(worst, missing_evidence(series, sides) / (2 * log(10)));
	return worst;
}

// Removes one proposal after another, the worst first, until all hold. What a removal changes is only the
// sides of its neighbours.
static void merge(const struct series *series, positions *found) {
	struct doubts {
		double value, probability;
	} *doubts = memory_alloc((found->count + 1) * sizeof(*doubts));
	for (size_t i = 0; i < found->count; i++) {
		struct sides sides = sides_of(series, found, i);
		doubts[i].value = doubt(series, &sides, &doubts[i].probability);
	}
	for (;;) {
		size_t worst = 0;
		for (size_t i = 1; i < found->count; i++)
			if (doubts[i].value > doubts[worst].value)
				worst = i;
		if (!found->count || doubts[worst].value <= 0)
			break;
		size_t after = --found->count - worst;
		memmove(found->items + worst, found->items + worst + 1, after * sizeof(*found->items));
		memmove(doubts + worst, doubts + worst + 1, after * sizeof(*doubts));
		for (size_t i = worst ? worst - 1 : 0; i < MIN(worst + 1, found->count); i++) {
			struct sides sides = sides_of(series, found, i);
			doubts[i].value = doubt(series, &sides, &doubts[i].probability);
		}
	}
	free(doubts);
}

// ---- which commits ----

static double squares(const double *values, size_t count) {
	double mean = statistics_mean(values, count), sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += (values[i] - mean) * (values[i] - mean);
	return sum;
}

static double fit(const struct series *series, const struct sides *sides, size_t at) {
	double sum = squares(series->clipped + sides->from, at - sides->from) +
		     squares(series->clipped + at, sides->to - at);
	return -(double)(sides->to - sides->from) / 2 * log(sum + 1e-12);
}

// The change may be at any point whose likelihood is within 3.32 of the best (99 %).
static void find_range(const struct series *series, const struct sides *sides, struct change *change) {
	double best = -INFINITY;
	for (size_t at = sides->from + 1; at < sides->to; at++)
		best = MAX(best, fit(series, sides, at));
	change->first = change->last = change->at;
	for (size_t at = sides->from + 1; at < sides->to; at++)
		if (fit(series, sides, at) >= best - 3.32) {
			change->first = MIN(change->first, at);
			change->last = MAX(change->last, at);
		}
}

static struct change describe(const struct series *series, const struct sides *sides) {
	struct change change = {.at = sides->at, .from = sides->from, .to = sides->to};
	doubt(series, sides, &change.probability);
	change.before = exp(statistics_median(series->values + sides->from, sides->at - sides->from));
	change.after = exp(statistics_median(series->values + sides->at, sides->to - sides->at));
	change.ratio = change.after / change.before;
	change.alert = change.probability <= alert_limit;
	find_range(series, sides, &change);
	return change;
}

size_t change_find(const double *series, size_t count, struct change *changes, size_t most) {
	double *values = memory_alloc(2 * (count + 1) * sizeof(*values)), *clipped = values + count;
	struct series logarithms = {values, clipped, count};
	positions found = {0};
	for (size_t i = 0; i < count; i++)
		values[i] = log(MAX(series[i], 1));
	statistics_clip(values, count, clipped);
	propose_all(clipped, count, &found);
	merge(&logarithms, &found);
	size_t written = MIN(found.count, most);
	for (size_t i = 0; i < written; i++) {
		struct sides sides = sides_of(&logarithms, &found, found.count - written + i);
		changes[i] = describe(&logarithms, &sides);
	}
	array_free(&found);
	free(values);
	return written;
}

// ---- exact metrics ----

static double range_of(const double *values, size_t count) {
	double least = values[0], largest = values[0];
	for (size_t i = 1; i < count; i++) {
		least = MIN(least, values[i]);
		largest = MAX(largest, values[i]);
	}
	return largest - least;
}

// Each of 2 points differs from the median of the 10 before (3 will do where there are no more), in the same
// direction.
size_t change_find_exact(const double *series, size_t count, struct change *changes, size_t most) {
	enum { BEFORE = 10, LEAST = 3, AFTER = 2 };
	size_t found = 0, since = 0;
	for (size_t at = LEAST; at + AFTER <= count && found < most; at++) {
		size_t from = MAX(at > BEFORE ? at - BEFORE : 0, since);
		if (at - from < LEAST)
			continue;
		double before = statistics_median(series + from, at - from);
		double after = statistics_median(series + at, AFTER);
		double difference = after > before ? MIN(series[at], series[at + 1]) - before
						   : before - MAX(series[at], series[at + 1]);
		if (difference <= 0.01 * fabs(before) || difference <= 1000 ||
		    difference <= 3 * range_of(series + from, at - from))
			continue;
		changes[found++] = (struct change){.at = at,
						   .from = from,
						   .to = at + AFTER,
						   .first = at,
						   .last = at,
						   .before = before,
						   .after = after,
						   .ratio = before > 0 ? after / before : INFINITY,
						   .alert = true};
		since = at;
	}
	return found;
}
