// The rows of the local index (rows.h). Sessions of named tests come from SQLite in order; others are
// collected and sorted here, which is several times quicker than SQLite's own sorter.
#include "history/index_where.h"

#include <errno.h>

// ---- sessions ----

enum { ID, TEST, STARTED, STATUS, TRUSTED, ATTEMPT, CLASS, BRANCH, COMMIT, RUN, OWN, WAITS, VALUES };

// A session that waits to be sorted: 64 bytes, as there may be millions. Texts are ids.
struct row {
	uint64_t test;
	int64_t started;
	uint8_t id[HISTORY_ID];
	size_t waits; // place in the texts below
	uint32_t machine_class, branch, commit, run;
	uint32_t attempt;
	uint8_t status;
	bool trusted;
};

struct collection {
	struct index *index;
	const struct history_wish *wish;
	const struct history_filter *filter;
	int columns[64]; // of the values; -1 for the user's own
	ARRAY(struct row) rows;
	ARRAY(int64_t) values; // wish->metric_count of each row
	struct buffer waits;
	ARRAY(const char *) runs; // texts of runs, by their id
	void (*take)(void *context, const struct history_session *row);
	void *context;
};

static int64_t own_value(const char *own, const char *name) {
	size_t length = strlen(name);
	for (const char *at = own; at && *at; at = strchr(at, ' '), at = at ? at + 1 : NULL)
		if (strncmp(at, name, length) == 0 && at[length] == '=')
			return strtoll(at + length + 1, NULL, 10);
	return HISTORY_NONE;
}

static int read_runs(struct collection *collection) {
	struct index *index = collection->index;
	sqlite3_stmt *rows = index_prepare(index, "SELECT id, run FROM run");
	while (sqlite3_step(rows) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(rows, 0);
		if (id < 0 || id > 1 << 28)
			continue;
		while (collection->runs.count <= (size_t)id)
			array_push(&collection->runs, "");
		collection->runs.items[id] = index_text(index, sqlite3_column_int64(rows, 1));
	}
	sqlite3_finalize(rows);
	return 0;
}

static void read_values(struct collection *collection, sqlite3_stmt *row) {
	const struct history_wish *wish = collection->wish;
	int column = VALUES;
	for (size_t i = 0; i < wish->metric_count; i++) {
		int64_t value = HISTORY_NONE;
		if (collection->columns[i] < 0)
			value = own_value((const char *)sqlite3_column_text(row, OWN), wish->metrics[i]);
		else if (sqlite3_column_type(row, column++) != SQLITE_NULL)
			value = sqlite3_column_int64(row, column - 1);
		array_push(&collection->values, value);
	}
}

static uint32_t read_id(sqlite3_stmt *from, int column) {
	int64_t id = sqlite3_column_int64(from, column);
	return id > 0 && id < UINT32_MAX ? (uint32_t)id : 0;
}

static struct row read_row(struct collection *collection, sqlite3_stmt *from) {
	struct row row = {.test = (uint64_t)sqlite3_column_int64(from, TEST),
			  .started = sqlite3_column_int64(from, STARTED),
			  .waits = collection->waits.size,
			  .machine_class = read_id(from, CLASS),
			  .branch = read_id(from, BRANCH),
			  .commit = read_id(from, COMMIT),
			  .run = read_id(from, RUN),
			  .attempt = (uint32_t)sqlite3_column_int(from, ATTEMPT),
			  .trusted = sqlite3_column_int(from, TRUSTED)};
	const void *id = sqlite3_column_blob(from, ID);
	int status = sqlite3_column_int(from, STATUS);
	row.status = status >= 0 && status < ENDED_COUNT ? (uint8_t)status : ENDED_UNKNOWN;
	if (id && sqlite3_column_bytes(from, ID) == HISTORY_ID)
		memcpy(row.id, id, HISTORY_ID);
	read_values(collection, from);
	if (collection->wish->waits) {
		const char *waits = (const char *)sqlite3_column_text(from, WAITS);
		buffer_text(&collection->waits, waits ? waits : "");
		buffer_append(&collection->waits, "", 1);
	}
	return row;
}

