// `tracelet store export`: all sessions as a table for other programs. It takes the rows that the questions
// take (history/rows.h), so that every store gives the same bytes.
#pragma once

#include "base/file.h"
#include "history/rows.h"

struct export {
	struct history_filter filter;
	const char *const *metrics; // of the user's own, after those of the table
	size_t metric_count;
	bool json; // a JSON object on each line; otherwise CSV with a header
};

// 0 or -errno, reported.
int export_sessions(struct history_store *store, const struct export *export, struct output *output);
