#include "store/questions.h"
#include "base/array.h"
#include "base/map.h"
#include "event/strings.h"
#include "store/clickhouse.h"
#include "store/schema.h"

#include <errno.h>
#include <inttypes.h>

struct fleet {
	struct history_store store;
	struct clickhouse server;
	struct strings *texts; // interned
};

static struct fleet *fleet_of(struct history_store *store) {
	return CONTAINER_OF(store, struct fleet, store);
}

static const char *text_of(struct fleet *fleet, const struct cell *cell) {
	return strings_get(fleet->texts,
			   strings_add_bytes(fleet->texts, cell->text ? cell->text : "", cell->size));
}

// Asks, reports a failure, and frees the statement.
static int ask(struct fleet *fleet, struct buffer *sql, size_t columns,
	       void (*take)(void *context, const struct cell *cells), void *context) {
	buffer_append(sql, "", 1);
	struct clickhouse_question question = {
		.sql = (const char *)sql->data, .columns = columns, .take = take, .context = context};
	int error = clickhouse_ask(&fleet->server, &question);
	if (error)
		clickhouse_report(&fleet->server, "cannot ask for rows");
	buffer_free(sql);
	return error;
}

// ---- conditions ----

static void add_equal(struct buffer *sql, const char *column, const char *text) {
	if (!text)
		return;
	buffer_printf(sql, " AND %s = ", column);
	sql_text(sql, text, strlen(text));
}

static void add_tests(struct buffer *sql, const struct history_filter *filter) {
	if (!filter->tests)
		return;
	buffer_text(sql, filter->test_count ? " AND test IN (" : " AND 0");
	for (size_t i = 0; i < filter->test_count; i++)
		buffer_printf(sql, "%s%" PRIu64, i ? "," : "", filter->tests[i]);
	buffer_text(sql, filter->test_count ? ")" : "");
}

static void add_runs(struct buffer *sql, const struct history_filter *filter) {
	if (!filter->runs)
		return;
	buffer_text(sql, filter->run_count ? " AND run IN (" : " AND 0");
	for (size_t i = 0; i < filter->run_count; i++) {
		buffer_text(sql, i ? "," : "");
		sql_text(sql, filter->runs[i], strlen(filter->runs[i]));
	}
	buffer_text(sql, filter->run_count ? ")" : "");
}

// As a condition on the day, too: then ClickHouse reads only the months that matter. 0 for no limit.
static void add_times(struct buffer *sql, int64_t since, int64_t until) {
	if (since)
		buffer_printf(sql, " AND started >= %" PRId64, since);
	if (since > 0)
		buffer_printf(sql, " AND day >= toDate(%" PRId64 ")",
			      MIN(since / HISTORY_DAY_MS, (int64_t)SCHEMA_LAST_DAY));
	if (until)
		buffer_printf(sql, " AND started < %" PRId64, until);
	if (until > 0 && until / HISTORY_DAY_MS < SCHEMA_LAST_DAY)
		buffer_printf(sql, " AND day <= toDate(%" PRId64 ")", until / HISTORY_DAY_MS);
}

static void add_statuses(struct buffer *sql, uint32_t statuses) {
	const char *between = " AND status IN (";
	if (!statuses)
		return;
	for (int i = 0; i < ENDED_COUNT; i++)
		if (statuses & 1u << i) {
			buffer_printf(sql, "%s'%s'", between, manifest_status_names[i]);
			between = ", ";
		}
	buffer_text(sql, *between == ',' ? ")" : " AND 0");
}

static void add_common(struct buffer *sql, const struct history_filter *filter) {
	buffer_text(sql, " WHERE 1");
	add_equal(sql, "project", filter->project);
	add_tests(sql, filter);
	add_equal(sql, "name", filter->name);
}

static void add_source(struct buffer *sql, const struct history_filter *filter) {
	add_equal(sql, "branch", filter->branch);
	add_equal(sql, "machine_class", filter->machine_class);
	add_equal(sql, "commit", filter->commit);
	add_runs(sql, filter);
}

// ---- sessions ----

