// Formulas of metrics and assertions: numbers, names, + - * / ( ), min(a, b), max(a, b), and
// one comparison around all of it. A name may have "-" in it (branch-misses), so a minus
// between names has spaces around it.
#pragma once

#include "base/array.h"

enum formula_operation {
	FORMULA_NUMBER,
	FORMULA_NAME,
	FORMULA_ADD,
	FORMULA_SUBTRACT,
	FORMULA_MULTIPLY,
	FORMULA_DIVIDE,
	FORMULA_NEGATE,
	FORMULA_MIN,
	FORMULA_MAX,
};

enum formula_comparison {
	COMPARE_NOTHING,
	COMPARE_LESS,
	COMPARE_LESS_EQUAL,
	COMPARE_GREATER,
	COMPARE_GREATER_EQUAL,
	COMPARE_EQUAL,
	COMPARE_NOT_EQUAL,
};

struct formula_step {
	enum formula_operation operation;
	double number;
	char *name;
};

// Steps in postfix order; those of the comparison's right side begin at `right`.
struct formula {
	ARRAY(struct formula_step) steps;
	enum formula_comparison comparison;
	size_t right;
};

enum { FORMULA_WHY_SIZE = 128 };

// Returns 0, or -EINVAL with the reason. A formula that failed need not be freed.
int formula_parse(struct formula *formula, const char *text, char why[FORMULA_WHY_SIZE]);
void formula_free(struct formula *formula);

// The value of a name; NAN if unknown.
typedef double formula_lookup(const char *name, void *context);

// The value; for a comparison, that of its left side. NAN if a name is unknown, or for a division
// by zero.
double formula_value(const struct formula *formula, formula_lookup *lookup, void *context);

// Whether the comparison holds; false if a side is NAN.
bool formula_holds(const struct formula *formula, formula_lookup *lookup, void *context, double *left,
		   double *right);
