// `tracelet store rebuild`: the rows of a store, made again from the raw lines among the objects.
#pragma once

#include "store/batch.h"

struct rebuild {
	const char *to, *objects;
	unsigned patience; // seconds
};

// 0 or -errno, reported.
int rebuild_store(const struct rebuild *rebuild, struct batch_counts *counts);