struct session_reader {
	struct fleet *fleet;
	const struct history_wish *wish;
	int64_t *values;
	void (*take)(void *context, const struct history_session *row);
	void *context;
};

static enum manifest_status status_of(const struct cell *cell) {
	for (int i = 0; i < ENDED_COUNT; i++)
		if (cell->text && strcmp(cell->text, manifest_status_names[i]) == 0)
			return i;
	return ENDED_UNKNOWN;
}

enum { SESSION_COLUMNS = 10 };

static void take_session(void *context, const struct cell *cells) {
	struct session_reader *reader = context;
	const struct history_wish *wish = reader->wish;
	struct history_session row = {
		.test = cell_uint(&cells[1]),
		.started = cell_int(&cells[2]),
		.status = status_of(&cells[3]),
		.trusted = cell_uint(&cells[4]) != 0,
		.attempt = (uint32_t)cell_uint(&cells[5]),
		.machine_class = text_of(reader->fleet, &cells[6]),
		.branch = text_of(reader->fleet, &cells[7]),
		.commit = text_of(reader->fleet, &cells[8]),
		.run = text_of(reader->fleet, &cells[9]),
		.values = reader->values,
	};
	if (!cells[0].text || cells[0].size != HISTORY_ID)
		return;
	memcpy(row.id, cells[0].text, HISTORY_ID);
	for (size_t i = 0; i < wish->metric_count; i++) {
		const struct cell *cell = &cells[SESSION_COLUMNS + i];
		reader->values[i] = cell->text ? cell_int(cell) : HISTORY_NONE;
	}
	if (wish->waits)
		row.waits = cells[SESSION_COLUMNS + wish->metric_count].text;
	reader->take(reader->context, &row);
}

// Metrics of the user's own are lists of names and values.
static void add_metric(struct buffer *sql, const char *name) {
	if (history_metric_find(name) >= 0) {
		buffer_printf(sql, ", %s", name);
		return;
	}
	buffer_text(sql, ", if(has(own_names, ");
	sql_text(sql, name, strlen(name));
	buffer_text(sql, "), own_values[indexOf(own_names, ");
	sql_text(sql, name, strlen(name));
	buffer_text(sql, ")], NULL)");
}

static int fleet_sessions(struct history_store *store, const struct history_filter *filter,
			  const struct history_wish *wish,
			  void (*take)(void *context, const struct history_session *row), void *context) {
	static const struct history_wish none;
	struct session_reader reader = {
		.fleet = fleet_of(store), .wish = wish ? wish : &none, .take = take, .context = context};
	struct buffer sql = {0};
	CLEANUP_FREE int64_t *values = memory_resize_items(NULL, reader.wish->metric_count + 1,
							   sizeof(*values));
	reader.values = values;
	buffer_text(&sql, "SELECT session, test, started, status, trusted, attempt, machine_class, branch, "
			  "commit, run");
	for (size_t i = 0; i < reader.wish->metric_count; i++)
		add_metric(&sql, reader.wish->metrics[i]);
	buffer_printf(&sql, "%s FROM sessions FINAL", reader.wish->waits ? ", waits" : "");
	add_common(&sql, filter);
	add_source(&sql, filter);
	add_times(&sql, filter->since, filter->until);
	add_statuses(&sql, filter->statuses);
	buffer_text(&sql, filter->trusted ? " AND trusted" : "");
	buffer_text(&sql, " ORDER BY test, started, session");
	return ask(reader.fleet, &sql, SESSION_COLUMNS + reader.wish->metric_count + reader.wish->waits,
		   take_session, &reader);
}

// ---- tests ----

struct test_reader {
	struct fleet *fleet;
	void (*take)(void *context, const struct history_test *row);
	void *context;
};

static void take_test(void *context, const struct cell *cells) {
	struct test_reader *reader = context;
	struct history_test row = {
		.key = cell_uint(&cells[0]),
		.project = text_of(reader->fleet, &cells[1]),
		.suite = text_of(reader->fleet, &cells[2]),
		.name = text_of(reader->fleet, &cells[3]),
		.first = cell_int(&cells[4]),
		.last = cell_int(&cells[5]),
		.sessions = cell_uint(&cells[6]),
	};
	reader->take(reader->context, &row);
}

