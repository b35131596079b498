#include "history/glance.h"
#include "base/file.h"
#include "history/index.h"
#include "history/statistics.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAST = 50, LEAST = 8, MOST_TAIL = 1 << 20 };

struct seen {
	int64_t started;
	double wall; // ns; NAN if unknown
	bool failed, passed;
};

struct glance {
	uint64_t test;
	const char *class;
	uint8_t self[HISTORY_ID];
	ARRAY(struct seen) sessions;
};

static void add(struct glance *glance, const uint8_t *id, uint64_t test, enum manifest_status status,
		bool trusted, const char *class, int64_t started, int64_t wall) {
	struct seen seen = {.started = started,
			    .wall = wall == HISTORY_NONE || strcmp(class, glance->class) != 0 ? NAN
											      : (double)wall,
			    .failed = HISTORY_FAILED >> status & 1,
			    .passed = HISTORY_PASSED >> status & 1};
	if (test == glance->test && trusted && (seen.failed || seen.passed) &&
	    memcmp(id, glance->self, HISTORY_ID) != 0)
		array_push(&glance->sessions, seen);
}

// The newest sessions that the index has.
static void read_index(struct glance *glance, struct index *index) {
	sqlite3_stmt *rows = index_prepare(index,
					   "SELECT id, status, trusted, class, started, wall_ns FROM session "
					   "INDEXED BY by_test WHERE test = ? ORDER BY started DESC LIMIT ?");
	sqlite3_bind_int64(rows, 1, (int64_t)glance->test);
	sqlite3_bind_int(rows, 2, LAST);
	while (rows && sqlite3_step(rows) == SQLITE_ROW) {
		const void *id = sqlite3_column_blob(rows, 0);
		int status = sqlite3_column_int(rows, 1);
		bool known = sqlite3_column_type(rows, 5) != SQLITE_NULL;
		if (id && sqlite3_column_bytes(rows, 0) == HISTORY_ID && status >= 0 && status < ENDED_COUNT)
			add(glance, id, glance->test, status, sqlite3_column_int(rows, 2),
			    index_text(index, sqlite3_column_int64(rows, 3)), sqlite3_column_int64(rows, 4),
			    known ? sqlite3_column_int64(rows, 5) : HISTORY_NONE);
	}
	sqlite3_finalize(rows);
}

static void take_line(struct glance *glance, const char *line, size_t size) {
	static struct history_fact fact; // large
	struct manifest_record record;
	if (!manifest_parse(line, size, &record))
		return;
	if (history_fact_of(&record, line, size, &fact)) {
		add(glance, fact.id, fact.test, fact.status, fact.trusted, fact.machine_class, fact.started,
		    fact.metrics[METRIC_OF_wall_ns]);
		history_fact_free(&fact);
	}
	manifest_record_free(&record);
}

// What the index does not have yet; of very much, only the end.
static void read_tail(struct glance *glance, const char *folder, int64_t offset) {
	CLEANUP_FREE char *path = memory_format("%s/manifest.jsonl", folder);
	int fd = file_open_regular(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	if (fd < 0)
		return;
	if (fstat(fd, &status) == 0 && status.st_size > offset) {
		size_t size = (size_t)MIN(status.st_size - offset, (int64_t)MOST_TAIL);
		char *text = memory_alloc(size + 1);
		ssize_t got = pread(fd, text, size, status.st_size - (int64_t)size);
		for (char *at = text, *end; got > 0 && (end = memchr(at, '\n', (size_t)(text + got - at)));
		     at = end + 1)
			take_line(glance, at, (size_t)(end - at));
		free(text);
	}
	close(fd);
}

static int newest_first(const void *a, const void *b) {
	const struct seen *left = a, *right = b;
	return (left->started < right->started) - (left->started > right->started);
}

// "38 % slower than usual"; "" if it is not certain.
static void compare(const struct glance *glance, double wall, char *words, size_t size) {
	double values[LAST];
	size_t count = 0;
	*words = 0;
	for (size_t i = 0; i < glance->sessions.count && count < LAST; i++)
		if (glance->sessions.items[i].passed && glance->sessions.items[i].wall > 0)
			values[count++] = log(glance->sessions.items[i].wall);
	if (count < LEAST || !(wall > 0))
		return;
	double usual = exp(statistics_median(values, count)), ratio = wall / usual;
	if (fabs(ratio - 1) < 0.05 || statistics_single_test(log(wall), values, count) > 0.01)
		return;
	if (ratio >= 2)
		snprintf(words, size, "%.1f times as slow as usual", ratio);
	else
		snprintf(words, size, "%.0f %% %s than usual", fabs(ratio - 1) * 100,
			 ratio > 1 ? "slower" : "faster");
}

static char *words_of(struct glance *glance, const struct history_fact *fact) {
	char speed[64] = "";
	size_t failed = 0, count = MIN(glance->sessions.count, (size_t)LAST);
	if (!count)
		return NULL;
	qsort(glance->sessions.items, glance->sessions.count, sizeof(*glance->sessions.items), newest_first);
	for (size_t i = 0; i < count; i++)
		failed += glance->sessions.items[i].failed;
	if (HISTORY_PASSED >> fact->status & 1)
		compare(glance, (double)fact->metrics[METRIC_OF_wall_ns], speed, sizeof(speed));
	if (!failed && !*speed && HISTORY_PASSED >> fact->status & 1)
		return memory_format("passed all of the last %zu", count);
	return memory_format("failed %zu of the last %zu%s%s", failed, count, *speed ? "; " : "", speed);
}

char *history_glance(const char *folder, const struct manifest_record *record) {
	struct index *index;
	struct history_fact *fact = memory_alloc(sizeof(*fact));
	char *words = NULL;
	if (history_fact_of(record, "", 0, fact)) {
		if (index_open_as_is(folder, &index) == 0) {
			struct glance glance = {.test = fact->test, .class = fact->machine_class};
			memcpy(glance.self, fact->id, HISTORY_ID);
			read_index(&glance, index);
			read_tail(&glance, folder, index_get(index, "offset"));
			words = words_of(&glance, fact);
			array_free(&glance.sessions);
			index_close(index);
		}
		history_fact_free(fact);
	}
	free(fact);
	return words;
}
