// The rows of the local index (rows.h). Sessions of named tests come from SQLite in order; others are
// collected and sorted here, which is several times quicker than SQLite's own sorter.
#include "history/index_where.h"

#include <errno.h>

// ---- sessions ----

enum { ID, TEST, STARTED, STATUS, TRUSTED, ATTEMPT, CLASS, BRANCH, COMMIT, RUN, OWN, WAITS, VALUES };

struct row {
	struct history_session session;
	size_t values, waits; // places in the lists below
};

struct collection {
	struct index *index;
	const struct history_wish *wish;
	const struct history_filter *filter;
	int columns[64]; // of the values; -1: the user's own
	ARRAY(struct row) rows;
	ARRAY(int64_t) values;
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

static struct row read_row(struct collection *collection, sqlite3_stmt *from) {
	struct index *index = collection->index;
	struct row row = {.values = collection->values.count, .waits = collection->waits.size};
	struct history_session *session = &row.session;
	const void *id = sqlite3_column_blob(from, ID);
	int status = sqlite3_column_int(from, STATUS);
	int64_t run = sqlite3_column_int64(from, RUN);
	if (id && sqlite3_column_bytes(from, ID) == HISTORY_ID)
		memcpy(session->id, id, HISTORY_ID);
	session->test = (uint64_t)sqlite3_column_int64(from, TEST);
	session->started = sqlite3_column_int64(from, STARTED);
	session->status = status >= 0 && status < ENDED_COUNT ? status : ENDED_UNKNOWN;
	session->trusted = sqlite3_column_int(from, TRUSTED);
	session->attempt = (uint32_t)sqlite3_column_int(from, ATTEMPT);
	session->machine_class = index_text(index, sqlite3_column_int64(from, CLASS));
	session->branch = index_text(index, sqlite3_column_int64(from, BRANCH));
	session->commit = index_text(index, sqlite3_column_int64(from, COMMIT));
	session->run = run >= 0 && (size_t)run < collection->runs.count ? collection->runs.items[run] : "";
	read_values(collection, from);
	if (collection->wish->waits) {
		const char *waits = (const char *)sqlite3_column_text(from, WAITS);
		buffer_text(&collection->waits, waits ? waits : "");
		buffer_append(&collection->waits, "", 1);
	}
	return row;
}

static void deliver(struct collection *collection, struct row *row) {
	row->session.values = collection->values.items + row->values;
	row->session.waits = collection->wish->waits ? (const char *)collection->waits.data + row->waits
						     : NULL;
	collection->take(collection->context, &row->session);
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
		deliver(collection, &row);
		collection->values.count = 0;
		collection->waits.size = 0;
	}
	int error = code == SQLITE_DONE ? 0 : index_failed(collection->index, "reading sessions");
	sqlite3_reset(rows);
	return error;
}

static int compare_rows(const struct row *a, const struct row *b) {
	const struct history_session *left = &a->session, *right = &b->session;
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
		ends[(rows[i].session.test >> (63 - BITS)) % BUCKETS]++;
	for (size_t i = 0, sum = 0; i < BUCKETS; i++) {
		size_t here = ends[i];
		ends[i] = (uint32_t)sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++)
		order[ends[(rows[i].session.test >> (63 - BITS)) % BUCKETS]++] = (uint32_t)i;
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

// One query for each of the keys of tests or ids of runs.
static int query_each(struct collection *collection, const char *sql, const int64_t *keys, size_t count,
		      bool in_order) {
	sqlite3_stmt *rows = index_prepare(collection->index, sql);
	int error = rows ? 0 : -EIO;
	for (size_t i = 0; i < count && !error; i++) {
		sqlite3_bind_int64(rows, 1, keys[i]);
		error = run_query(collection, rows, in_order);
	}
	sqlite3_finalize(rows);
	return error;
}

typedef ARRAY(int64_t) numbers;

static int by_number(const void *a, const void *b) {
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
	return (left > right) - (left < right);
}

static void run_ids(struct index *index, const struct history_filter *filter, numbers *ids) {
	sqlite3_stmt *rows = index_prepare(index, "SELECT id FROM run WHERE run = ?");
	for (size_t i = 0; i < filter->run_count; i++) {
		sqlite3_bind_int64(rows, 1, index_find_text(index, filter->runs[i]));
		while (sqlite3_step(rows) == SQLITE_ROW)
			array_push(ids, sqlite3_column_int64(rows, 0));
		sqlite3_reset(rows);
	}
	sqlite3_finalize(rows);
	if (ids->count) // the oldest first
		qsort(ids->items, ids->count, sizeof(*ids->items), by_number);
}

// Few tests are read by the index of tests, runs by that of runs, all others by a scan.
static int read_sessions(struct collection *collection) {
	enum { FEW = 1024 };
	const struct history_filter *filter = collection->filter;
	bool by_test = filter->tests && !filter->runs && filter->test_count <= FEW;
	CLEANUP_FREE char *sql = session_query(collection,
					       by_test        ? " INDEXED BY by_test WHERE test = ?1"
					       : filter->runs ? " INDEXED BY by_run WHERE run = ?1"
							      : " WHERE 1",
					       by_test ? " ORDER BY started, id" : "");
	numbers keys = {0};
	int error;
	if (!sql)
		return 0;
	if (by_test)
		for (size_t i = 0; i < filter->test_count; i++)
			array_push(&keys, (int64_t)filter->tests[i]);
	else if (filter->runs)
		run_ids(collection->index, filter, &keys);
	else
		array_push(&keys, 0); // one scan; nothing is bound
	error = query_each(collection, sql, keys.items, keys.count, by_test);
	array_free(&keys);
	uint32_t *order = order_of(collection->rows.items, collection->rows.count);
	for (size_t i = 0; i < collection->rows.count && !error; i++)
		deliver(collection, &collection->rows.items[order[i]]);
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
	CLEANUP_FREE char *sql = where_finish(&condition);
	sqlite3_stmt *rows = condition.impossible ? NULL : index_prepare(index, sql);
	while (rows && (code = sqlite3_step(rows)) == SQLITE_ROW) {
		struct history_test test = {.key = (uint64_t)sqlite3_column_int64(rows, 0),
					    .project = index_text(index, sqlite3_column_int64(rows, 1)),
					    .suite = index_text(index, sqlite3_column_int64(rows, 2)),
					    .name = index_text(index, sqlite3_column_int64(rows, 3)),
					    .first = sqlite3_column_int64(rows, 4),
					    .last = sqlite3_column_int64(rows, 5),
					    .sessions = (uint64_t)sqlite3_column_int64(rows, 6)};
		if (where_wants_test(filter, test.key))
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
