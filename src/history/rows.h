// Between the questions and the stores. A store delivers plain rows in a defined order; every question is
// computed here, once, from these rows. So a folder's SQLite index, a ClickHouse server and two shards give
// the same answers, byte for byte.
//
// Only two things are computed inside a store, because reading every session would be too slow: the sums of
// a day (`days`) and the functions of a day (`functions`). Their values are whole numbers and defined
// exactly, so that engines cannot differ.
//
// Texts in rows are interned by the store: equal texts have the same address, and live until the store is
// closed. Order by text is that of bytes (strcmp).
#pragma once

#include "history/fact.h"

struct history_filter {
	const char *project, *branch, *machine_class, *commit; // NULL for any; "" if not known
	const char *name;                                      // of the test, exactly; NULL for any
	const char *const *runs;                               // NULL for any
	size_t run_count;
	const uint64_t *tests; // keys, ascending; NULL for any
	size_t test_count;
	int64_t since,
		until; // ms: since <= started < until; 0 for no limit. Days: the whole days that these touch
	uint32_t statuses; // 1 << enum manifest_status; 0 for any. Sessions only
	bool trusted;      // only sessions that are
	bool failed;       // days: only those on which a session failed
	bool names;        // tests: only keys and names are needed; the numbers may be 0
};

// Session rows are in the order of (test, started, id).
struct history_session {
	uint8_t id[HISTORY_ID];
	uint64_t test;
	int64_t started;
	enum manifest_status status;
	bool trusted;
	uint32_t attempt;
	const char *machine_class, *branch, *commit, *run;
	const int64_t *values; // of the metrics asked for, in that order; valid during the call
	const char *waits;     // JSON, "" if none; NULL unless asked for. Valid during the call, not interned
};

struct history_wish {
	const char *const *metrics; // names: of the table, or of the user's own
	size_t metric_count;
	bool waits;
};

// Test rows are in the order of (project, suite, name). All their sessions count, whatever the filter's time,
// branch or class: only `project`, `name` and `tests` of the filter are looked at.
struct history_test {
	uint64_t key;
	const char *project, *suite, *name;
	int64_t first, last; // when its first and its last session started
	uint64_t sessions;
};

// Run rows are in the order of (started, run). A run with a session that the filter takes is delivered whole:
// its numbers count all its sessions in the filter's project. `project`, `branch`, `commit`, `runs`, `since`
// and `until` are looked at; the last two mean its start.
struct history_run {
	const char *project, *run;
	int64_t started, last;                     // of its first and last session
	const char *branch, *commit, *change, *ci; // of its session with the smallest id
	uint64_t sessions, passed, failed;         // failed: HISTORY_FAILED
	uint32_t attempts;                         // the largest; at least 1
	bool trusted;                              // all its sessions are
};

// What one test did on one day (UTC) on one class of machines on one branch: trusted sessions only. Rows are
// in the order of (test, machine_class, branch, day). Sums and the median are those of passed sessions; a
// metric that a session does not have counts as 0.
struct history_day {
	uint64_t test;
	const char *machine_class, *branch;
	int64_t day; // days since 1970
	uint64_t sessions, passed, failed;
	int64_t wall_median; // the item [passed / 2] of the sorted walls; 0 if none passed
	int64_t wall_sum, cpu_sum, ready_sum, blocked_sum, io_sum, lock_sum;
};

// The functions of a test's sampled, trusted, passed sessions on one day; the same order. Functions come in
// any order, each once.
struct history_function_day {
	uint64_t test;
	const char *machine_class, *branch;
	int64_t day;
	uint64_t sessions; // that were sampled
	int64_t cpu_sum;   // their CPU time in ns
	uint64_t samples;
	const struct history_function *functions; // valid during the call; the names are interned
	size_t function_count;
};

struct history_totals {
	uint64_t sessions, tests, runs;
	uint64_t conflicts; // sessions sent again with another content, of which the first was kept
	uint64_t ignored;   // lines that are no session of a test
	uint64_t broken;    // lines that could not be read
};

// Statuses that count as a failure; passed is the opposite; the others count as neither.
#define HISTORY_FAILED (1u << ENDED_FAILED | 1u << ENDED_CRASHED | 1u << ENDED_TIMED_OUT)
#define HISTORY_PASSED (1u << ENDED_PASSED)

struct history_store;

// Each call delivers all rows that match, calling `take` for each; 0 or -errno, reported by the store.
struct history_operations {
	int (*sessions)(struct history_store *store, const struct history_filter *filter,
			const struct history_wish *wish,
			void (*take)(void *context, const struct history_session *row), void *context);
	int (*tests)(struct history_store *store, const struct history_filter *filter,
		     void (*take)(void *context, const struct history_test *row), void *context);
	int (*runs)(struct history_store *store, const struct history_filter *filter,
		    void (*take)(void *context, const struct history_run *row), void *context);
	int (*days)(struct history_store *store, const struct history_filter *filter,
		    void (*take)(void *context, const struct history_day *row), void *context);
	int (*functions)(struct history_store *store, const struct history_filter *filter,
			 void (*take)(void *context, const struct history_function_day *row), void *context);
	int (*totals)(struct history_store *store, struct history_totals *totals);
	void (*close)(struct history_store *store); // frees it
};

// A store's own struct begins with this one.
struct history_store {
	const struct history_operations *operations;
};

// `where` is a folder with a manifest, or the address of a fleet's store (clickhouse+http://host:8123/db).
// 0 or -errno, reported.
int history_open(const char *where, struct history_store **store);
// How to open the store of a fleet, which this directory knows nothing about; NULL if the program cannot.
extern int (*history_open_fleet)(const char *where, struct history_store **store);
