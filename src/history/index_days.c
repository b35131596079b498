// The days of the index, and the functions of each.
#include "base/cursor.h"
#include "history/index_where.h"

// Rounds down, also before 1970.
static int64_t day_of(int64_t time) {
	return time / HISTORY_DAY_MS - (time % HISTORY_DAY_MS < 0);
}

static char *day_query(struct index *index, const struct history_filter *filter, const char *columns,
		       const char *table) {
	struct where where = {0};
	buffer_printf(&where.sql, "SELECT test, class, branch, day, %s FROM %s WHERE 1", columns, table);
	if (filter->since)
		buffer_printf(&where.sql, " AND day >= %lld", (long long)day_of(filter->since));
	if (filter->until)
		buffer_printf(&where.sql, " AND day <= %lld", (long long)day_of(filter->until - 1));
	if (filter->failed)
		buffer_text(&where.sql, " AND failed > 0");
	where_text(&where, index, "branch", filter->branch);
	where_text(&where, index, "class", filter->machine_class);
	if (filter->project || filter->name) {
		buffer_text(&where.sql, " AND test IN (SELECT key FROM test WHERE 1");
		where_text(&where, index, "project", filter->project);
		where_text(&where, index, "name", filter->name);
		buffer_text(&where.sql, ")");
	}
	char *sql = where_finish(&where);
	if (!where.impossible)
		return sql;
	free(sql);
	return NULL;
}

// ---- sums ----

static int by_day(const void *a, const void *b) {
	const struct history_day *left = a, *right = b;
	if (left->test != right->test)
		return left->test < right->test ? -1 : 1;
	int order = left->machine_class == right->machine_class
			    ? 0
			    : strcmp(left->machine_class, right->machine_class);
	if (!order && left->branch != right->branch)
		order = strcmp(left->branch, right->branch);
	return order ? order : (left->day > right->day) - (left->day < right->day);
}

static struct history_day read_day(struct index *index, sqlite3_stmt *row) {
	return (struct history_day){.test = (uint64_t)sqlite3_column_int64(row, 0),
				    .machine_class = index_text(index, sqlite3_column_int64(row, 1)),
				    .branch = index_text(index, sqlite3_column_int64(row, 2)),
				    .day = sqlite3_column_int64(row, 3),
				    .sessions = (uint64_t)sqlite3_column_int64(row, 4),
				    .passed = (uint64_t)sqlite3_column_int64(row, 5),
				    .failed = (uint64_t)sqlite3_column_int64(row, 6),
				    .wall_median = sqlite3_column_int64(row, 7),
				    .wall_sum = sqlite3_column_int64(row, 8),
				    .cpu_sum = sqlite3_column_int64(row, 9),
				    .ready_sum = sqlite3_column_int64(row, 10),
				    .blocked_sum = sqlite3_column_int64(row, 11),
				    .io_sum = sqlite3_column_int64(row, 12),
				    .lock_sum = sqlite3_column_int64(row, 13)};
}

int index_days(struct history_store *store, const struct history_filter *filter,
	       void (*take)(void *context, const struct history_day *row), void *context) {
	struct index *index = (struct index *)store;
	ARRAY(struct history_day) all = {0};
	int code = SQLITE_DONE;
	CLEANUP_FREE char *sql = day_query(
		index, filter,
		"sessions, passed, failed, wall_median, wall_sum, cpu_sum, ready_sum, "
		"blocked_sum, io_sum, lock_sum",
		"day");
	sqlite3_stmt *rows = sql ? index_prepare(index, sql) : NULL;
	while (rows && (code = sqlite3_step(rows)) == SQLITE_ROW)
		if (where_wants_test(filter, (uint64_t)sqlite3_column_int64(rows, 0)))
			array_push(&all, read_day(index, rows));
	int error = code == SQLITE_DONE ? 0 : index_failed(index, "reading days");
	sqlite3_finalize(rows);
	if (all.count)
		qsort(all.items, all.count, sizeof(*all.items), by_day);
	for (size_t i = 0; i < all.count && !error; i++)
		take(context, &all.items[i]);
	array_free(&all);
	return error;
}

// ---- functions ----

struct packed {
	struct history_day key; // only what it is sorted by
	struct history_function_day row;
	size_t place, size; // in the texts below
};

static int by_packed(const void *a, const void *b) {
	return by_day(&((const struct packed *)a)->key, &((const struct packed *)b)->key);
}

typedef ARRAY(struct history_function) function_list;

static void unpack(struct index *index, const uint8_t *bytes, size_t size, function_list *functions) {
	struct cursor cursor = cursor_of(bytes, size);
	functions->count = 0;
	while (cursor_left(&cursor)) {
		uint64_t name = cursor_varint(&cursor), self = cursor_varint(&cursor);
		if (!cursor.failed)
			array_push(functions,
				   (struct history_function){index_text(index, (int64_t)name), self});
	}
}

static struct packed read_packed(struct index *index, sqlite3_stmt *rows, struct buffer *blobs) {
	struct packed packed = {.place = blobs->size};
	struct history_day *key = &packed.key;
	key->test = (uint64_t)sqlite3_column_int64(rows, 0);
	key->machine_class = index_text(index, sqlite3_column_int64(rows, 1));
	key->branch = index_text(index, sqlite3_column_int64(rows, 2));
	key->day = sqlite3_column_int64(rows, 3);
	packed.row = (struct history_function_day){.test = key->test,
						   .machine_class = key->machine_class,
						   .branch = key->branch,
						   .day = key->day,
						   .sessions = (uint64_t)sqlite3_column_int64(rows, 4),
						   .cpu_sum = sqlite3_column_int64(rows, 5),
						   .samples = (uint64_t)sqlite3_column_int64(rows, 6)};
	const void *blob = sqlite3_column_blob(rows, 7);
	packed.size = (size_t)sqlite3_column_bytes(rows, 7);
	buffer_append(blobs, blob, packed.size);
	return packed;
}

int index_functions(struct history_store *store, const struct history_filter *filter,
		    void (*take)(void *context, const struct history_function_day *row), void *context) {
	struct index *index = (struct index *)store;
	ARRAY(struct packed) all = {0};
	struct buffer blobs = {0};
	function_list functions = {0};
	int code = SQLITE_DONE;
	CLEANUP_FREE char *sql = day_query(index, filter, "sessions, cpu_sum, samples, functions",
					   "function_day");
	sqlite3_stmt *rows = sql ? index_prepare(index, sql) : NULL;
	while (rows && (code = sqlite3_step(rows)) == SQLITE_ROW)
		if (where_wants_test(filter, (uint64_t)sqlite3_column_int64(rows, 0)))
			array_push(&all, read_packed(index, rows, &blobs));
	int error = code == SQLITE_DONE ? 0 : index_failed(index, "reading functions");
	sqlite3_finalize(rows);
	if (all.count)
		qsort(all.items, all.count, sizeof(*all.items), by_packed);
	for (size_t i = 0; i < all.count && !error; i++) {
		struct packed *packed = &all.items[i];
		unpack(index, blobs.data + packed->place, packed->size, &functions);
		packed->row.functions = functions.items;
		packed->row.function_count = functions.count;
		take(context, &packed->row);
	}
	array_free(&all);
	array_free(&functions);
	buffer_free(&blobs);
	return error;
}
