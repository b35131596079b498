// The tables of the index, and short ways to use SQLite.
#include "base/log.h"
#include "history/index.h"

#include <errno.h>

// Metrics are columns: as rows they take twice the room and the time.
#define COLUMN(name, unit, exact) #name ","
const char index_schema[] =
	"CREATE TABLE state(key TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;"
	"CREATE TABLE text(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);"
	"CREATE TABLE test(key INTEGER PRIMARY KEY, project, suite, name, first, last, sessions);"
	"CREATE TABLE run(id INTEGER PRIMARY KEY, project, run, started, last, first_session, branch, "
	"revision,"
	" change, ci, sessions, passed, failed, attempts, trusted, UNIQUE(project, run));"
	"CREATE TABLE session(number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, content, test, started, "
	"status, trusted, attempt, class, branch, revision, run," HISTORY_METRIC_TABLE(
		COLUMN) "own, waits);"
			"CREATE TABLE profile(session INTEGER PRIMARY KEY, samples, functions BLOB);"
			"CREATE TABLE day(day, test, class, branch, sessions, passed, failed, wall_median, "
			"wall_sum, cpu_sum,"
			" ready_sum, blocked_sum, io_sum, lock_sum, PRIMARY KEY(day, test, class, branch)) "
			"WITHOUT ROWID;"
			"CREATE TABLE function_day(day, test, class, branch, sessions, cpu_sum, samples, "
			"functions BLOB,"
			" PRIMARY KEY(day, test, class, branch)) WITHOUT ROWID;";
// The first has all that most questions need: the sessions of a test are far from each other in the table.
const char index_secondary[] =
	"CREATE INDEX IF NOT EXISTS by_test ON session(test, started, id, status, trusted, "
	"attempt, class, branch, revision, run, wall_ns);"
	"CREATE INDEX IF NOT EXISTS by_run ON session(run);";

int index_failed(struct index *index, const char *doing) {
	int code = sqlite3_errcode(index->db) & 0xff;
	if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
		index->damaged = true;
		return -EUCLEAN;
	}
	log_error("%s: %s: %s", index->path, doing, sqlite3_errmsg(index->db));
	index->reported = true;
	return code == SQLITE_FULL ? -ENOSPC : code == SQLITE_READONLY ? -EROFS : -EIO;
}

int index_run(struct index *index, const char *sql) {
	return sqlite3_exec(index->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : index_failed(index, sql);
}

sqlite3_stmt *index_prepare(struct index *index, const char *sql) {
	sqlite3_stmt *statement = NULL;
	if (sqlite3_prepare_v2(index->db, sql, -1, &statement, NULL) != SQLITE_OK) {
		index_failed(index, sql);
		return NULL;
	}
	return statement;
}

const char *index_text(struct index *index, int64_t id) {
	enum { MOST = 1 << 28 };
	if (id <= 0 || id > MOST)
		return "";
	while (index->by_id.count <= (size_t)id)
		array_push(&index->by_id, NULL);
	const char **text = &index->by_id.items[id];
	if (*text)
		return *text;
	if (!index->read_text)
		index->read_text = index_prepare(index, "SELECT text FROM text WHERE id = ?");
	*text = "";
	sqlite3_bind_int64(index->read_text, 1, id);
	if (sqlite3_step(index->read_text) == SQLITE_ROW) {
		const char *found = (const char *)sqlite3_column_text(index->read_text, 0);
		*text = strings_get(index->texts, strings_add(index->texts, found ? found : ""));
	}
	sqlite3_reset(index->read_text);
	return *text;
}

int64_t index_find_text(struct index *index, const char *text) {
	int64_t id = -1;
	if (!*text)
		return 0;
	sqlite3_stmt *statement = index_prepare(index, "SELECT id FROM text WHERE text = ?");
	sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC);
	if (sqlite3_step(statement) == SQLITE_ROW)
		id = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return id;
}

int64_t index_number(struct index *index, const char *sql, int64_t otherwise) {
	sqlite3_stmt *statement = index_prepare(index, sql);
	if (sqlite3_step(statement) == SQLITE_ROW)
		otherwise = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return otherwise;
}

void index_set(struct index *index, const char *key, int64_t value) {
	sqlite3_stmt *statement = index_prepare(index, "INSERT OR REPLACE INTO state VALUES(?, ?)");
	sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
	sqlite3_bind_int64(statement, 2, value);
	if (sqlite3_step(statement) != SQLITE_DONE)
		index_failed(index, "noting how far it is");
	sqlite3_finalize(statement);
}

int64_t index_get(struct index *index, const char *key) {
	int64_t value = 0;
	sqlite3_stmt *statement = index_prepare(index, "SELECT value FROM state WHERE key = ?");
	sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
	if (sqlite3_step(statement) == SQLITE_ROW)
		value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return value;
}
