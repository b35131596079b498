// Extended regular expressions where the C library has none: POSIX, as glibc reads it in the C locale, and
// \w \W \s \S. Back-references and word boundaries are not supported.
//
// An expression is compiled to a program with relative jumps, so that a repeated part can be copied and an
// instruction inserted before it. All paths of the program run at once (Thompson's construction), so the time
// is at most the size of the program times the length of the name.
#include "base/array.h"
#include "suite/name_filter.h"

#include <stdio.h>
#include <string.h>

enum {
	MOST_INSTRUCTIONS = 1 << 15,
	DEEPEST_GROUP = 200,
	MOST_REPEATED = 32767, // RE_DUP_MAX
	UNLIMITED = -1,
};

enum operation {
	OP_SET,   // consumes a byte that is in set number `first`
	OP_SPLIT, // continues at both
	OP_JUMP,  // continues at `first`
	OP_BEGIN, // continues at the start of the name
	OP_END,   // continues at its end
	OP_MATCH,
};

struct instruction {
	enum operation operation;
	int first, second; // distances from here
};

struct byte_set {
	uint64_t bits[4];
};

struct name_filter {
	ARRAY(struct instruction) program;
	ARRAY(struct byte_set) sets;
};

struct parser {
	struct name_filter *filter;
	const unsigned char *at; // NUL-terminated
	unsigned depth;
	const char *error; // NULL if none so far
};

static void fail(struct parser *parser, const char *error) {
	if (!parser->error)
		parser->error = error;
}

// ---- sets of bytes ----

static void set_add(struct byte_set *set, unsigned char byte) {
	set->bits[byte / 64] |= 1ull << byte % 64;
}

static bool set_has(const struct byte_set *set, unsigned char byte) {
	return set->bits[byte / 64] >> byte % 64 & 1;
}

static void set_add_range(struct byte_set *set, unsigned first, unsigned last) {
	for (unsigned byte = first; byte <= last; byte++)
		set_add(set, (unsigned char)byte);
}

static void set_invert(struct byte_set *set) {
	for (size_t i = 0; i < ARRAY_SIZE(set->bits); i++)
		set->bits[i] = ~set->bits[i];
}

// Pairs of first and last, as in the C locale.
static const struct {
	const char *name, *ranges;
} classes[] = {
	{"alnum", "09AZaz"},   {"alpha", "AZaz"},   {"blank", "\t\t  "}, {"cntrl", "\001\037\177\177"},
	{"digit", "09"},       {"graph", "!~"},     {"lower", "az"},     {"print", " ~"},
	{"punct", "!/:@[`{~"}, {"space", "\t\r  "}, {"upper", "AZ"},     {"xdigit", "09AFaf"},
};

static bool set_add_class(struct byte_set *set, const char *name, size_t length) {
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		if (strlen(classes[i].name) != length || memcmp(classes[i].name, name, length) != 0)
			continue;
		for (const char *range = classes[i].ranges; *range; range += 2)
			set_add_range(set, (unsigned char)range[0], (unsigned char)range[1]);
		return true;
	}
	return false;
}

// ---- the program ----

static size_t position(const struct parser *parser) {
	return parser->filter->program.count;
}

static bool has_room(struct parser *parser, size_t more) {
	if (more > MOST_INSTRUCTIONS || position(parser) + more > MOST_INSTRUCTIONS)
		fail(parser, "it is too large");
	return !parser->error;
}

static void emit(struct parser *parser, struct instruction instruction) {
	if (has_room(parser, 1))
		array_push(&parser->filter->program, instruction);
}

// Inserts before what begins at `place`.
static void insert(struct parser *parser, size_t place, struct instruction instruction) {
	emit(parser, instruction);
	if (parser->error)
		return;
	struct instruction *items = parser->filter->program.items;
	memmove(items + place + 1, items + place, (position(parser) - 1 - place) * sizeof(*items));
	items[place] = instruction;
}

static void emit_set(struct parser *parser, const struct byte_set *set) {
	emit(parser, (struct instruction){OP_SET, (int)parser->filter->sets.count, 0});
	if (!parser->error)
		array_push(&parser->filter->sets, *set);
}