// `place`: how many rows were read before it.
static void deliver(struct collection *collection, const struct row *row, size_t place) {
	struct index *index = collection->index;
	struct history_session session = {
		.test = row->test,
		.started = row->started,
		.status = row->status,
		.trusted = row->trusted,
		.attempt = row->attempt,
		.machine_class = index_text(index, row->machine_class),
		.branch = index_text(index, row->branch),
		.commit = index_text(index, row->commit),
		.run = row->run < collection->runs.count ? collection->runs.items[row->run] : "",
		.values = collection->values.items + place * collection->wish->metric_count};
	memcpy(session.id, row->id, HISTORY_ID);
	if (collection->wish->waits)
		session.waits = (const char *)collection->waits.data + row->waits;
	collection->take(collection->context, &session);
}

// Runs a query. In order: each row is delivered at once; otherwise it is collected.
static int run_query(struct collection *collection, sqlite3_stmt *rows, bool in_order) {
	int code;
	while ((code = sqlite3_step(rows)) == SQLITE_ROW) {
		if (!where_wants_test(collection->filter, (uint64_t)sqlite3_column_int64(rows, TEST)))
			continue;
		struct row row = read_row(collection, rows);
		if (!in_order) {
			array_push(&collection->rows, row);
			continue;
		}
		deliver(collection, &row, 0);
		collection->values.count = 0;
		collection->waits.size = 0;
	}
	int error = code == SQLITE_DONE ? 0 : index_failed(collection->index, "reading sessions");
	sqlite3_reset(rows);
	return error;
}

static int compare_rows(const struct row *left, const struct row *right) {
	if (left->test != right->test)
		return left->test < right->test ? -1 : 1;
	if (left->started != right->started)
		return left->started < right->started ? -1 : 1;
	return memcmp(left->id, right->id, HISTORY_ID);
}

static const struct row *sorted; // qsort() has no context

static int by_order(const void *a, const void *b) {
	return compare_rows(&sorted[*(const uint32_t *)a], &sorted[*(const uint32_t *)b]);
}

// Rows come by time, mostly, which an insertion sort likes.
static void sort_some(const struct row *rows, uint32_t *order, size_t count) {
	enum { FEW = 1024 };
	size_t steps = 0, most = FEW + 8 * count;
	for (size_t i = 1; i < count && steps < most; i++) {
		uint32_t row = order[i];
		size_t at = i;
		for (; at && compare_rows(&rows[order[at - 1]], &rows[row]) > 0; at--, steps++)
			order[at] = order[at - 1];
		order[at] = row;
	}
	if (steps >= most) {
		sorted = rows;
		qsort(order, count, sizeof(*order), by_order);
	}
}

// The keys of tests are hashes, so their first bits make buckets of equal size: much quicker than a sort of
// all. To be freed.
static uint32_t *order_of(const struct row *rows, size_t count) {
	enum { BITS = 14, BUCKETS = 1 << BITS };
	uint32_t *order = memory_alloc((count + 1) * sizeof(*order));
	uint32_t *ends = memory_alloc((BUCKETS + 1) * sizeof(*ends));
	for (size_t i = 0; i < count; i++)
		ends[(rows[i].test >> (63 - BITS)) % BUCKETS]++;
	for (size_t i = 0, sum = 0; i < BUCKETS; i++) {
		size_t here = ends[i];
		ends[i] = (uint32_t)sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++)
		order[ends[(rows[i].test >> (63 - BITS)) % BUCKETS]++] = (uint32_t)i;
	for (size_t i = 0, from = 0; i < BUCKETS; from = ends[i++])
		sort_some(rows, order + from, ends[i] - from);
	free(ends);
	return order;
}

