// Sums up days: what each test did on a day, and the functions it spent its time in. They are computed
// again from the sessions, for the days that an import touched: sums that are only added to drift when
// something goes wrong once.
#include "history/index.h"
#include "base/cursor.h"
#include "history/statistics.h"

#include <errno.h>

enum column {
	TEST,
	CLASS,
	BRANCH,
	DAY,
	STATUS,
	WALL,
	CPU,
	READY,
	BLOCKED,
	IO,
	LOCK,
	SAMPLES,
	FUNCTIONS,
	SUMS = LOCK - WALL + 1
};

#define COLUMNS                                                                                              \
	"SELECT s.test, s.class, s.branch, s.started / 86400000 AS day, s.status, s.wall_ns, s.cpu_ns, "     \
	"s.ready_ns, s.blocked_ns, s.io_ns, s.lock_ns, p.samples, p.functions "
#define REST                                                                                                 \
	" LEFT JOIN profile p ON p.session = s.number WHERE s.trusted ORDER BY s.test, s.class, s.branch, "  \
	"day"

struct roll {
	struct index *index;
	sqlite3_stmt *day, *functions;
	int64_t key[4]; // test, class, branch, day
	uint64_t sessions, passed, failed, sampled, samples;
	int64_t sums[SUMS], sampled_cpu;
	ARRAY(int64_t) walls;
	struct map self; // id of a function → its samples
	struct buffer packed;
};

static int put(struct roll *roll, sqlite3_stmt *statement, const int64_t *numbers, size_t count) {
	const int64_t key[] = {roll->key[3], roll->key[0], roll->key[1], roll->key[2]};
	int at = 1;
	for (size_t i = 0; i < 4; i++)
		sqlite3_bind_int64(statement, at++, key[i]);
	for (size_t i = 0; i < count; i++)
		sqlite3_bind_int64(statement, at++, numbers[i]);
	if (statement == roll->functions)
		sqlite3_bind_blob(statement, at, roll->packed.size ? roll->packed.data : (const void *)"",
				  (int)roll->packed.size, SQLITE_STATIC);
	int error = sqlite3_step(statement) == SQLITE_DONE ? 0 : index_failed(roll->index, "noting a day");
	sqlite3_reset(statement);
	return error;
}

static int put_functions(struct roll *roll) {
	int64_t numbers[] = {(int64_t)roll->sampled, roll->sampled_cpu, (int64_t)roll->samples};
	roll->packed.size = 0;
	for (size_t i = 0; i < roll->self.capacity; i++)
		if (roll->self.slots[i].used) {
			buffer_varint(&roll->packed, roll->self.slots[i].key);
			buffer_varint(&roll->packed, roll->self.slots[i].value);
		}
	map_free(&roll->self);
	return put(roll, roll->functions, numbers, ARRAY_SIZE(numbers));
}

// Writes the day and begins another one.
static int flush(struct roll *roll) {
	int error = 0;
	if (roll->sessions) {
		int64_t numbers[4 + SUMS] = {(int64_t)roll->sessions, (int64_t)roll->passed,
					     (int64_t)roll->failed,
					     statistics_middle(roll->walls.items, roll->walls.count)};
		memcpy(numbers + 4, roll->sums, sizeof(roll->sums));
		error = put(roll, roll->day, numbers, ARRAY_SIZE(numbers));
	}
	if (!error && roll->sampled)
		error = put_functions(roll);
	roll->sessions = roll->passed = roll->failed = roll->sampled = roll->samples = 0;
	memset(roll->sums, 0, sizeof(roll->sums));
	roll->sampled_cpu = 0;
	roll->walls.count = 0;
	return error;
}

static void add_functions(struct roll *roll, sqlite3_stmt *row) {
	const void *blob = sqlite3_column_blob(row, FUNCTIONS);
	struct cursor cursor = cursor_of(blob, (size_t)sqlite3_column_bytes(row, FUNCTIONS));
	roll->sampled++;
	roll->samples += (uint64_t)sqlite3_column_int64(row, SAMPLES);
	roll->sampled_cpu += sqlite3_column_int64(row, CPU);
	while (cursor_left(&cursor)) {
		uint64_t function = cursor_varint(&cursor), self = cursor_varint(&cursor);
		if (!cursor.failed)
			*map_put(&roll->self, function) += self;
	}
}

static void add_row(struct roll *roll, sqlite3_stmt *row) {
	int status = sqlite3_column_int(row, STATUS);
	bool passed = status >= 0 && status < ENDED_COUNT && HISTORY_PASSED >> status & 1;
	roll->sessions++;
	roll->passed += passed;
	roll->failed += status >= 0 && status < ENDED_COUNT && HISTORY_FAILED >> status & 1;
	if (!passed)
		return;
	for (size_t i = 0; i < SUMS; i++)
		roll->sums[i] += sqlite3_column_int64(row, WALL + (int)i); // null is 0
	array_push(&roll->walls, sqlite3_column_int64(row, WALL));
	if (sqlite3_column_int64(row, SAMPLES) > 0)
		add_functions(roll, row);
}

static int roll_rows(struct roll *roll, sqlite3_stmt *rows) {
	int code, error = 0;
	while (!error && (code = sqlite3_step(rows)) == SQLITE_ROW) {
		int64_t key[4];
		for (int i = 0; i < 4; i++)
			key[i] = sqlite3_column_int64(rows, i);
		if (memcmp(key, roll->key, sizeof(key)) != 0) {
			error = flush(roll);
			memcpy(roll->key, key, sizeof(key));
		}
		add_row(roll, rows);
	}
	if (!error && code != SQLITE_DONE)
		error = index_failed(roll->index, "summing up days");
	return error ? error : flush(roll);
}

int index_roll_up(struct index *index, bool everything) {
	struct roll roll = {.index = index, .key = {-1, -1, -1, -1}};
	sqlite3_stmt *rows = index_prepare(
		index, everything ? COLUMNS "FROM session s" REST
				  : COLUMNS "FROM touched t CROSS JOIN session s INDEXED BY by_test ON "
					    "s.test = t.test AND s.started >= t.day * "
					    "86400000 AND s.started < (t.day + 1) * 86400000" REST);
	roll.day = index_prepare(index, "INSERT OR REPLACE INTO day VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
	roll.functions = index_prepare(index, "INSERT OR REPLACE INTO function_day VALUES(?,?,?,?,?,?,?,?)");
	int error = rows && roll.day && roll.functions ? roll_rows(&roll, rows) : -EIO;
	sqlite3_finalize(rows);
	sqlite3_finalize(roll.day);
	sqlite3_finalize(roll.functions);
	array_free(&roll.walls);
	map_free(&roll.self);
	buffer_free(&roll.packed);
	return error;
}