static void emit_byte(struct parser *parser, unsigned char byte) {
	struct byte_set set = {0};
	set_add(&set, byte);
	emit_set(parser, &set);
}

// ---- bracket expressions ----

// Inside [: :], [. .] or [= =]: reads the name and leaves `at` after it.
static const char *bracket_name(struct parser *parser, size_t *length) {
	unsigned char delimiter = parser->at[1];
	const unsigned char *name = parser->at + 2, *end = name;
	while (*end && !(end[0] == delimiter && end[1] == ']'))
		end++;
	if (!*end) {
		fail(parser, "[ without ]");
		return NULL;
	}
	*length = (size_t)(end - name);
	parser->at = end + 2;
	return (const char *)name;
}

// One byte, which may begin or end a range, or -1 after a class, which was added. A hyphen that is neither
// the first nor the last stands for itself only if `hyphen` allows it.
static int bracket_element(struct parser *parser, struct byte_set *set, bool hyphen) {
	const unsigned char *at = parser->at;
	size_t length = 0;
	if (at[0] == '[' && (at[1] == ':' || at[1] == '=' || at[1] == '.')) {
		const char *name = bracket_name(parser, &length);
		if (!name)
			return -1;
		if (at[1] == ':' ? !set_add_class(set, name, length) : length != 1)
			fail(parser, at[1] == ':' ? "no such character class" : "no such collating element");
		else if (at[1] == '=')
			set_add(set, (unsigned char)*name);
		return at[1] == '.' && !parser->error ? (unsigned char)*name : -1;
	}
	if (!*at)
		fail(parser, "[ without ]");
	else if (*at == '-' && !hyphen && at[1] != ']')
		fail(parser, at[1] ? "invalid range in []" : "[ without ]");
	if (parser->error)
		return -1;
	return *parser->at++;
}

static void bracket_item(struct parser *parser, struct byte_set *set, bool first) {
	int from = bracket_element(parser, set, first);
	if (from < 0 || parser->error)
		return;
	if (parser->at[0] != '-' || parser->at[1] == ']') {
		set_add(set, (unsigned char)from);
		return;
	}
	parser->at++;
	int to = bracket_element(parser, set, true);
	if (to < from)
		fail(parser, "invalid range in []");
	else
		set_add_range(set, (unsigned)from, (unsigned)to);
}

static void parse_bracket(struct parser *parser) {
	struct byte_set set = {0};
	bool inverted = *++parser->at == '^';
	parser->at += inverted;
	bool first = true;
	do {
		bracket_item(parser, &set, first);
		first = false;
	} while (!parser->error && *parser->at && *parser->at != ']');
	if (!*parser->at)
		fail(parser, "[ without ]");
	if (parser->error)
		return;
	parser->at++;
	if (inverted)
		set_invert(&set);
	emit_set(parser, &set);
}

// ---- atoms ----

static void emit_class(struct parser *parser, const char *name, bool with_underscore, bool inverted) {
	struct byte_set set = {0};
	set_add_class(&set, name, strlen(name));
	if (with_underscore)
		set_add(&set, '_');
	if (inverted)
		set_invert(&set);
	emit_set(parser, &set);
}

static void parse_escape(struct parser *parser) {
	unsigned char letter = *++parser->at;
	parser->at += letter != 0;
	if (!letter)
		fail(parser, "it ends with a backslash");
	else if (letter >= '1' && letter <= '9')
		fail(parser, "back-references are not supported");
	else if (strchr("bB<>`'", letter))
		fail(parser, "word boundaries are not supported");
	else if (letter == 'w' || letter == 'W')
		emit_class(parser, "alnum", true, letter == 'W');
	else if (letter == 's' || letter == 'S')
		emit_class(parser, "space", false, letter == 'S');
	else
		emit_byte(parser, letter);
}

static void parse_alternatives(struct parser *parser);

static void parse_group(struct parser *parser) {
	parser->at++;
	if (++parser->depth > DEEPEST_GROUP)
		fail(parser, "groups are nested too deeply");
	if (!parser->error)
		parse_alternatives(parser);
	parser->depth--;
	if (*parser->at == ')')
		parser->at++;
	else
		fail(parser, "( without )");
}