static char *session_query(struct collection *collection, const char *source, const char *order) {
	const struct history_filter *filter = collection->filter;
	const struct history_wish *wish = collection->wish;
	struct where condition = {0};
	struct index *index = collection->index;
	bool own = false;
	for (size_t i = 0; i < wish->metric_count; i++)
		own |= history_metric_find(wish->metrics[i]) < 0;
	buffer_printf(
		&condition.sql,
		"SELECT id, test, started, status, trusted, attempt, class, branch, revision, run, %s, %s",
		own ? "own" : "NULL", wish->waits ? "waits" : "NULL");
	for (size_t i = 0; i < wish->metric_count; i++)
		if ((collection->columns[i] = history_metric_find(wish->metrics[i])) >= 0)
			buffer_printf(&condition.sql, ", %s", wish->metrics[i]);
	buffer_printf(&condition.sql, " FROM session%s", source);
	where_text(&condition, index, "branch", filter->branch);
	where_text(&condition, index, "class", filter->machine_class);
	where_text(&condition, index, "revision", filter->commit);
	where_times(&condition, filter, "started");
	where_statuses(&condition, filter->statuses);
	if (filter->trusted)
		buffer_text(&condition.sql, " AND trusted");
	if (filter->project || filter->name) {
		buffer_text(&condition.sql, " AND test IN (SELECT key FROM test WHERE 1");
		where_text(&condition, index, "project", filter->project);
		where_text(&condition, index, "name", filter->name);
		buffer_text(&condition.sql, ")");
	}
	buffer_text(&condition.sql, order);
	char *sql = where_finish(&condition);
	if (condition.impossible) {
		free(sql);
		return NULL;
	}
	return sql;
}

// ---- sessions of runs ----

struct run_rows {
	int64_t id, sessions, first, last; // numbers of sessions
};

typedef ARRAY(struct run_rows) run_rows;

static int by_first(const void *a, const void *b) {
	const struct run_rows *left = a, *right = b;
	return (left->first > right->first) - (left->first < right->first);
}

static int find_runs(struct index *index, const struct history_filter *filter, run_rows *runs) {
	int code = SQLITE_DONE;
	sqlite3_stmt *rows = index_prepare(index, "SELECT id, sessions, (SELECT min(number) FROM session s "
						  "INDEXED BY by_run WHERE s.run = +r.id), "
						  "(SELECT max(number) FROM session s INDEXED BY by_run "
						  "WHERE s.run = +r.id) FROM run r WHERE run = ?");
	for (size_t i = 0; i < filter->run_count && rows && code == SQLITE_DONE; i++) {
		sqlite3_bind_int64(rows, 1, index_find_text(index, filter->runs[i]));
		while ((code = sqlite3_step(rows)) == SQLITE_ROW)
			array_push(runs, (struct run_rows){.id = sqlite3_column_int64(rows, 0),
							   .sessions = sqlite3_column_int64(rows, 1),
							   .first = sqlite3_column_int64(rows, 2),
							   .last = sqlite3_column_int64(rows, 3)});
		sqlite3_reset(rows);
	}
	int error = rows && code == SQLITE_DONE ? 0 : index_failed(index, "reading runs");
	sqlite3_finalize(rows);
	if (runs->count) // the oldest first
		qsort(runs->items, runs->count, sizeof(*runs->items), by_first);
	return error;
}

// The sessions of a run mostly stand together in the table: reading that part of it is quicker than looking
// each one up.
static int read_runs_of(struct collection *collection) {
	run_rows runs = {0};
	CLEANUP_FREE char *near = session_query(
		collection, " NOT INDEXED WHERE number BETWEEN ?2 AND ?3 AND run = ?1", "");
	CLEANUP_FREE char *far = session_query(collection, " INDEXED BY by_run WHERE run = ?1", "");
	if (!near || !far)
		return 0;
	int error = find_runs(collection->index, collection->filter, &runs);
	sqlite3_stmt *ways[2] = {index_prepare(collection->index, far),
				 index_prepare(collection->index, near)};
	if (!ways[0] || !ways[1])
		error = -EIO;
	for (size_t i = 0; i < runs.count && !error; i++) {
		const struct run_rows *run = &runs.items[i];
		bool together = run->last - run->first < 2 * run->sessions;
		sqlite3_bind_int64(ways[together], 1, run->id);
		if (together) {
			sqlite3_bind_int64(ways[together], 2, run->first);
			sqlite3_bind_int64(ways[together], 3, run->last);
		}
		error = run_query(collection, ways[together], false);
	}
	sqlite3_finalize(ways[0]);
	sqlite3_finalize(ways[1]);
	array_free(&runs);
	return error;
}

// ---- sessions of tests ----

