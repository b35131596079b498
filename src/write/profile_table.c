#include "write/profile_table.h"

#include <math.h>
#include <stdlib.h>

struct collector {
	struct function_table *table;
	struct map rows; // name to one more than its row
};

static struct function_row *row_of(struct collector *collector, uint32_t name, uint32_t module) {
	uint64_t *number = map_put(&collector->rows, name);
	if (!*number) {
		array_push(&collector->table->rows, (struct function_row){.name = name, .module = module});
		*number = collector->table->rows.count;
	}
	return &collector->table->rows.items[*number - 1];
}

// Walks the tree and knows for each name how often it is on the way to the root.
struct descent {
	const struct profile *profile;
	struct map open; // name to how many nodes of it are open
	uint32_t node;
};

static uint32_t descent_next(struct descent *descent) {
	const struct profile *profile = descent->profile;
	uint32_t next = profile_node(profile, descent->node)->first_child;
	for (uint32_t at = descent->node; !next && at != PROFILE_ROOT;
	     at = profile_node(profile, at)->parent) {
		--*map_put(&descent->open, profile_node(profile, at)->name);
		next = profile_node(profile, at)->next_sibling;
	}
	descent->node = next;
	if (next)
		++*map_put(&descent->open, profile_node(profile, next)->name);
	return next;
}

static bool is_outermost(const struct descent *descent, uint32_t name) {
	return *map_get(&descent->open, name) == 1;
}

void profile_functions(struct function_table *table, const struct profile *profile) {
	struct collector collector = {.table = table};
	struct descent descent = {.profile = profile};
	for (uint32_t at; (at = descent_next(&descent));) {
		const struct profile_node *node = profile_node(profile, at);
		if (node->kind == PROFILE_TASK)
			continue;
		if (profile->metric && !node->total && !node->base_total)
			continue; // it has something of another metric
		struct function_row *row = row_of(&collector, node->name, node->module);
		row->self += node->self;
		row->base_self += node->base_self;
		if (is_outermost(&descent, node->name)) {
			row->total += node->total;
			row->base_total += node->base_total;
		}
	}
	map_free(&collector.rows);
	map_free(&descent.open);
}

void profile_neighbours(struct function_table *table, const struct profile *profile, uint32_t name,
			bool callers) {
	struct collector collector = {.table = table};
	for (uint32_t i = 1; i < profile->nodes.count; i++) {
		const struct profile_node *node = profile_node(profile, i);
		const struct profile_node *parent = profile_node(profile, node->parent);
		const struct profile_node *inner = callers ? node : parent, *other = callers ? parent : node;
		if (inner->name != name || inner == profile_node(profile, PROFILE_ROOT) ||
		    other == profile_node(profile, PROFILE_ROOT))
			continue;
		struct function_row *row = row_of(&collector, other->name, other->module);
		row->total += node->total;
		row->self += callers ? node->self : 0;
	}
	map_free(&collector.rows);
}

static int by_self(const void *left, const void *right) {
	const struct function_row *a = left, *b = right;
	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	return a->total != b->total ? (a->total < b->total ? 1 : -1)
				    : (a->name > b->name) - (a->name < b->name);
}

static int by_total(const void *left, const void *right) {
	const struct function_row *a = left, *b = right;
	return a->total != b->total ? (a->total < b->total ? 1 : -1) : by_self(left, right);
}

static int by_change(const void *left, const void *right) {
	const struct function_row *a = left, *b = right;
	double change_a = fabs(a->z), change_b = fabs(b->z);
	return change_a != change_b ? (change_a < change_b ? 1 : -1) : by_self(left, right);
}

void function_table_sort(struct function_table *table, enum function_order order) {
	static int (*const orders[])(const void *, const void *) = {
		[ORDER_SELF] = by_self, [ORDER_TOTAL] = by_total, [ORDER_CHANGE] = by_change};
	if (table->rows.count)
		qsort(table->rows.items, table->rows.count, sizeof(struct function_row), orders[order]);
}

void function_table_free(struct function_table *table) {
	array_free(&table->rows);
}

// Heap profiles are counted, not sampled: there is no chance in a change, and it is as large as it is.
static void compare_exactly(struct function_table *table) {
	for (size_t i = 0; i < table->rows.count; i++) {
		struct function_row *row = &table->rows.items[i];
		row->z = (double)row->self - (double)row->base_self;
		if (row->z == 0) // less than any change of its own
			row->z = ((double)row->total - (double)row->base_total) * 1e-20;
	}
}

// Weights are periods; what tells how sure a share is is the number of samples, so
// each weight stands for as many samples as the average of its profile makes of it.
void profile_compare(struct function_table *table, const struct profile *profile) {
	if (profile->metric) {
		compare_exactly(table);
		return;
	}
	double after = (double)profile->samples, before = (double)profile->base_samples;
	for (size_t i = 0; i < table->rows.count; i++) {
		struct function_row *row = &table->rows.items[i];
		row->z = 0;
		if (after < 1 || before < 1)
			continue;
		double share = (double)row->self / (double)profile->weight;
		double base_share = (double)row->base_self / (double)profile->base_weight;
		double common = (share * after + base_share * before) / (after + before);
		double deviation = sqrt(common * (1 - common) * (1 / after + 1 / before));
		row->z = deviation > 0 ? (share - base_share) / deviation : 0;
	}
}