static int fleet_tests(struct history_store *store, const struct history_filter *filter,
		       void (*take)(void *context, const struct history_test *row), void *context) {
	struct test_reader reader = {fleet_of(store), take, context};
	struct buffer sql = {0};
	// A session that is there twice has one name: FINAL, which takes most of the time, is for the
	// numbers.
	buffer_printf(&sql, "SELECT test, project, suite, name, %s",
		      filter->names ? "0, 0, 0 FROM sessions"
				    : "min(started), max(started), count() FROM sessions FINAL");
	add_common(&sql, filter);
	buffer_text(&sql, " GROUP BY test, project, suite, name ORDER BY project, suite, name, test");
	return ask(reader.fleet, &sql, 7, take_test, &reader);
}

// ---- runs ----

struct run_reader {
	struct fleet *fleet;
	void (*take)(void *context, const struct history_run *row);
	void *context;
};

static void take_run(void *context, const struct cell *cells) {
	struct run_reader *reader = context;
	struct history_run row = {
		.project = text_of(reader->fleet, &cells[0]),
		.run = text_of(reader->fleet, &cells[1]),
		.started = cell_int(&cells[2]),
		.last = cell_int(&cells[3]),
		.branch = text_of(reader->fleet, &cells[4]),
		.commit = text_of(reader->fleet, &cells[5]),
		.change = text_of(reader->fleet, &cells[6]),
		.ci = text_of(reader->fleet, &cells[7]),
		.sessions = cell_uint(&cells[8]),
		.passed = cell_uint(&cells[9]),
		.failed = cell_uint(&cells[10]),
		.attempts = (uint32_t)MAX(cell_uint(&cells[11]), (uint64_t)1),
		.trusted = cell_uint(&cells[12]) != 0,
	};
	reader->take(reader->context, &row);
}

#define COUNT_PASSED "countIf(status = 'passed')"
#define COUNT_FAILED "countIf(status IN ('failed', 'crashed', 'timed-out'))" // HISTORY_FAILED

// A run is delivered whole, so no condition leaves out some of its sessions.
static int fleet_runs(struct history_store *store, const struct history_filter *filter,
		      void (*take)(void *context, const struct history_run *row), void *context) {
	struct run_reader reader = {fleet_of(store), take, context};
	struct buffer sql = {0};
	buffer_text(&sql, "SELECT project, run, min(started) AS first, max(started), argMin(branch, session) "
			  "AS its_branch, "
			  "argMin(commit, session) AS its_commit, argMin(change, session), argMin(ci, "
			  "session), count(), " COUNT_PASSED ", " COUNT_FAILED
			  ", max(attempt), min(trusted) AS all_trusted FROM sessions FINAL WHERE 1");
	add_equal(&sql, "project", filter->project);
	add_runs(&sql, filter);
	buffer_text(&sql, " GROUP BY project, run HAVING 1");
	add_equal(&sql, "its_branch", filter->branch);
	add_equal(&sql, "its_commit", filter->commit);
	if (filter->since)
		buffer_printf(&sql, " AND first >= %" PRId64, filter->since);
	if (filter->until)
		buffer_printf(&sql, " AND first < %" PRId64, filter->until);
	if (filter->trusted)
		buffer_text(&sql, " AND all_trusted");
	buffer_text(&sql, " ORDER BY first, run, project");
	return ask(reader.fleet, &sql, 13, take_run, &reader);
}

// ---- days ----

#define DAY                "intDiv(started, 86400000)"
#define PASSED_SUM(column) ", sumIf(ifNull(" column ", 0), status = 'passed')"

