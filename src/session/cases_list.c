// What frameworks print when asked for their cases. All of it is input that any program
// can have written: lines of any length, bytes of any value, nothing trusted.
#include "session/cases.h"
#include "base/memory.h"

#include <ctype.h>
#include <json-c/json.h>
#include <limits.h>

enum { MOST_CASES = 1000000 };

struct test_case *cases_add(struct cases *cases, const char *name, size_t length) {
	// A name with a NUL in it could not be given back to the program.
	if (!length || cases->count >= MOST_CASES || memchr(name, 0, length))
		return NULL;
	char *copy = memory_format("%.*s", (int)MIN(length, (size_t)INT_MAX), name);
	array_push(cases, (struct test_case){.name = copy});
	return &cases->items[cases->count - 1];
}

void cases_free(struct cases *cases) {
	for (size_t i = 0; i < cases->count; i++)
		free(cases->items[i].name);
	array_free(cases);
}

// ---- lines ----

struct line {
	const char *text;
	size_t size; // without its end, "\n" or "\r\n"
};

// The next line of *text; false at its end.
static bool next_line(const char **text, const char *end, struct line *line) {
	if (*text >= end)
		return false;
	const char *newline = memchr(*text, '\n', (size_t)(end - *text));
	line->text = *text;
	line->size = (size_t)((newline ? newline : end) - *text);
	*text = newline ? newline + 1 : end;
	if (line->size && line->text[line->size - 1] == '\r')
		line->size--;
	return true;
}

static bool begins_with(struct line line, const char *word) {
	size_t length = strlen(word);
	return line.size >= length && memcmp(line.text, word, length) == 0;
}

static bool ends_with(struct line line, const char *word) {
	size_t length = strlen(word);
	return line.size >= length && memcmp(line.text + line.size - length, word, length) == 0;
}

static struct line trimmed(struct line line) {
	while (line.size && isspace((unsigned char)*line.text)) {
		line.text++;
		line.size--;
	}
	while (line.size && isspace((unsigned char)line.text[line.size - 1]))
		line.size--;
	return line;
}

static struct line without_front(struct line line, size_t count) {
	count = MIN(count, line.size);
	return (struct line){line.text + count, line.size - count};
}

#define FOR_EACH_LINE(line, text, size)                                                                      \
	for (const char *line_at = (text), *line_end = (text) + (size);                                      \
	     next_line(&line_at, line_end, &(line));)

// ---- one function for each format ----

// Suite.
//   Case
//   Case/0  # GetParam() = 1
bool cases_from_gtest(const char *text, size_t size, struct cases *cases) {
	struct line line, suite = {0};
	FOR_EACH_LINE(line, text, size) {
		const char *comment = memmem(line.text, line.size, "  # ", 4);
		struct line word = trimmed(
			(struct line){line.text, comment ? (size_t)(comment - line.text) : line.size});
		if (!begins_with(line, "  ")) {
			// Not a suite: what main() has to say.
			suite = ends_with(word, ".") ? word : (struct line){0};
			continue;
		}
		if (!suite.size || !word.size)
			continue;
		CLEANUP_FREE char *name = memory_format("%.*s%.*s", (int)suite.size, suite.text,
							(int)word.size, word.text);
		struct test_case *added = cases_add(cases, name, strlen(name));
		if (added)
			added->disabled = begins_with(word, "DISABLED_") || begins_with(suite, "DISABLED_") ||
					  strstr(name, "/DISABLED_");
	}
	return true;
}

bool cases_from_lines(const char *text, size_t size, struct cases *cases) {
	struct line line;
	FOR_EACH_LINE(line, text, size) {
		line = trimmed(line);
		cases_add(cases, line.text, line.size);
	}
	return true;
}

// A name in each line; one that begins with "#" is quoted.
bool cases_from_catch2(const char *text, size_t size, struct cases *cases) {
	struct line line;
	FOR_EACH_LINE(line, text, size) {
		line = trimmed(line);
		if (line.size > 2 && begins_with(line, "\"#") && ends_with(line, "\"")) {
			line = without_front(line, 1);
			line.size--;
		}
		cases_add(cases, line.text, line.size);
	}
	return true;
}

// The names are between two lines of "=".
bool cases_from_doctest(const char *text, size_t size, struct cases *cases) {
	struct line line;
	unsigned rules = 0;
	FOR_EACH_LINE(line, text, size) {
		if (begins_with(line, "=========="))
			rules++;
		else if (rules == 1)
			cases_add(cases, line.text, line.size);
	}
	return rules == 2;
}

// path::name: test
bool cases_from_libtest(const char *text, size_t size, struct cases *cases) {
	static const char kind[] = ": test";
	struct line line;
	FOR_EACH_LINE(line, text, size)
	if (ends_with(line, kind))
		cases_add(cases, line.text, line.size - (sizeof(kind) - 1));
	return true;
}

// Benchmarks are listed too, but not run unless asked for.
bool cases_from_go(const char *text, size_t size, struct cases *cases) {
	static const char *const kinds[] = {"Test", "Example", "Fuzz"};
	struct line line;
	FOR_EACH_LINE(line, text, size)
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (begins_with(line, kinds[i]) && !memchr(line.text, ' ', line.size))
			cases_add(cases, line.text, line.size);
	return true;
}