static int read_each_test(struct collection *collection) {
	const struct history_filter *filter = collection->filter;
	CLEANUP_FREE char *sql = session_query(collection, " INDEXED BY by_test WHERE test = ?1",
					       " ORDER BY started, id");
	sqlite3_stmt *rows = sql ? index_prepare(collection->index, sql) : NULL;
	int error = sql && !rows ? -EIO : 0;
	for (size_t i = 0; i < filter->test_count && rows && !error; i++) {
		sqlite3_bind_int64(rows, 1, (int64_t)filter->tests[i]);
		error = run_query(collection, rows, true);
	}
	sqlite3_finalize(rows);
	return error;
}

static int read_all(struct collection *collection) {
	CLEANUP_FREE char *sql = session_query(collection, " WHERE 1", "");
	sqlite3_stmt *rows = sql ? index_prepare(collection->index, sql) : NULL;
	int error = !sql ? 0 : rows ? run_query(collection, rows, false) : -EIO;
	sqlite3_finalize(rows);
	return error;
}

// Few tests are read by the index of tests, in order.
static int read_sessions(struct collection *collection) {
	enum { FEW = 1024 };
	const struct history_filter *filter = collection->filter;
	if (filter->tests && !filter->runs && filter->test_count <= FEW)
		return read_each_test(collection);
	int error = filter->runs ? read_runs_of(collection) : read_all(collection);
	const struct row *rows = collection->rows.items;
	size_t count = collection->rows.count, ahead = 16;
	uint32_t *order = order_of(rows, count);
	for (size_t i = 0; i < count && !error; i++) {
		size_t next = order[MIN(i + ahead, count - 1)]; // each is somewhere else: fetch it in time
		__builtin_prefetch(&rows[next]);
		__builtin_prefetch(&collection->values.items[next * collection->wish->metric_count]);
		deliver(collection, &rows[order[i]], order[i]);
	}
	free(order);
	return error;
}

static int sessions(struct history_store *store, const struct history_filter *filter,
		    const struct history_wish *wish,
		    void (*take)(void *context, const struct history_session *row), void *context) {
	struct collection collection = {.index = (struct index *)store,
					.wish = wish,
					.filter = filter,
					.take = take,
					.context = context};
	if (wish->metric_count > ARRAY_SIZE(collection.columns))
		return -EINVAL;
	int error = read_runs(&collection);
	error = error ? error : read_sessions(&collection);
	array_free(&collection.rows);
	array_free(&collection.values);
	array_free(&collection.runs);
	buffer_free(&collection.waits);
	return error;
}

// ---- tests ----

static int by_test_name(const void *a, const void *b) {
	const struct history_test *left = a, *right = b;
	int order = strcmp(left->project, right->project);
	order = order ? order : strcmp(left->suite, right->suite);
	return order ? order : strcmp(left->name, right->name);
}

static int tests(struct history_store *store, const struct history_filter *filter,
		 void (*take)(void *context, const struct history_test *row), void *context) {
	struct index *index = (struct index *)store;
	struct where condition = {0};
	ARRAY(struct history_test) all = {0};
	int code = SQLITE_DONE;
	buffer_text(&condition.sql,
		    "SELECT key, project, suite, name, first, last, sessions FROM test WHERE 1");
	where_text(&condition, index, "project", filter->project);
	where_text(&condition, index, "name", filter->name);
	where_tests(&condition, filter, "key");
	CLEANUP_FREE char *sql = where_finish(&condition);
	sqlite3_stmt *rows = condition.impossible ? NULL : index_prepare(index, sql);
	while (rows && (code = sqlite3_step(rows)) == SQLITE_ROW) {
		uint64_t key = (uint64_t)sqlite3_column_int64(rows, 0);
		if (!where_wants_test(filter, key))
			continue;
		struct history_test test = {.key = key,
					    .project = index_text(index, sqlite3_column_int64(rows, 1)),
					    .suite = index_text(index, sqlite3_column_int64(rows, 2)),
					    .name = index_text(index, sqlite3_column_int64(rows, 3)),
					    .first = sqlite3_column_int64(rows, 4),
					    .last = sqlite3_column_int64(rows, 5),
					    .sessions = (uint64_t)sqlite3_column_int64(rows, 6)};
		array_push(&all, test);
	}
	int error = code == SQLITE_DONE ? 0 : index_failed(index, "reading tests");
	sqlite3_finalize(rows);
	if (all.count)
		qsort(all.items, all.count, sizeof(*all.items), by_test_name);
	for (size_t i = 0; i < all.count && !error; i++)
		take(context, &all.items[i]);
	array_free(&all);
	return error;
}