// Days count whole: those that the filter's times touch.
static void add_days(struct buffer *sql, const struct history_filter *filter) {
	int64_t since = filter->since, until = filter->until;
	add_common(sql, filter);
	add_equal(sql, "branch", filter->branch);
	add_equal(sql, "machine_class", filter->machine_class);
	if (since > 0)
		since = MAX(since / HISTORY_DAY_MS * HISTORY_DAY_MS, (int64_t)1);
	if (until > 0 && until < INT64_MAX - HISTORY_DAY_MS)
		until = (until + HISTORY_DAY_MS - 1) / HISTORY_DAY_MS * HISTORY_DAY_MS;
	add_times(sql, since, until);
	buffer_text(sql, " AND trusted");
}

struct day_reader {
	struct fleet *fleet;
	void (*take)(void *context, const struct history_day *row);
	void *context;
};

static void take_day(void *context, const struct cell *cells) {
	struct day_reader *reader = context;
	struct history_day row = {
		.test = cell_uint(&cells[0]),
		.machine_class = text_of(reader->fleet, &cells[1]),
		.branch = text_of(reader->fleet, &cells[2]),
		.day = cell_int(&cells[3]),
		.sessions = cell_uint(&cells[4]),
		.passed = cell_uint(&cells[5]),
		.failed = cell_uint(&cells[6]),
		.wall_median = cell_int(&cells[7]),
		.wall_sum = cell_int(&cells[8]),
		.cpu_sum = cell_int(&cells[9]),
		.ready_sum = cell_int(&cells[10]),
		.blocked_sum = cell_int(&cells[11]),
		.io_sum = cell_int(&cells[12]),
		.lock_sum = cell_int(&cells[13]),
	};
	reader->take(reader->context, &row);
}

// quantileExact(0.5) is the item [count / 2] of the sorted values.
static int fleet_days(struct history_store *store, const struct history_filter *filter,
		      void (*take)(void *context, const struct history_day *row), void *context) {
	struct day_reader reader = {fleet_of(store), take, context};
	struct buffer sql = {0};
	buffer_text(&sql, "SELECT test, machine_class, branch, " DAY " AS d, count(), " COUNT_PASSED
			  ", " COUNT_FAILED ", if(" COUNT_PASSED " = 0, 0, "
			  "quantileExactIf(0.5)(ifNull(wall_ns, 0), status = 'passed'))" PASSED_SUM("wall_ns")
				  PASSED_SUM("cpu_ns") PASSED_SUM("ready_ns") PASSED_SUM("blocked_ns")
					  PASSED_SUM("io_ns") PASSED_SUM("lock_ns") " FROM sessions FINAL");
	add_days(&sql, filter);
	buffer_printf(&sql,
		      " GROUP BY test, machine_class, branch, d%s ORDER BY test, machine_class, branch, d",
		      filter->failed ? " HAVING " COUNT_FAILED " > 0" : "");
	return ask(reader.fleet, &sql, 14, take_day, &reader);
}

// ---- functions ----

// The profiles of a day come one after the other, and are summed up here: ClickHouse takes eight times as
// long.
struct function_reader {
	struct fleet *fleet;
	struct history_function_day day; // so far; no sessions: none yet
	ARRAY(struct history_function) functions;
	struct map by_name; // address of an interned name to its place above, plus one
	void (*take)(void *context, const struct history_function_day *row);
	void *context;
};

static void deliver_day(struct function_reader *reader) {
	if (!reader->day.sessions)
		return;
	reader->day.functions = reader->functions.items;
	reader->day.function_count = reader->functions.count;
	reader->take(reader->context, &reader->day);
	reader->functions.count = 0;
	map_free(&reader->by_name);
}

static void add_function(struct function_reader *reader, const char *name, uint64_t self) {
	uint64_t *place = map_put(&reader->by_name, (uint64_t)(uintptr_t)name);
	if (!*place) {
		array_push(&reader->functions, (struct history_function){.name = name});
		*place = reader->functions.count;
	}
	reader->functions.items[*place - 1].self += self;
}

// Names on lines of their own, and as many numbers.
static void add_functions(struct function_reader *reader, const struct cell *names,
			  const struct cell *selves) {
	const char *name = names->text, *number = selves->text;
	const char *end = name ? name + names->size : NULL;
	while (name && name < end && number && *number) {
		const char *newline = memchr(name, '\n', (size_t)(end - name));
		struct cell one = {name, (size_t)((newline ? newline : end) - name)};
		char *after;
		uint64_t self = strtoull(number, &after, 10);
		add_function(reader, text_of(reader->fleet, &one), self);
		number = after > number ? after + (*after == ' ') : NULL;
		name = newline ? newline + 1 : end;
	}
}

