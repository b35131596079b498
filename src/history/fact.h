// What the history keeps about one session: a manifest line, reduced to a row. Every store is filled with
// these and with nothing else, so that a line means the same to all of them.
#pragma once

#include "base/array.h"
#include "format/manifest_record.h"
#include "format/manifest_status.h"
#include "format/metric_table.h"

#define HISTORY_NONE INT64_MIN // a metric that the session does not have

enum {
	HISTORY_ID = 16, // bytes of the id of a session
	HISTORY_DAY_MS = 86400000,
	HISTORY_LONGEST_NAME = 500, // of a test, a suite and so on, in bytes; longer ones are cut
	HISTORY_LONGEST_METRIC = 64,
	HISTORY_MOST_OWN = 32,       // metrics of the user's own
	HISTORY_MOST_FUNCTIONS = 128 // of one session
};

struct history_own_metric {
	const char *name;
	int64_t value;
};

struct history_function {
	const char *name;
	uint64_t self; // samples
};

// All texts are UTF-8 without control characters, "" where nothing is known, and live as long as the fact.
struct history_fact {
	uint8_t id[HISTORY_ID];     // of the session; an old line's is the first bytes of its sha256
	uint8_t parent[HISTORY_ID]; // the session of the program that this is a case of; zeros if none
	uint64_t content;           // siphash13() of the line: the same id with another content is a conflict

	uint64_t test; // history_test_key() of the next three
	const char *project, *suite, *name;
	const char *variant; // hash of the variant; it is part of the name, too

	int64_t started; // ms since 1970
	enum manifest_status status;
	bool trusted; // false for a fork's, which never becomes part of a baseline
	uint32_t attempt;
	const char *machine_class, *branch, *commit, *change, *ci, *job;
	const char *run; // the line's run, otherwise its commit, otherwise its day (2026-11-16): never ""

	int64_t metrics[METRIC_COUNT_ALL]; // HISTORY_NONE where unknown
	struct history_own_metric own[HISTORY_MOST_OWN];
	size_t own_count;

	const char *waits;  // JSON, as in the line: {"futex":[3,118000000,90000000]}; "" if none
	const char *digest; // JSON, as in the line ("time_digest"); "" if none

	uint64_t samples; // of the whole session; 0 if it was not sampled
	struct history_function functions[HISTORY_MOST_FUNCTIONS];
	size_t function_count;

	ARRAY(char *) kept; // texts that were made for it
};

// False if the line is no session of a test (an operation, a machine, deletions, a repetition by --repro) or
// has no time: then there is nothing to free. `line` without its end.
bool history_fact_of(const struct manifest_record *record, const char *line, size_t size,
		     struct history_fact *fact);
void history_fact_free(struct history_fact *fact);

// 63 bits: stores keep it as a signed or an unsigned integer, in the same order.
uint64_t history_test_key(const char *project, const char *suite, const char *name);

const char *history_metric_name(enum history_metric metric);
int history_metric_find(const char *name);              // of the table, or -1
enum metric_unit history_metric_unit(const char *name); // of the user's own: by its ending (_ns, _bytes)
bool history_metric_is_exact(const char *name);
