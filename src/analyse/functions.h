// A profile by functions: the weight of each one alone and with everything it calls.
#pragma once

#include "base/buffer.h"
#include "event/sample_tree.h"

struct function_row {
	uint32_t name, module;
	uint64_t self, total; // a stack counts once in the total, however often the name is in it
	uint64_t base_self, base_total;
	uint64_t self_samples, samples; // the number of samples in `self` and `total`
	double z; // how many standard deviations the change of the share of `self` is; see sample_compare().
		  // Of heap profiles the change itself.
};

struct function_table {
	ARRAY(struct function_row) rows;
};

enum function_order { ORDER_SELF, ORDER_TOTAL, ORDER_CHANGE };

void sample_functions(struct function_table *table, const struct sample_tree *profile);
void function_table_sort(struct function_table *table, enum function_order order);
void function_table_free(struct function_table *table);

// The callers (or callees) of a name, with the weight that passes between them.
void sample_neighbours(struct function_table *table, const struct sample_tree *profile, uint32_t name,
		       bool callers);

// Fills in `z` of all rows: the two shares as those of two samples of one population.
void sample_compare(struct function_table *table, const struct sample_tree *profile);
