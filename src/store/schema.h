// The tables of a fleet's history in ClickHouse. docs/store.md describes them for people.
//
// A session that is pushed twice has the same place in the order of its table, so that ClickHouse keeps one
// of the two (ReplacingMergeTree): the one with the larger `precedence`, which is the one that came first.
// Until it does, both are there, so every question takes the tables as FINAL.
//
// On a cluster each server has the tables `..._local`, and tables with the plain names lead to all of them
// (Distributed). The sessions of a test are on one shard.
#pragma once

#include "store/clickhouse.h"

struct schema_column {
	const char *name, *type;
};

struct schema_table {
	const char *name;
	const struct schema_column *columns;
	size_t count;
	const char *partition; // NULL if it has one only
	const char *order;
	const char *shard; // an expression: which server a row belongs to
};

enum { SCHEMA_LAST_DAY = 47846 }; // 2100-12-31: ClickHouse's dates go no further

enum schema_id {
	SCHEMA_SESSIONS,
	SCHEMA_PROFILES,  // the functions of sampled sessions
	SCHEMA_ARTIFACTS, // which object is what
	SCHEMA_IDS,       // of all sessions, with a hash of their content
	SCHEMA_ODD_LINES, // lines that are no session, and sessions that came again with another content
	SCHEMA_COUNT
};

extern const struct schema_table schema_tables[SCHEMA_COUNT];

char *schema_columns(enum schema_id id); // their names, separated by commas; to be freed

struct schema_plan {
	const char *cluster; // NULL for one server
	bool here;           // of the cluster, only this server: it has no queue for statements (ZooKeeper)
	bool replicated;     // tables that ClickHouse copies between the replicas of a shard
};

// The statements that make the tables, one after the other in `sql`, separated by ";\n".
void schema_statements(const struct schema_plan *plan, const char *database, struct buffer *sql);

// Makes what is missing, also columns that a new version has. 0 or -errno, reported.
int schema_make(struct clickhouse *server, const struct schema_plan *plan);

// Which columns of ours the server does not have; a message for each. The number of them, or -errno.
int schema_check(struct clickhouse *server);

// The cluster of these tables; NULL, or "" on failure, which is reported. To be freed.
char *schema_cluster(struct clickhouse *server);
