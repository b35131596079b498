// Where a series of measurements changes its level: change points that survive noise, outliers and
// correlated machines. One point is one commit; see docs/history.md for the method.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct change {
	size_t at;            // the first point after the change
	size_t from, to;      // the points that were compared: from <= x < at with at <= x < to
	size_t first, last;   // the change is at one of these points, with 99 %: first <= at <= last
	double before, after; // their medians, in the unit of the series: up to 30 points each
	double ratio;         // after / before
	double probability;   // that it is chance
	bool alert;           // certain enough to report (p <= 1e-5) and at least 2 points after it
};

// Finds the changes of a series, the oldest first: writes at most `most`, returns how many.
size_t change_find(const double *series, size_t count, struct change *changes, size_t most);
// The same for a metric that does not vary by itself, such as counted instructions.
size_t change_find_exact(const double *series, size_t count, struct change *changes, size_t most);
