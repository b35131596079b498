// A ClickHouse server, over HTTP. The SQL is plain enough for servers of 2018.
//
// No value of a session ever becomes part of a statement: rows go in as data (TabSeparated), and the texts in
// a condition are written as hexadecimal digits, sql_text() in answer.h.
#pragma once

#include "base/buffer.h"
#include "store/answer.h"
#include "store/http.h"
#include "store/place.h"

struct clickhouse {
	struct http *http;
	struct store_place place;
	struct store_secret secret;
	char *where;       // the address, for messages
	char failure[300]; // of the last call that failed, one line
	unsigned code;     // ClickHouse's number of that failure; 0 if it is none of its own
};

enum { // of ClickHouse's numbers
	CLICKHOUSE_UNKNOWN_TABLE = 60,
	CLICKHOUSE_UNKNOWN_DATABASE = 81,
};

// False, after an error message. Nothing is sent yet.
bool clickhouse_open(struct clickhouse *server, const char *where, unsigned patience);
void clickhouse_close(struct clickhouse *server);

// The failure of the last call as an error message, with advice.
void clickhouse_report(const struct clickhouse *server, const char *what);

// A statement without rows. `anywhere`: it does not need the database, which may not exist yet.
int clickhouse_do(struct clickhouse *server, const char *sql, bool anywhere);

// Inserts rows: lines of TabSeparated. When it returns 0, they are on the disk of every shard that they
// belong to.
int clickhouse_insert(struct clickhouse *server, const char *table, const char *columns,
		      const struct buffer *rows);

// ---- answers ----

struct clickhouse_question {
	const char *sql;    // without FORMAT
	size_t columns;     // an answer with other rows is an error
	const void *wanted; // rows of a temporary table `wanted`, in RowBinary; or NULL
	size_t wanted_size;
	const char *wanted_structure;                          // its columns, such as "id FixedString(16)"
	size_t most;                                           // bytes of the answer; 0 for any
	void (*take)(void *context, const struct cell *cells); // valid during the call
	void *context;
};

int clickhouse_ask(struct clickhouse *server, const struct clickhouse_question *question);
int clickhouse_number(struct clickhouse *server, const char *sql, uint64_t *number); // one row, one column

// Sends a statement of a user's, in the format that it asks for or in `format`, and passes the answer on as
// it comes. `write`: it may change something.
int clickhouse_stream(struct clickhouse *server, const char *sql, const char *format, bool write,
		      bool (*take)(void *context, const void *bytes, size_t size), void *context);
