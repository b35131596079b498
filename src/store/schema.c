#include "store/schema.h"
#include "base/array.h"
#include "base/log.h"
#include "format/manifest_status.h"
#include "format/metric_table.h"

#include <errno.h>

// ---- the tables ----

#define METRIC_COLUMN(name, unit, exact) {#name, "Nullable(Int64)"},

// What all tables about sessions begin with. `day` is that of `started`, which is in milliseconds.
#define KEY_COLUMNS                                                                                          \
	{"project", "String"}, {"test", "UInt64"}, {"day", "Date"}, {"started", "Int64"},                    \
		{"session", "FixedString(16)"}, {                                                            \
		"precedence", "UInt64"                                                                       \
	}

// Statuses are words: numbers of ours could change.
static const struct schema_column sessions[] = {
	KEY_COLUMNS,
	{"content", "UInt64"},
	{"parent", "FixedString(16)"},
	{"suite", "String"},
	{"name", "String"},
	{"variant", "String"},
	{"status", "String"},
	{"trusted", "UInt8"},
	{"attempt", "UInt32"},
	{"machine_class", "String"},
	{"branch", "String"},
	{"commit", "String"},
	{"change", "String"},
	{"ci", "String"},
	{"job", "String"},
	{"run", "String"},
	HISTORY_METRIC_TABLE(METRIC_COLUMN) //
	{"own_names", "Array(String)"},
	{"own_values", "Array(Int64)"},
	{"waits", "String"},
	{"digest", "String"},
};

static const struct schema_column profiles[] = {
	KEY_COLUMNS,
	{"passed", "UInt8"},
	{"trusted", "UInt8"},
	{"name", "String"},
	{"machine_class", "String"},
	{"branch", "String"},
	{"commit", "String"},
	{"run", "String"},
	{"status", "String"},
	{"cpu_ns", "Nullable(Int64)"},
	{"samples", "UInt64"},
	{"functions", "Array(String)"},
	{"selves", "Array(UInt64)"},
};

static const struct schema_column artifacts[] = {
	KEY_COLUMNS, {"kind", "String"}, {"file", "String"}, {"size", "UInt64"}, {"sha256", "String"},
};

static const struct schema_column ids[] = {
	{"session", "FixedString(16)"},
	{"day", "Date"},
	{"content", "UInt64"},
	{"precedence", "UInt64"},
};

static const struct schema_column odd_lines[] = {
	{"kind", "String"}, // conflict, ignored, broken
	{"content", "UInt64"},
	{"precedence", "UInt64"},
};

#define TABLE(list) .columns = list, .count = ARRAY_SIZE(list)

const struct schema_table schema_tables[SCHEMA_COUNT] = {
	[SCHEMA_SESSIONS] = {"sessions", TABLE(sessions), .partition = "toYYYYMM(day)",
			     .order = "project, test, started, session", .shard = "test"},
	[SCHEMA_PROFILES] = {"profiles", TABLE(profiles), .partition = "(toYYYYMM(day), passed)",
			     .order = "project, test, started, session", .shard = "test"},
	[SCHEMA_ARTIFACTS] = {"artifacts", TABLE(artifacts), .partition = "toYYYYMM(day)",
			      .order = "project, test, started, session, kind, file", .shard = "test"},
	[SCHEMA_IDS] = {"ids", TABLE(ids), .partition = "toYYYYMM(day)", .order = "session",
			.shard = "cityHash64(session)"},
	[SCHEMA_ODD_LINES] = {"odd_lines", TABLE(odd_lines), .order = "kind, content", .shard = "content"},
};

char *schema_columns(enum schema_id id) {
	struct buffer names = {0};
	for (size_t i = 0; i < schema_tables[id].count; i++)
		buffer_printf(&names, "%s%s", i ? ", " : "", schema_tables[id].columns[i].name);
	buffer_append(&names, "", 1);
	return (char *)names.data;
}

// ---- making them ----

static void add_place(const struct schema_plan *plan, struct buffer *sql) {
	if (plan->cluster && !plan->here)
		buffer_printf(sql, " ON CLUSTER %s", plan->cluster);
}

static void create_table(const struct schema_plan *plan, const char *database,
			 const struct schema_table *table, struct buffer *sql) {
	const char *local = plan->cluster ? "_local" : "";
	buffer_printf(sql, "CREATE TABLE IF NOT EXISTS %s.%s%s", database, table->name, local);
	add_place(plan, sql);
	for (size_t i = 0; i < table->count; i++)
		buffer_printf(sql, "%s%s %s", i ? ", " : " (", table->columns[i].name,
			      table->columns[i].type);
	if (plan->replicated)
		buffer_printf(sql,
			      ") ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/%s/%s', "
			      "'{replica}', precedence)",
			      database, table->name);
	else
		buffer_text(sql, ") ENGINE = ReplacingMergeTree(precedence)");
	if (table->partition)
		buffer_printf(sql, " PARTITION BY %s", table->partition);
	buffer_printf(sql, " ORDER BY (%s)", table->order);
	if (!plan->cluster)
		return;
	buffer_printf(sql, ";\nCREATE TABLE IF NOT EXISTS %s.%s", database, table->name);
	add_place(plan, sql);
	buffer_printf(sql, " AS %s.%s_local ENGINE = Distributed(%s, %s, %s_local, %s)", database,
		      table->name, plan->cluster, database, table->name, table->shard);
}

void schema_statements(const struct schema_plan *plan, const char *database, struct buffer *sql) {
	buffer_printf(sql, "CREATE DATABASE IF NOT EXISTS %s", database);
	add_place(plan, sql);
	for (size_t i = 0; i < SCHEMA_COUNT; i++) {
		buffer_text(sql, ";\n");
		create_table(plan, database, &schema_tables[i], sql);
	}
	buffer_append(sql, "", 1);
	sql->size--;
}