static void take_profile(void *context, const struct cell *cells) {
	struct function_reader *reader = context;
	struct history_function_day *day = &reader->day;
	struct history_function_day next = {
		.test = cell_uint(&cells[0]),
		.machine_class = text_of(reader->fleet, &cells[1]),
		.branch = text_of(reader->fleet, &cells[2]),
		.day = cell_int(&cells[3]),
	};
	if (next.test != day->test || next.machine_class != day->machine_class ||
	    next.branch != day->branch || next.day != day->day) {
		deliver_day(reader);
		*day = next;
	}
	day->sessions++;
	day->cpu_sum += cell_int(&cells[4]);
	day->samples += cell_uint(&cells[5]);
	add_functions(reader, &cells[6], &cells[7]);
}

static int fleet_functions(struct history_store *store, const struct history_filter *filter,
			   void (*take)(void *context, const struct history_function_day *row),
			   void *context) {
	struct function_reader reader = {.fleet = fleet_of(store), .take = take, .context = context};
	struct buffer sql = {0};
	buffer_text(&sql, "SELECT test, machine_class, branch, " DAY " AS d, cpu_ns, samples, "
			  "arrayStringConcat(functions, '\\n'), "
			  "arrayStringConcat(arrayMap(n -> toString(n), selves), ' ') FROM profiles FINAL");
	add_days(&sql, filter);
	buffer_text(&sql, " AND passed ORDER BY test, machine_class, branch, d");
	int error = ask(reader.fleet, &sql, 8, take_profile, &reader);
	if (!error)
		deliver_day(&reader);
	array_free(&reader.functions);
	map_free(&reader.by_name);
	return error;
}

// ---- totals ----

static void take_totals(void *context, const struct cell *cells) {
	struct history_totals *totals = context;
	totals->sessions = cell_uint(&cells[0]);
	totals->tests = cell_uint(&cells[1]);
	totals->runs = cell_uint(&cells[2]);
}

static void take_odd(void *context, const struct cell *cells) {
	struct history_totals *totals = context;
	totals->conflicts = cell_uint(&cells[0]);
	totals->ignored = cell_uint(&cells[1]);
	totals->broken = cell_uint(&cells[2]);
}

static int fleet_totals(struct history_store *store, struct history_totals *totals) {
	struct buffer sql = {0}, odd = {0};
	*totals = (struct history_totals){0};
	buffer_text(&sql, "SELECT count(), uniqExact(test), uniqExact(project, run) FROM sessions FINAL");
	buffer_text(&odd, "SELECT countIf(kind = 'conflict'), countIf(kind = 'ignored'), "
			  "countIf(kind = 'broken') FROM odd_lines FINAL");
	int error = ask(fleet_of(store), &sql, 3, take_totals, totals);
	if (error)
		buffer_free(&odd);
	return error ? error : ask(fleet_of(store), &odd, 3, take_odd, totals);
}

// ---- opening ----

static void fleet_close(struct history_store *store) {
	struct fleet *fleet = fleet_of(store);
	clickhouse_close(&fleet->server);
	strings_free(fleet->texts);
	free(fleet);
}

int store_open(const char *where, struct history_store **store) {
	static const struct history_operations operations = {
		.sessions = fleet_sessions,
		.tests = fleet_tests,
		.runs = fleet_runs,
		.days = fleet_days,
		.functions = fleet_functions,
		.totals = fleet_totals,
		.close = fleet_close,
	};
	struct fleet *fleet = memory_alloc(sizeof(*fleet));
	if (!clickhouse_open(&fleet->server, where, QUESTIONS_PATIENCE)) {
		free(fleet);
		return -EINVAL;
	}
	fleet->store.operations = &operations;
	fleet->texts = strings_new();
	*store = &fleet->store;
	return 0;
}
