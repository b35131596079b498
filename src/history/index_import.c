// Catches up with the manifest: reads the lines after those it knows, and inserts their sessions in one
// transaction. The id of a session decides whether it is known, so lines may be read twice: when the
// manifest was replaced, everything is read again, and sessions that the index already has stay.
#include "base/file.h"
#include "base/log.h"
#include "base/siphash.h"
#include "history/index.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 20, LONGEST_LINE = 16 << 20 };

// What changed in one import, by test and by run: written once at its end.
struct test_change {
	uint64_t key;
	int64_t project, suite, name, first, last, sessions;
};

struct run_change {
	int64_t id, project, run, started, last, branch, commit, change, ci, sessions, passed, failed,
		attempts;
	uint8_t first[HISTORY_ID];
	bool trusted;
};

struct import {
	struct index *index;
	bool fresh; // the index is empty
	sqlite3_stmt *insert, *profile, *content, *touch, *new_text, *find_text, *new_run, *find_run;
	ARRAY(int64_t) text_ids; // of index->texts → of the database; 0 if not known yet
	struct map tests, runs;  // key, number of the run's text and project → place + 1
	ARRAY(struct test_change) test_changes;
	ARRAY(struct run_change) run_changes;
	struct buffer functions, own;
	uint64_t added;
	int error;
};

// ---- texts ----

static int64_t step_for_id(struct import *import, sqlite3_stmt *find, sqlite3_stmt *add) {
	int64_t id = 0;
	if (sqlite3_step(find) == SQLITE_ROW)
		id = sqlite3_column_int64(find, 0);
	sqlite3_reset(find);
	if (id)
		return id;
	if (sqlite3_step(add) != SQLITE_DONE)
		import->error = index_failed(import->index, "adding a name");
	sqlite3_reset(add);
	return sqlite3_last_insert_rowid(import->index->db);
}

static int64_t text_id(struct import *import, const char *text) {
	if (!*text)
		return 0;
	uint32_t known = strings_add(import->index->texts, text);
	while (import->text_ids.count <= known)
		array_push(&import->text_ids, 0);
	int64_t *id = &import->text_ids.items[known];
	if (!*id) {
		sqlite3_bind_text(import->find_text, 1, text, -1, SQLITE_STATIC);
		sqlite3_bind_text(import->new_text, 1, text, -1, SQLITE_STATIC);
		*id = step_for_id(import, import->find_text, import->new_text);
	}
	return *id;
}

// ---- tests and runs ----

static void note_test(struct import *import, const struct history_fact *fact) {
	uint64_t *place = map_put(&import->tests, fact->test);
	if (!*place) {
		array_push(&import->test_changes,
			   (struct test_change){.key = fact->test,
						.project = text_id(import, fact->project),
						.suite = text_id(import, fact->suite),
						.name = text_id(import, fact->name),
						.first = fact->started,
						.last = fact->started});
		*place = import->test_changes.count;
	}
	struct test_change *test = &import->test_changes.items[*place - 1];
	test->first = MIN(test->first, fact->started);
	test->last = MAX(test->last, fact->started);
	test->sessions++;
}

static struct run_change *find_run(struct import *import, const struct history_fact *fact) {
	int64_t project = text_id(import, fact->project), run = text_id(import, fact->run);
	uint64_t *place = map_put(&import->runs, (uint64_t)project << 32 | (uint64_t)run);
	if (!*place) {
		struct run_change change = {
			.project = project, .run = run, .started = INT64_MAX, .trusted = true};
		for (int i = 0; i < 2; i++) {
			sqlite3_stmt *statement = i ? import->new_run : import->find_run;
			sqlite3_bind_int64(statement, 1, project);
			sqlite3_bind_int64(statement, 2, run);
		}
		change.id = step_for_id(import, import->find_run, import->new_run);
		memset(change.first, 0xff, sizeof(change.first));
		array_push(&import->run_changes, change);
		*place = import->run_changes.count;
	}
	return &import->run_changes.items[*place - 1];
}

static void note_run(struct import *import, struct run_change *run, const struct history_fact *fact) {
	run->started = MIN(run->started, fact->started);
	run->last = MAX(run->last, fact->started);
	run->sessions++;
	run->passed += (HISTORY_PASSED >> fact->status) & 1;
	run->failed += (HISTORY_FAILED >> fact->status) & 1;
	run->attempts = MAX(run->attempts, fact->attempt);
	run->trusted &= fact->trusted;
	if (memcmp(fact->id, run->first, HISTORY_ID) >= 0)
		return;
	memcpy(run->first, fact->id, HISTORY_ID);
	run->branch = text_id(import, fact->branch);
	run->commit = text_id(import, fact->commit);
	run->change = text_id(import, fact->change);
	run->ci = text_id(import, fact->ci);
}