// Node ids up to the first empty line; a parameter may hold anything but a line's end.
bool cases_from_pytest(const char *text, size_t size, struct cases *cases) {
	struct line line;
	FOR_EACH_LINE(line, text, size) {
		if (!trimmed(line).size)
			break;
		if (memmem(line.text, line.size, "::", 2))
			cases_add(cases, line.text, line.size);
	}
	return cases->count > 0;
}

// ok 3 - name # directive
bool cases_from_tap(const char *text, size_t size, struct cases *cases) {
	struct line line;
	FOR_EACH_LINE(line, text, size) {
		if (begins_with(line, "not "))
			line = without_front(line, 4);
		if (!begins_with(line, "ok") || (line.size > 2 && line.text[2] != ' '))
			continue;
		line = trimmed(without_front(line, 2));
		while (line.size && isdigit((unsigned char)*line.text))
			line = without_front(line, 1);
		line = trimmed(line);
		const char *directive = memchr(line.text, '#', line.size);
		if (directive)
			line.size = (size_t)(directive - line.text);
		line = trimmed(begins_with(line, "- ") ? without_front(line, 2) : line);
		cases_add(cases, line.text, line.size);
	}
	return cases->count > 0;
}

// ---- JSON ----

static struct json_object *member(struct json_object *object, const char *name, enum json_type type) {
	struct json_object *value = NULL;
	if (!json_object_is_type(object, json_type_object) ||
	    !json_object_object_get_ex(object, name, &value))
		return NULL;
	return json_object_is_type(value, type) ? value : NULL;
}

// What of a test's properties matters to who runs it beside others.
static void take_ctest_properties(struct json_object *properties, struct test_case *test) {
	for (size_t i = 0; properties && i < json_object_array_length(properties); i++) {
		struct json_object *property = json_object_array_get_idx(properties, i), *value = NULL;
		struct json_object *name = member(property, "name", json_type_string);
		if (!name || !json_object_object_get_ex(property, "value", &value))
			continue;
		const char *word = json_object_get_string(name);
		if (strcmp(word, "DISABLED") == 0)
			test->disabled = json_object_get_boolean(value);
		else if (strcmp(word, "RUN_SERIAL") == 0)
			test->alone |= json_object_get_boolean(value);
		// Who holds it is not known to the other processes.
		else if (strcmp(word, "RESOURCE_LOCK") == 0 || strncmp(word, "FIXTURES_", 9) == 0)
			test->alone = true;
	}
}

// The JSON that begins with `opening`: some programs say something else first.
static struct json_object *parse_json(const char *text, size_t size, char opening) {
	const char *begin = memchr(text, opening, size);
	size_t left = begin ? size - (size_t)(begin - text) : 0;
	if (!left || left >= INT_MAX)
		return NULL;
	struct json_tokener *tokener = json_tokener_new_ex(64);
	struct json_object *root = json_tokener_parse_ex(tokener, begin, (int)left);
	json_tokener_free(tokener);
	return root;
}

bool cases_from_ctest(const char *text, size_t size, struct cases *cases) {
	struct json_object *root = parse_json(text, size, '{');
	struct json_object *tests = root ? member(root, "tests", json_type_array) : NULL;
	for (size_t i = 0; tests && i < json_object_array_length(tests); i++) {
		struct json_object *test = json_object_array_get_idx(tests, i);
		struct json_object *name = member(test, "name", json_type_string);
		struct test_case *added = name ? cases_add(cases, json_object_get_string(name),
							   (size_t)json_object_get_string_len(name))
					       : NULL;
		if (added)
			take_ctest_properties(member(test, "properties", json_type_array), added);
	}
	json_object_put(root);
	return tests;
}

// Whether the line is that test: its name, or its suite and its name.
static bool is_meson_test(const char *line, const char *name) {
	size_t length = strlen(line), size = strlen(name);
	return length >= size && strcmp(line + length - size, name) == 0 &&
	       (length == size || (length >= size + 3 && memcmp(line + length - size - 3, " / ", 3) == 0));
}

// The test of that line with the longest name, or NULL.
static struct json_object *find_meson_test(struct json_object *tests, const char *line) {
	struct json_object *best = NULL;
	int longest = 0;
	for (size_t i = 0; i < json_object_array_length(tests); i++) {
		struct json_object *test = json_object_array_get_idx(tests, i);
		struct json_object *name = member(test, "name", json_type_string);
		if (name && json_object_get_string_len(name) > longest &&
		    is_meson_test(line, json_object_get_string(name))) {
			best = test;
			longest = json_object_get_string_len(name);
		}
	}
	return best;
}

bool cases_resolve_meson(const char *text, size_t size, struct cases *cases) {
	struct json_object *root = parse_json(text, size, '[');
	bool array = json_object_is_type(root, json_type_array);
	size_t kept = 0;
	for (size_t i = 0; i < cases->count; i++) {
		CLEANUP_FREE char *line = cases->items[i].name;
		struct json_object *test = array ? find_meson_test(root, line) : NULL;
		if (!test)
			continue; // what ninja says
		struct json_object *parallel = member(test, "is_parallel", json_type_boolean);
		cases->items[kept++] = (struct test_case){
			.name = memory_string(json_object_get_string(member(test, "name", json_type_string))),
			.alone = parallel && !json_object_get_boolean(parallel),
		};
	}
	cases->count = kept;
	json_object_put(root);
	return array;
}
