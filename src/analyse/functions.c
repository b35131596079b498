#include "analyse/functions.h"
#include "analyse/wait_reason.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

// Walks the tree and counts for each name how often it is on the path to the root.
struct descent {
	const struct sample_tree *profile;
	struct map open; // name to how many nodes of it are open
	uint32_t node;
};

static uint32_t descent_next(struct descent *descent) {
	const struct sample_tree *profile = descent->profile;
	uint32_t next = sample_node(profile, descent->node)->first_child;
	for (uint32_t at = descent->node; !next && at != SAMPLE_ROOT; at = sample_node(profile, at)->parent) {
		--*map_put(&descent->open, sample_node(profile, at)->name);
		next = sample_node(profile, at)->next_sibling;
	}
	descent->node = next;
	if (next)
		++*map_put(&descent->open, sample_node(profile, next)->name);
	return next;
}

static bool is_outermost(const struct descent *descent, uint32_t name) {
	return *map_get(&descent->open, name) == 1;
}

static bool is_scheduler(const struct sample_tree *profile, const struct sample_node *node) {
	return node->kind == FRAME_KERNEL &&
	       function_is_scheduler(strings_get(profile->tables->strings, node->name));
}

// Every wait ends in the scheduler: its functions count as the one that called them.
static const struct sample_node *waiting_function(const struct sample_tree *profile,
						  const struct sample_node *node) {
	const struct sample_node *at = node;
	while (is_scheduler(profile, at))
		at = sample_node(profile, at->parent);
	return at->kind == SAMPLE_TASK || at == sample_node(profile, SAMPLE_ROOT) ? node : at;
}

void sample_functions(struct function_table *table, const struct sample_tree *profile) {
	struct collector collector = {.table = table};
	struct descent descent = {.profile = profile};
	bool waits = strcmp(sample_tree_event_name(profile), EVENT_OFF_CPU) == 0;
	for (uint32_t at; (at = descent_next(&descent));) {
		const struct sample_node *node = sample_node(profile, at);
		if (node->kind == SAMPLE_TASK)
			continue;
		if (profile->metric && !node->total && !node->base_total)
			continue; // it has only another metric
		const struct sample_node *shown = waits ? waiting_function(profile, node) : node;
		struct function_row *row = row_of(&collector, shown->name, shown->module);
		row->self += node->self;
		row->base_self += node->base_self;
		row->self_samples += node->self_samples;
		if (shown == node && is_outermost(&descent, node->name)) {
			row->total += node->total;
			row->base_total += node->base_total;
			row->samples += node->samples;
		}
	}
	map_free(&collector.rows);
	map_free(&descent.open);
}

void sample_neighbours(struct function_table *table, const struct sample_tree *profile, uint32_t name,
		       bool callers) {
	struct collector collector = {.table = table};
	for (uint32_t i = 1; i < profile->nodes.count; i++) {
		const struct sample_node *node = sample_node(profile, i);
		const struct sample_node *parent = sample_node(profile, node->parent);
		const struct sample_node *inner = callers ? node : parent, *other = callers ? parent : node;
		if (inner->name != name || inner == sample_node(profile, SAMPLE_ROOT) ||
		    other == sample_node(profile, SAMPLE_ROOT))
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

// Heap profiles are counted, not sampled: a change is exact, not subject to chance.
static void compare_exactly(struct function_table *table) {
	for (size_t i = 0; i < table->rows.count; i++) {
		struct function_row *row = &table->rows.items[i];
		row->z = (double)row->self - (double)row->base_self;
		if (row->z == 0) // less than any change of its own
			row->z = ((double)row->total - (double)row->base_total) * 1e-20;
	}
}

// Weights are periods, but the confidence in a share depends on the number of samples. So each weight is
// divided by the average weight of a sample in its profile.
void sample_compare(struct function_table *table, const struct sample_tree *profile) {
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