// ---- sessions ----

// {"name":value}; "" if there are none.
static const char *own_text(struct import *import, const struct history_fact *fact) {
	struct buffer *out = &import->own;
	out->size = 0;
	for (size_t i = 0; i < fact->own_count; i++)
		buffer_printf(out, "%s%s=%lld", i ? " " : "", fact->own[i].name,
			      (long long)fact->own[i].value);
	return out->size ? (const char *)out->data : NULL;
}

static void bind_session(struct import *import, const struct history_fact *fact, int64_t run) {
	sqlite3_stmt *insert = import->insert;
	int64_t numbers[] = {(int64_t)fact->content,
			     (int64_t)fact->test,
			     fact->started,
			     fact->status,
			     fact->trusted,
			     fact->attempt,
			     text_id(import, fact->machine_class),
			     text_id(import, fact->branch),
			     text_id(import, fact->commit),
			     run};
	int at = 1;
	sqlite3_bind_blob(insert, at++, fact->id, HISTORY_ID, SQLITE_STATIC);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sqlite3_bind_int64(insert, at++, numbers[i]);
	for (size_t i = 0; i < METRIC_COUNT_ALL; i++, at++)
		if (fact->metrics[i] == HISTORY_NONE)
			sqlite3_bind_null(insert, at);
		else
			sqlite3_bind_int64(insert, at, fact->metrics[i]);
	const char *own = own_text(import, fact);
	if (own)
		sqlite3_bind_text(insert, at, own, (int)import->own.size, SQLITE_STATIC);
	else
		sqlite3_bind_null(insert, at);
	if (*fact->waits)
		sqlite3_bind_text(insert, at + 1, fact->waits, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(insert, at + 1);
}

static void note_profile(struct import *import, const struct history_fact *fact, int64_t session) {
	import->functions.size = 0;
	if (!fact->samples)
		return;
	for (size_t i = 0; i < fact->function_count; i++) {
		buffer_varint(&import->functions, (uint64_t)text_id(import, fact->functions[i].name));
		buffer_varint(&import->functions, fact->functions[i].self);
	}
	sqlite3_bind_int64(import->profile, 1, session);
	sqlite3_bind_int64(import->profile, 2, (int64_t)fact->samples);
	sqlite3_bind_blob(import->profile, 3,
			  import->functions.size ? import->functions.data : (const void *)"",
			  (int)import->functions.size, SQLITE_STATIC);
	if (sqlite3_step(import->profile) != SQLITE_DONE)
		import->error = index_failed(import->index, "adding functions");
	sqlite3_reset(import->profile);
}

// The first line with an id stays; another content is counted.
static void compare(struct import *import, const struct history_fact *fact) {
	sqlite3_bind_blob(import->content, 1, fact->id, HISTORY_ID, SQLITE_STATIC);
	if (sqlite3_step(import->content) == SQLITE_ROW &&
	    sqlite3_column_int64(import->content, 0) != (int64_t)fact->content)
		import->index->noted.conflicts++;
	sqlite3_reset(import->content);
}

static void add_session(struct import *import, const struct history_fact *fact) {
	struct run_change *run = find_run(import, fact);
	bind_session(import, fact, run->id);
	int code = sqlite3_step(import->insert);
	if (code != SQLITE_DONE)
		import->error = index_failed(import->index, "adding a session");
	sqlite3_reset(import->insert);
	if (import->error)
		return;
	if (!sqlite3_changes(import->index->db)) {
		compare(import, fact);
		return;
	}
	note_profile(import, fact, sqlite3_last_insert_rowid(import->index->db));
	note_test(import, fact);
	note_run(import, run, fact);
	import->added++;
	if (import->fresh)
		return;
	sqlite3_bind_int64(import->touch, 1, (int64_t)fact->test);
	sqlite3_bind_int64(import->touch, 2, fact->started / HISTORY_DAY_MS);
	if (sqlite3_step(import->touch) != SQLITE_DONE)
		import->error = index_failed(import->index, "noting a day");
	sqlite3_reset(import->touch);
}

static void take_line(struct import *import, const char *line, size_t size) {
	static struct history_fact fact; // large
	struct manifest_record record;
	if (!size)
		return;
	if (!manifest_parse(line, size, &record)) {
		import->index->noted.broken++;
		return;
	}
	if (history_fact_of(&record, line, size, &fact)) {
		add_session(import, &fact);
		history_fact_free(&fact);
	} else {
		import->index->noted.ignored++;
	}
	manifest_record_free(&record);
}

// ---- the end of an import ----

static int write_tests(struct import *import) {
	sqlite3_stmt *statement = index_prepare(
		import->index, "INSERT INTO test VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT(key) DO UPDATE SET "
			       "first = min(first, excluded.first), last = max(last, excluded.last), "
			       "sessions = sessions + excluded.sessions");
	int error = statement ? 0 : -EIO;
	for (size_t i = 0; i < import->test_changes.count && !error; i++) {
		const struct test_change *test = &import->test_changes.items[i];
		int64_t numbers[] = {(int64_t)test->key, test->project, test->suite,   test->name,
				     test->first,        test->last,    test->sessions};
		for (size_t k = 0; k < ARRAY_SIZE(numbers); k++)
			sqlite3_bind_int64(statement, (int)k + 1, numbers[k]);
		if (sqlite3_step(statement) != SQLITE_DONE)
			error = index_failed(import->index, "noting a test");
		sqlite3_reset(statement);
	}
	sqlite3_finalize(statement);
	return error;
}

#define IF_FIRST(column, value)                                                                              \
#column " = CASE WHEN first_session IS NULL OR ?1 < first_session THEN " #value " ELSE " #column     \
		" END, "

static int write_runs(struct import *import) {
	sqlite3_stmt *statement = index_prepare(
		import->index,
		"UPDATE run SET " IF_FIRST(branch, ?2) IF_FIRST(revision, ?3) IF_FIRST(change, ?4) IF_FIRST(
			ci, ?5) IF_FIRST(first_session, ?1) "started = min(coalesce(started, ?6), ?6), "
							   "last = max(coalesce(last, ?7), ?7), "
							   "sessions = coalesce(sessions, 0) + ?8, "
							   "passed = coalesce(passed, 0) + ?9, "
							   "failed = coalesce(failed, 0) + ?10, "
							   "attempts = max(coalesce(attempts, 0), ?11), "
							   "trusted = min(coalesce(trusted, 1), ?12) WHERE id = ?13");
	int error = statement ? 0 : -EIO;
	for (size_t i = 0; i < import->run_changes.count && !error; i++) {
		const struct run_change *run = &import->run_changes.items[i];
		int64_t numbers[] = {run->branch,  run->commit,   run->change,   run->ci,
				     run->started, run->last,     run->sessions, run->passed,
				     run->failed,  run->attempts, run->trusted,  run->id};
		if (!run->sessions)
			continue;
		sqlite3_bind_blob(statement, 1, run->first, HISTORY_ID, SQLITE_STATIC);
		for (size_t k = 0; k < ARRAY_SIZE(numbers); k++)
			sqlite3_bind_int64(statement, (int)k + 2, numbers[k]);
		if (sqlite3_step(statement) != SQLITE_DONE)
			error = index_failed(import->index, "noting a run");
		sqlite3_reset(statement);
	}
	sqlite3_finalize(statement);
	return error;
}

// ---- reading the manifest ----

// What is before `offset`: a manifest that was replaced has something else there.
static int64_t fingerprint(int fd, int64_t offset) {
	enum { END = 512 };
	uint8_t bytes[END];
	int64_t from = MAX(offset - END, 0);
	ssize_t size = pread(fd, bytes, (size_t)(offset - from), from);
	return size > 0 ? (int64_t)(siphash13(bytes, (size_t)size) & INT64_MAX) : 0;
}

// Whole lines only: a line whose end is missing may still be written. Returns the place after the last one.
static int64_t read_lines(struct import *import, int fd, int64_t offset) {
	struct buffer text = {0};
	size_t known = 0; // bytes without a line end
	ssize_t size;
	bool skipping = false; // the rest of a line that is too long
	while (!import->error &&
	       (size = pread(fd, buffer_room(&text, PIECE), PIECE, offset + (int64_t)text.size)) > 0) {
		text.size += (size_t)size;
		size_t begin = 0;
		for (char *end; (end = memchr(text.data + known, '\n', text.size - known)); known = begin) {
			size_t stop = (size_t)((uint8_t *)end - text.data);
			if (!skipping)
				take_line(import, (char *)text.data + begin, stop - begin);
			skipping = false;
			begin = stop + 1;
		}
		if (text.size - begin > LONGEST_LINE) {
			import->index->noted.broken += !skipping;
			skipping = true;
			begin = text.size;
		}
		buffer_drop(&text, begin);
		offset += (int64_t)begin;
		known = text.size;
		log_progress("reading the history: %llu sessions", (unsigned long long)import->added);
	}
	log_progress(NULL);
	buffer_free(&text);
	return offset;
}

static int prepare(struct import *import) {
#define PLACE(name, unit, exact) "?,"
	static const char insert[] =
		"INSERT OR IGNORE INTO session VALUES(NULL, ?,?,?,?,?,?,?,?,?,?,?," HISTORY_METRIC_TABLE(
			PLACE) "?,?)";
	const struct {
		sqlite3_stmt **statement;
		const char *sql;
	} all[] = {{&import->insert, insert},
		   {&import->profile, "INSERT INTO profile VALUES(?, ?, ?)"},
		   {&import->content, "SELECT content FROM session WHERE id = ?"},
		   {&import->touch, "INSERT OR IGNORE INTO touched VALUES(?, ?)"},
		   {&import->new_text, "INSERT INTO text VALUES(NULL, ?)"},
		   {&import->find_text, "SELECT id FROM text WHERE text = ?"},
		   {&import->new_run, "INSERT INTO run(project, run) VALUES(?, ?)"},
		   {&import->find_run, "SELECT id FROM run WHERE project = ? AND run = ?"}};
	int error = index_run(import->index, "CREATE TEMP TABLE IF NOT EXISTS touched(test, day, "
					     "PRIMARY KEY(test, day)) WITHOUT ROWID; DELETE FROM touched");
	for (size_t i = 0; i < ARRAY_SIZE(all) && !error; i++)
		if (!(*all[i].statement = index_prepare(import->index, all[i].sql)))
			error = -EIO;
	return error;
}

static void import_free(struct import *import) {
	sqlite3_stmt *all[] = {import->insert,   import->profile,   import->content, import->touch,
			       import->new_text, import->find_text, import->new_run, import->find_run};
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		sqlite3_finalize(all[i]);
	array_free(&import->text_ids);
	array_free(&import->test_changes);
	array_free(&import->run_changes);
	map_free(&import->tests);
	map_free(&import->runs);
	buffer_free(&import->functions);
	buffer_free(&import->own);
}

static int import_from(struct import *import, int fd, int64_t offset) {
	struct index *index = import->index;
	int error = prepare(import);
	if (error)
		return error;
	int64_t end = read_lines(import, fd, offset);
	error = import->error;
	error = error ? error : write_tests(import);
	error = error ? error : write_runs(import);
	error = error ? error : index_run(index, index_secondary);
	error = error || !import->added ? error : index_roll_up(index, import->fresh);
	index_set(index, "offset", end);
	index_set(index, "fingerprint", fingerprint(fd, end));
	index_set(index, "conflicts", (int64_t)index->noted.conflicts);
	index_set(index, "ignored", (int64_t)index->noted.ignored);
	index_set(index, "broken", (int64_t)index->noted.broken);
	return error;
}

static int catch_up_with(struct index *index, int fd) {
	struct stat status;
	int64_t offset = index_get(index, "offset");
	if (fstat(fd, &status))
		return -errno;
	if (status.st_size < offset || fingerprint(fd, offset) != index_get(index, "fingerprint"))
		offset = 0;
	index->noted.conflicts = (uint64_t)index_get(index, "conflicts");
	index->noted.ignored = (uint64_t)index_get(index, "ignored");
	index->noted.broken = (uint64_t)index_get(index, "broken");
	if (status.st_size == offset)
		return 0;
	struct import import = {.index = index};
	import.fresh = index_number(index, "SELECT number FROM session LIMIT 1", 0) == 0;
	int error = index_run(index, "BEGIN IMMEDIATE");
	error = error ? error : import_from(&import, fd, offset);
	import_free(&import);
	if (!error)
		error = index_run(index, "COMMIT");
	else
		sqlite3_exec(index->db, "ROLLBACK", NULL, NULL, NULL);
	return error;
}

int index_catch_up(struct index *index) {
	CLEANUP_FREE char *path = memory_format("%s/manifest.jsonl", index->folder);
	int fd = file_open_regular(path, O_RDONLY | O_CLOEXEC);
	if (fd == -ENODATA)
		return 0; // empty
	if (fd < 0) {
		log_error("%s: %s", path, strerror(-fd));
		index->reported = true;
		return fd;
	}
	int error = catch_up_with(index, fd);
	close(fd);
	return error;
}
