// The local index, history.db: what the lines of one manifest say, in SQLite. It is derived: a
// question first catches up with the manifest, under a lock; it may be deleted at any time, and is made
// again if it is missing or damaged. A run never writes it.
//
// It is beside the manifest if only the caller can write there, else in the user's cache folder, else in
// memory (index_place.c). SQLite's write-ahead log is not used: Debian 12's version can lose a commit when
// several processes reset it.
#pragma once

#include "base/map.h"
#include "event/strings.h"
#include "history/rows.h"

#include <sqlite3.h>

struct index {
	struct history_store store;
	sqlite3 *db;
	char *folder;              // of the manifest
	char *path;                // of the index
	bool damaged;              // SQLite says so: it is to be made again
	bool reported;             // a line says what failed
	struct strings *texts;     // in memory
	ARRAY(const char *) by_id; // text ids of the database → interned; NULL if not read yet
	sqlite3_stmt *read_text;
	struct history_totals noted; // conflicts, ignored and broken lines so far
};

// ---- opening (index.c) ----

int index_open(const char *folder, struct index **index);
// Reads what is there, without catching up, waiting or reporting: -ENOENT if there is no index.
int index_open_as_is(const char *folder, struct index **index);
void index_close(struct index *index);
void index_delete(const char *folder); // one that turned out to be damaged

// Its path, to be freed; NULL if there is no place where only the caller can write (index_place.c).
char *index_place(const char *folder);

// ---- SQL (index_sql.c) ----

int index_failed(struct index *index, const char *doing); // reports; -EUCLEAN if the file is damaged
int index_run(struct index *index, const char *sql);
sqlite3_stmt *index_prepare(struct index *index, const char *sql); // NULL after a report
const char *index_text(struct index *index, int64_t id);           // interned; "" for an id that is not there
int64_t index_find_text(struct index *index, const char *text);    // -1 if it is not there
int64_t index_number(struct index *index, const char *sql, int64_t otherwise); // of the first row
void index_set(struct index *index, const char *key, int64_t value);
int64_t index_get(struct index *index, const char *key); // 0 if it is not there

extern const char index_schema[], index_secondary[];

// ---- importing (index_import.c, index_rollup.c) ----

int index_catch_up(struct index *index);
// Computes the days again that `touched` (test, day) lists; all of them if `everything`.
int index_roll_up(struct index *index, bool everything);

extern const struct history_operations index_operations; // index_rows.c
