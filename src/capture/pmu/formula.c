// Recursive descent with a depth limit; the result is a flat list of steps.
#include "capture/pmu/formula.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEEPEST = 32, MOST_STEPS = 1000, LONGEST_NAME = 128, STACK_SIZE = 4 * DEEPEST + 8 };

struct parser {
	const char *at;
	struct formula *formula;
	char *why;
	unsigned depth;
	bool failed;
};

static void fail(struct parser *parser, const char *what) {
	if (!parser->failed) {
		if (*parser->at)
			snprintf(parser->why, FORMULA_WHY_SIZE, "%s at '%.40s'", what, parser->at);
		else
			snprintf(parser->why, FORMULA_WHY_SIZE, "%s at the end", what);
	}
	parser->failed = true;
}

static void add_step(struct parser *parser, struct formula_step step) {
	if (parser->formula->steps.count >= MOST_STEPS)
		fail(parser, "too long");
	if (parser->failed)
		free(step.name);
	else
		array_push(&parser->formula->steps, step);
}

static void add_operation(struct parser *parser, enum formula_operation operation) {
	add_step(parser, (struct formula_step){.operation = operation});
}

static void skip_spaces(struct parser *parser) {
	while (isspace((unsigned char)*parser->at))
		parser->at++;
}

static bool take(struct parser *parser, char wanted) {
	skip_spaces(parser);
	if (*parser->at != wanted)
		return false;
	parser->at++;
	return true;
}

static bool is_word(char letter) {
	return isalnum((unsigned char)letter) || letter == '_' || letter == '.' || letter == ':';
}

static size_t name_length(const char *text) {
	size_t length = 0;
	while (is_word(text[length]) || (text[length] == '-' && length && is_word(text[length + 1])))
		length++;
	return length;
}

static void parse_sum(struct parser *parser);

static void parse_call(struct parser *parser, enum formula_operation operation) {
	parse_sum(parser);
	if (!take(parser, ','))
		fail(parser, "missing ','");
	parse_sum(parser);
	if (!take(parser, ')'))
		fail(parser, "missing ')'");
	add_operation(parser, operation);
}

static void parse_name(struct parser *parser) {
	const char *begin = parser->at;
	size_t length = name_length(begin);
	if (length > LONGEST_NAME) {
		fail(parser, "name too long");
		return;
	}
	parser->at += length;
	bool call = take(parser, '(');
	if (call && length == 3 && memcmp(begin, "min", 3) == 0)
		parse_call(parser, FORMULA_MIN);
	else if (call && length == 3 && memcmp(begin, "max", 3) == 0)
		parse_call(parser, FORMULA_MAX);
	else if (call)
		fail(parser, "only min and max take arguments,");
	else
		add_step(parser, (struct formula_step){.operation = FORMULA_NAME,
						       .name = memory_format("%.*s", (int)length, begin)});
}

static void parse_number(struct parser *parser) {
	char *end;
	double number = strtod(parser->at, &end);
	if (end == parser->at || is_word(*end)) {
		fail(parser, "expected a number");
		return;
	}
	parser->at = end;
	add_step(parser, (struct formula_step){.operation = FORMULA_NUMBER, .number = number});
}

static void parse_factor(struct parser *parser) {
	bool negative = false;
	if (++parser->depth > DEEPEST)
		fail(parser, "too deep");
	while (!parser->failed && take(parser, '-'))
		negative = !negative;
	skip_spaces(parser);
	if (parser->failed) {
		// as was said
	} else if (take(parser, '(')) {
		parse_sum(parser);
		if (!take(parser, ')'))
			fail(parser, "missing ')'");
	} else if (isdigit((unsigned char)*parser->at) || *parser->at == '.') {
		parse_number(parser);
	} else if (isalpha((unsigned char)*parser->at) || *parser->at == '_') {
		parse_name(parser);
	} else {
		fail(parser, "expected a number or a name");
	}
	if (negative)
		add_operation(parser, FORMULA_NEGATE);
	parser->depth--;
}

static void parse_product(struct parser *parser) {
	parse_factor(parser);
	while (!parser->failed) {
		enum formula_operation operation = take(parser, '*')   ? FORMULA_MULTIPLY
						   : take(parser, '/') ? FORMULA_DIVIDE
								       : FORMULA_NUMBER;
		if (operation == FORMULA_NUMBER)
			break;
		parse_factor(parser);
		add_operation(parser, operation);
	}
}

