// `tracelet store check`: is everything there that a store needs, and is what it holds whole?
#pragma once

#include "store/clickhouse.h"
#include "store/objects.h"

struct store_check {
	const char *to;
	const char *objects; // NULL for rows only
	bool deep;           // reads every object and compares its SHA-256
	unsigned patience;
};

// Prints what it finds. The number of defects, or -errno, reported.
int check_store(const struct store_check *check);