// ---- what is there ----

struct found {
	// TABLE.COLUMN of all tables of the database
	ARRAY(char *) columns;
};

static void take_column(void *context, const struct cell *cells) {
	struct found *found = context;
	array_push(&found->columns, memory_format("%s.%s", cells[0].text ? cells[0].text : "",
						  cells[1].text ? cells[1].text : ""));
}

static int find_columns(struct clickhouse *server, struct found *found) {
	struct buffer sql = {0};
	buffer_text(&sql, "SELECT table, name FROM system.columns WHERE database = ");
	sql_text(&sql, server->place.database, strlen(server->place.database));
	buffer_append(&sql, "", 1);
	struct clickhouse_question question = {
		.sql = (char *)sql.data, .columns = 2, .take = take_column, .context = found};
	int error = clickhouse_ask(server, &question);
	buffer_free(&sql);
	return error;
}

static bool has_column(const struct found *found, const char *table, const char *suffix, const char *column) {
	CLEANUP_FREE char *name = memory_format("%s%s.%s", table, suffix, column);
	for (size_t i = 0; i < found->columns.count; i++)
		if (strcmp(found->columns.items[i], name) == 0)
			return true;
	return false;
}

static void free_found(struct found *found) {
	for (size_t i = 0; i < found->columns.count; i++)
		free(found->columns.items[i]);
	array_free(&found->columns);
}

// A table of an older version lacks columns.
static void add_columns(const struct schema_plan *plan, const char *database, const struct found *found,
			struct buffer *sql) {
	const char *suffixes[] = {"_local", ""};
	for (size_t t = 0; t < SCHEMA_COUNT; t++)
		for (size_t c = 0; c < schema_tables[t].count; c++)
			for (size_t s = plan->cluster ? 0 : 1; s < 2; s++) {
				const struct schema_table *table = &schema_tables[t];
				const struct schema_column *column = &table->columns[c];
				if (has_column(found, table->name, suffixes[s], column->name))
					continue;
				buffer_printf(sql, "%sALTER TABLE %s.%s%s", sql->size ? ";\n" : "", database,
					      table->name, suffixes[s]);
				add_place(plan, sql);
				buffer_printf(sql, " ADD COLUMN %s %s", column->name, column->type);
			}
	buffer_append(sql, "", 1);
	sql->size--;
}

static int do_all(struct clickhouse *server, struct buffer *sql) {
	char *rest = (char *)sql->data, *end;
	for (int error; *rest; rest = end) {
		end = strstr(rest, ";\n");
		if (end) {
			*end = 0;
			end += 2;
		} else {
			end = rest + strlen(rest);
		}
		error = clickhouse_do(server, rest, true);
		if (error) {
			clickhouse_report(server, strstr(rest, " ON CLUSTER ")
							  ? "cannot make the tables on the cluster (--here "
							    "does it on one server)"
							  : "cannot make the tables");
			return error;
		}
	}
	return 0;
}

int schema_make(struct clickhouse *server, const struct schema_plan *plan) {
	struct buffer sql = {0}, more = {0};
	struct found found = {0};
	schema_statements(plan, server->place.database, &sql);
	int error = do_all(server, &sql);
	if (!error) {
		error = find_columns(server, &found);
		if (error)
			clickhouse_report(server, "cannot look at the tables");
	}
	if (!error) {
		add_columns(plan, server->place.database, &found, &more);
		error = do_all(server, &more);
	}
	free_found(&found);
	buffer_free(&sql);
	buffer_free(&more);
	return error;
}

int schema_check(struct clickhouse *server) {
	struct found found = {0};
	int missing = find_columns(server, &found);
	if (missing)
		clickhouse_report(server, "cannot look at the tables");
	for (size_t t = 0; t < SCHEMA_COUNT && missing >= 0; t++)
		for (size_t c = 0; c < schema_tables[t].count; c++)
			if (!has_column(&found, schema_tables[t].name, "",
					schema_tables[t].columns[c].name)) {
				log_error("%s: the table %s has no column %s; 'tracelet store init' makes it",
					  server->where, schema_tables[t].name,
					  schema_tables[t].columns[c].name);
				missing++;
			}
	free_found(&found);
	return missing;
}

static void take_engine(void *context, const struct cell *cells) {
	// Distributed(cluster, 'db', 'sessions_local', test), with or without quotes
	char **cluster = context;
	const char *text = cells[0].text ? cells[0].text : "", *begin = strchr(text, '(');
	if (strncmp(text, "Distributed", strlen("Distributed")) != 0 || !begin)
		return;
	begin += 1 + strspn(begin + 1, " '");
	CLEANUP_FREE char *name = memory_format("%.*s", (int)strcspn(begin, "', "), begin);
	if (store_is_identifier(name) && !*cluster)
		*cluster = memory_string(name);
}

char *schema_cluster(struct clickhouse *server) {
	struct buffer sql = {0};
	char *cluster = NULL;
	buffer_text(&sql, "SELECT engine_full FROM system.tables WHERE name = 'sessions' AND database = ");
	sql_text(&sql, server->place.database, strlen(server->place.database));
	buffer_append(&sql, "", 1);
	struct clickhouse_question question = {
		.sql = (char *)sql.data, .columns = 1, .take = take_engine, .context = &cluster};
	int error = clickhouse_ask(server, &question);
	buffer_free(&sql);
	if (!error)
		return cluster;
	clickhouse_report(server, "cannot look at the tables");
	free(cluster);
	return memory_string("");
}
