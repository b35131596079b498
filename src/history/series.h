// The history of one test as series: one for each class of machines and branch, one point for each commit.
#pragma once

#include "history/rows.h"

enum { SERIES_MOST_METRICS = 32 };

// All sessions of one commit. Where the commit is unknown, those of one run.
struct series_point {
	const char *commit, *run; // the run is that of its first session
	int64_t started;          // of its first session
	uint32_t passed, failed, others;
	uint32_t first, count;              // its sessions, in `order` of the series
	double values[SERIES_MOST_METRICS]; // medians of its passed, trusted sessions; NAN if there are none
};

struct series_session {
	struct history_session session; // its values are in `values`, its waits in `waits`
	int64_t values[SERIES_MOST_METRICS];
	char *waits; // NULL unless asked for
};

struct series {
	uint64_t test;
	const char *machine_class, *branch;
	const struct series_point *points; // in the order of their first sessions
	size_t count;
	const struct series_session *const *order; // its sessions, by point and time
	size_t session_count;
};

// Reads the sessions that match and calls `take` for each series: ordered by test, class and branch. The
// series is valid during the call. 0 or -errno.
int series_read(struct history_store *store, const struct history_filter *filter,
		const struct history_wish *wish, void (*take)(void *context, const struct series *series),
		void *context);

// The values of one metric without gaps, to be freed; `places` gets the index of the point of each value.
double *series_values(const struct series *series, size_t metric, size_t *places, size_t *count);
