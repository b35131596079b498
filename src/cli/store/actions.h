// What the words after `tracelet store` do.
#pragma once

#include "base/array.h"
#include "store/gc.h"
#include "store/schema.h"

struct store_request {
	const char *to, *objects, *output, *format;
	double patience;
	size_t batch;
	bool strict, untrusted, again, write, json;
	struct schema_plan plan;
	struct gc gc;
	bool deep;
	ARRAY(const char *) metrics;
};

// `words` are those after the action's name. They return an exit status.
typedef int store_action(struct store_request *request, int count, char **words);
store_action act_push, act_init, act_check, act_gc, act_rebuild, act_sql, act_export;
