// `tracelet store gc`: what is too old, or too much, is deleted.
//
// Rows go by whole months, which ClickHouse drops in an instant: a month goes when all of it is too old. The
// raw lines of such a month go as well, or `rebuild` would bring it back.
#pragma once

#include "store/clickhouse.h"
#include "store/objects.h"

struct gc {
	const char *to;      // NULL for no rows
	const char *objects; // NULL for no objects
	double session_age;  // seconds; 0 to keep them
	double profile_age;  // of passed sessions
	double object_age;
	uint64_t object_size; // bytes of all artifacts; 0 for any
	bool dry_run;
	bool here; // on a cluster: the tables of this server only
	time_t now;
	unsigned patience;
};

struct gc_counts {
	uint64_t months, profile_months; // of rows
	uint64_t objects, object_bytes, pieces;
	uint64_t left, left_bytes; // artifacts
};

// 0 or -errno, reported.
int gc_store(const struct gc *gc, struct gc_counts *counts);