static void parse_sum(struct parser *parser) {
	parse_product(parser);
	while (!parser->failed) {
		enum formula_operation operation = take(parser, '+')   ? FORMULA_ADD
						   : take(parser, '-') ? FORMULA_SUBTRACT
								       : FORMULA_NUMBER;
		if (operation == FORMULA_NUMBER)
			break;
		parse_product(parser);
		add_operation(parser, operation);
	}
}

static enum formula_comparison parse_comparison(struct parser *parser) {
	static const struct {
		const char *sign;
		enum formula_comparison comparison;
	} signs[] = {{"<=", COMPARE_LESS_EQUAL}, {">=", COMPARE_GREATER_EQUAL}, {"==", COMPARE_EQUAL},
		     {"!=", COMPARE_NOT_EQUAL},  {"<", COMPARE_LESS},           {">", COMPARE_GREATER}};
	skip_spaces(parser);
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if (strncmp(parser->at, signs[i].sign, strlen(signs[i].sign)) == 0) {
			parser->at += strlen(signs[i].sign);
			return signs[i].comparison;
		}
	return COMPARE_NOTHING;
}

int formula_parse(struct formula *formula, const char *text, char why[FORMULA_WHY_SIZE]) {
	*formula = (struct formula){0};
	struct parser parser = {.at = text, .formula = formula, .why = why};
	parse_sum(&parser);
	if (!parser.failed) {
		formula->comparison = parse_comparison(&parser);
		formula->right = formula->steps.count;
		if (formula->comparison)
			parse_sum(&parser);
	}
	skip_spaces(&parser);
	if (*parser.at)
		fail(&parser, "syntax error");
	if (!parser.failed)
		return 0;
	formula_free(formula);
	return -EINVAL;
}

void formula_free(struct formula *formula) {
	for (size_t i = 0; i < formula->steps.count; i++)
		free(formula->steps.items[i].name);
	array_free(&formula->steps);
}

static double calculate(enum formula_operation operation, double left, double right) {
	switch (operation) {
	case FORMULA_ADD:
		return left + right;
	case FORMULA_SUBTRACT:
		return left - right;
	case FORMULA_MULTIPLY:
		return left * right;
	case FORMULA_DIVIDE:
		return right == 0 ? (double)NAN : left / right;
	case FORMULA_MIN:
	case FORMULA_MAX:
		// Not fmin(): an unknown value must stay unknown.
		if (isnan(left) || isnan(right))
			return (double)NAN;
		return (left < right) == (operation == FORMULA_MIN) ? left : right;
	default:
		return (double)NAN;
	}
}

static double steps_value(const struct formula_step *steps, size_t count, formula_lookup *lookup,
			  void *context) {
	double stack[STACK_SIZE];
	size_t depth = 0;
	for (size_t i = 0; i < count; i++) {
		const struct formula_step *step = &steps[i];
		if (step->operation == FORMULA_NUMBER || step->operation == FORMULA_NAME) {
			if (depth == STACK_SIZE)
				return (double)NAN;
			stack[depth++] = step->name ? lookup(step->name, context) : step->number;
		} else if (step->operation == FORMULA_NEGATE) {
			stack[depth - 1] = -stack[depth - 1];
		} else {
			depth--;
			stack[depth - 1] = calculate(step->operation, stack[depth - 1], stack[depth]);
		}
	}
	return depth == 1 ? stack[0] : (double)NAN;
}

double formula_value(const struct formula *formula, formula_lookup *lookup, void *context) {
	return steps_value(formula->steps.items, formula->right, lookup, context);
}

bool formula_holds(const struct formula *formula, formula_lookup *lookup, void *context, double *left,
		   double *right) {
	*left = formula_value(formula, lookup, context);
	*right = steps_value(formula->steps.items + formula->right, formula->steps.count - formula->right,
			     lookup, context);
	if (isnan(*left) || isnan(*right))
		return false;
	switch (formula->comparison) {
	case COMPARE_LESS:
		return *left < *right;
	case COMPARE_LESS_EQUAL:
		return *left <= *right;
	case COMPARE_GREATER:
		return *left > *right;
	case COMPARE_GREATER_EQUAL:
		return *left >= *right;
	case COMPARE_EQUAL:
		return *left == *right;
	case COMPARE_NOT_EQUAL:
		return *left != *right;
	default:
		return false;
	}
}