// ---- runs ----

static int by_start(const void *a, const void *b) {
	const struct history_run *left = a, *right = b;
	if (left->started != right->started)
		return left->started < right->started ? -1 : 1;
	int order = strcmp(left->run, right->run);
	return order ? order : strcmp(left->project, right->project);
}

static bool wants_run(const struct history_filter *filter, const char *run) {
	bool wanted = !filter->runs;
	for (size_t i = 0; i < filter->run_count && !wanted; i++)
		wanted = strcmp(filter->runs[i], run) == 0;
	return wanted;
}

static struct history_run read_run(struct index *index, sqlite3_stmt *rows) {
	return (struct history_run){.project = index_text(index, sqlite3_column_int64(rows, 0)),
				    .run = index_text(index, sqlite3_column_int64(rows, 1)),
				    .started = sqlite3_column_int64(rows, 2),
				    .last = sqlite3_column_int64(rows, 3),
				    .branch = index_text(index, sqlite3_column_int64(rows, 4)),
				    .commit = index_text(index, sqlite3_column_int64(rows, 5)),
				    .change = index_text(index, sqlite3_column_int64(rows, 6)),
				    .ci = index_text(index, sqlite3_column_int64(rows, 7)),
				    .sessions = (uint64_t)sqlite3_column_int64(rows, 8),
				    .passed = (uint64_t)sqlite3_column_int64(rows, 9),
				    .failed = (uint64_t)sqlite3_column_int64(rows, 10),
				    .attempts = (uint32_t)sqlite3_column_int(rows, 11),
				    .trusted = sqlite3_column_int(rows, 12)};
}

static int runs(struct history_store *store, const struct history_filter *filter,
		void (*take)(void *context, const struct history_run *row), void *context) {
	struct index *index = (struct index *)store;
	struct where condition = {0};
	ARRAY(struct history_run) all = {0};
	int code = SQLITE_DONE;
	buffer_text(&condition.sql,
		    "SELECT project, run, started, last, branch, revision, change, ci, sessions, "
		    "passed, failed, attempts, trusted FROM run WHERE sessions > 0");
	where_text(&condition, index, "project", filter->project);
	where_text(&condition, index, "branch", filter->branch);
	where_text(&condition, index, "revision", filter->commit);
	where_times(&condition, filter, "started");
	if (filter->trusted)
		buffer_text(&condition.sql, " AND trusted");
	CLEANUP_FREE char *sql = where_finish(&condition);
	sqlite3_stmt *rows = condition.impossible ? NULL : index_prepare(index, sql);
	while (rows && (code = sqlite3_step(rows)) == SQLITE_ROW) {
		struct history_run run = read_run(index, rows);
		if (wants_run(filter, run.run))
			array_push(&all, run);
	}
	int error = code == SQLITE_DONE ? 0 : index_failed(index, "reading runs");
	sqlite3_finalize(rows);
	if (all.count)
		qsort(all.items, all.count, sizeof(*all.items), by_start);
	for (size_t i = 0; i < all.count && !error; i++)
		take(context, &all.items[i]);
	array_free(&all);
	return error;
}

// ---- totals ----

static int totals(struct history_store *store, struct history_totals *totals) {
	struct index *index = (struct index *)store;
	*totals = index->noted;
	totals->sessions = (uint64_t)index_number(index, "SELECT coalesce(sum(sessions), 0) FROM test", 0);
	totals->tests = (uint64_t)index_number(index, "SELECT count(*) FROM test", 0);
	totals->runs = (uint64_t)index_number(index, "SELECT count(*) FROM run WHERE sessions > 0", 0);
	return index->damaged ? -EUCLEAN : 0;
}

static void close_index(struct history_store *store) {
	index_close((struct index *)store);
}

const struct history_operations index_operations = {.sessions = sessions,
						    .tests = tests,
						    .runs = runs,
						    .days = index_days,
						    .functions = index_functions,
						    .totals = totals,
						    .close = close_index};