static void parse_any(struct parser *parser) {
	struct byte_set all = {0};
	parser->at++;
	set_invert(&all);
	emit_set(parser, &all);
}

// False if it was an anchor, which cannot be repeated.
static bool parse_atom(struct parser *parser) {
	switch (*parser->at) {
	case '^':
	case '$':
		emit(parser, (struct instruction){*parser->at++ == '^' ? OP_BEGIN : OP_END, 1, 0});
		return false;
	case '*':
	case '+':
	case '?':
	case '{':
		fail(parser, "nothing to repeat");
		break;
	case '(':
		parse_group(parser);
		break;
	case '[':
		parse_bracket(parser);
		break;
	case '.':
		parse_any(parser);
		break;
	case '\\':
		parse_escape(parser);
		break;
	default:
		emit_byte(parser, *parser->at++);
	}
	return true;
}

// ---- repetition ----

// Reads digits; UNLIMITED if there are none.
static int parse_number(struct parser *parser) {
	int number = UNLIMITED;
	for (; *parser->at >= '0' && *parser->at <= '9'; parser->at++)
		number = MIN((number < 0 ? 0 : number) * 10 + (*parser->at - '0'), MOST_REPEATED + 1);
	return number;
}

static void parse_interval(struct parser *parser, int *least, int *most) {
	parser->at++;
	*least = *most = parse_number(parser);
	bool comma = *parser->at == ',';
	if (comma) {
		parser->at++;
		*most = parse_number(parser);
	}
	if (*parser->at != '}' || (*least < 0 && !comma) || (*most >= 0 && *least > *most) ||
	    MAX(*least, *most) > MOST_REPEATED)
		fail(parser, "invalid repeat count in {}");
	else
		parser->at++;
	*least = MAX(*least, 0);
}

// The part that begins at `place` becomes `least` to `most` copies of itself.
static void repeat(struct parser *parser, size_t place, int least, int most) {
	size_t size = position(parser) - place;
	size_t copies = (size_t)MAX(MAX(least, most), 1);
	if (!has_room(parser, copies * (size + 1) + 2))
		return;
	array_reserve(&parser->filter->program, position(parser) + copies * (size + 1) + 2);
	struct instruction *part = memory_resize_items(NULL, size + 1, sizeof(*part));
	memcpy(part, parser->filter->program.items + place, size * sizeof(*part));
	parser->filter->program.count = place;
	int length = (int)size;
	for (int i = 0; i < MAX(least, most); i++) {
		if (i >= least)
			emit(parser, (struct instruction){OP_SPLIT, 1, length + 1});
		for (size_t j = 0; j < size; j++)
			emit(parser, part[j]);
	}
	if (most == UNLIMITED && least > 0) {
		emit(parser, (struct instruction){OP_SPLIT, -length, 1});
	} else if (most == UNLIMITED) {
		emit(parser, (struct instruction){OP_SPLIT, 1, length + 2});
		for (size_t j = 0; j < size; j++)
			emit(parser, part[j]);
		emit(parser, (struct instruction){OP_JUMP, -(length + 1), 0});
	}
	free(part);
}

static void parse_repetitions(struct parser *parser, size_t place) {
	static const struct {
		int least, most;
	} simple[] = {['*'] = {0, UNLIMITED}, ['+'] = {1, UNLIMITED}, ['?'] = {0, 1}};
	while (!parser->error && *parser->at && strchr("*+?{", *parser->at)) {
		int least, most;
		if (*parser->at == '{') {
			parse_interval(parser, &least, &most);
		} else {
			least = simple[*parser->at].least;
			most = simple[*parser->at++].most;
		}
		if (!parser->error)
			repeat(parser, place, least, most);
	}
}

// ---- sequences and alternatives ----

// An unmatched ) stands for itself.
static bool branch_ends(const struct parser *parser) {
	return parser->error || !*parser->at || *parser->at == '|' || (*parser->at == ')' && parser->depth);
}

static void parse_branch(struct parser *parser) {
	while (!branch_ends(parser)) {
		size_t place = position(parser);
		if (parse_atom(parser))
			parse_repetitions(parser, place);
	}
}

static void parse_alternatives(struct parser *parser) {
	size_t place = position(parser);
	parse_branch(parser);
	while (!parser->error && *parser->at == '|') {
		parser->at++;
		insert(parser, place, (struct instruction){OP_SPLIT, 1, (int)(position(parser) - place) + 2});
		size_t jump = position(parser);
		emit(parser, (struct instruction){OP_JUMP, 0, 0});
		parse_branch(parser);
		if (!parser->error)
			parser->filter->program.items[jump].first = (int)(position(parser) - jump);
	}
}

struct name_filter *name_filter_new(const char *expression, char why[NAME_FILTER_WHY_SIZE]) {
	struct name_filter *filter = memory_alloc(sizeof(*filter));
	struct parser parser = {.filter = filter, .at = (const unsigned char *)expression};
	parse_alternatives(&parser);
	emit(&parser, (struct instruction){OP_MATCH, 0, 0});
	if (!parser.error)
		return filter;
	snprintf(why, NAME_FILTER_WHY_SIZE, "%s", parser.error);
	name_filter_free(filter);
	return NULL;
}

void name_filter_free(struct name_filter *filter) {
	array_free(&filter->program);
	array_free(&filter->sets);
	free(filter);
}

// ---- matching ----

// The program positions of all paths, each once.
struct places {
	uint32_t *list;
	size_t count;
};

struct match {
	const struct name_filter *filter;
	uint32_t *seen; // per instruction, the last step that reached it
	uint32_t *stack;
	struct places now, next;
	uint32_t step;
	bool at_begin, at_end;
};

// Adds `place` and everything reachable from there without consuming a byte. True if that includes
// the end.
static bool reach(struct match *match, struct places *places, uint32_t place) {
	size_t waiting = 0;
	match->stack[waiting++] = place;
	while (waiting) {
		uint32_t at = match->stack[--waiting];
		if (match->seen[at] == match->step)
			continue;
		match->seen[at] = match->step;
		const struct instruction *instruction = &match->filter->program.items[at];
		switch (instruction->operation) {
		case OP_MATCH:
			return true;
		case OP_SET:
			places->list[places->count++] = at;
			break;
		case OP_SPLIT:
			match->stack[waiting++] = (uint32_t)((int)at + instruction->second);
			match->stack[waiting++] = (uint32_t)((int)at + instruction->first);
			break;
		case OP_BEGIN:
		case OP_END:
			if (!(instruction->operation == OP_BEGIN ? match->at_begin : match->at_end))
				break;
			// fall through
		case OP_JUMP:
			match->stack[waiting++] = (uint32_t)((int)at + instruction->first);
		}
	}
	return false;
}

// One step per position in the name: the paths that are alive, plus one that starts there.
static bool search(struct match *match, const char *name) {
	for (const char *at = name;; at++) {
		struct places here = match->now;
		match->now = match->next;
		match->now.count = 0;
		match->next = here;
		match->step++;
		match->at_begin = at == name;
		match->at_end = !*at;
		for (size_t i = 0; i < here.count && at > name; i++) {
			uint32_t place = here.list[i];
			const struct instruction *instruction = &match->filter->program.items[place];
			const struct byte_set *set = &match->filter->sets.items[instruction->first];
			if (set_has(set, (unsigned char)at[-1]) && reach(match, &match->now, place + 1))
				return true;
		}
		if (reach(match, &match->now, 0))
			return true;
		if (!*at)
			return false;
	}
}

bool name_filter_fits(const struct name_filter *filter, const char *name) {
	size_t size = filter->program.count;
	// Each instruction pushes at most two others, once per step.
	uint32_t *memory = memory_alloc((5 * size + 1) * sizeof(*memory));
	struct match match = {.filter = filter,
			      .seen = memory,
			      .stack = memory + 3 * size,
			      .now = {memory + size, 0},
			      .next = {memory + 2 * size, 0}};
	bool fits = search(&match, name);
	free(memory);
	return fits;
}
