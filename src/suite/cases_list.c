// Parses what frameworks print when listing their cases. Any program can have written
// this input: lines of any length, bytes of any value; nothing is trusted.
#include "suite/cases.h"
#include "base/json_read.h"
#include "base/system.h"

#include <ctype.h>
#include <limits.h>

enum { MOST_CASES = 1000000 };

struct test_case *cases_add(struct cases *cases, const char *name, size_t length) {
	// A name with a NUL in it could not be passed to the program.
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
	size_t size; // without "\n" or "\r\n"
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
		const char *comment = system_find(line.text, line.size, "  # ", 4);
		struct line word = trimmed(
			(struct line){line.text, comment ? (size_t)(comment - line.text) : line.size});
		if (!begins_with(line, "  ")) {
			// Not a suite: output of main().
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

// Names without blanks, on one or more lines.
bool cases_from_words(const char *text, size_t size, struct cases *cases) {
	struct line line;
	FOR_EACH_LINE(line, text, size)
	for (line = trimmed(line); line.size; line = trimmed(line)) {
		size_t length = 0;
		while (length < line.size && !isspace((unsigned char)line.text[length]))
			length++;
		cases_add(cases, line.text, length);
		line = without_front(line, length);
	}
	return true;
}

// One name per line; one that begins with "#" is quoted.
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

// Node ids up to the first empty line; a parameter may contain anything but a newline.
bool cases_from_pytest(const char *text, size_t size, struct cases *cases) {
	struct line line;
	FOR_EACH_LINE(line, text, size) {
		if (!trimmed(line).size)
			break;
		if (system_find(line.text, line.size, "::", 2))
			cases_add(cases, line.text, line.size);
	}
	return cases->count > 0;
}

// ---- TAP ----

static bool begins_with_any_case(struct line line, const char *word) {
	size_t length = strlen(word);
	for (size_t i = 0; i < length; i++)
		if (i >= line.size || tolower((unsigned char)line.text[i]) != word[i])
			return false;
	return true;
}

// Takes the directive " # skip why" off the line. Any other "#" belongs to the name.
static void take_directive(struct line *line, struct tap_line *found) {
	for (size_t i = 0; i + 1 < line->size; i++) {
		if (line->text[i] != '#' || (i && line->text[i - 1] != ' '))
			continue;
		struct line word = trimmed(without_front(*line, i + 1));
		found->skipped = begins_with_any_case(word, "skip");
		found->todo = begins_with_any_case(word, "todo");
		if (found->skipped || found->todo || begins_with_any_case(word, "time=") ||
		    begins_with_any_case(word, "duration_ms")) {
			line->size = i;
			return;
		}
	}
}

// ok 3 - name # directive
static bool parse_tap(struct line line, struct tap_line *found) {
	*found = (struct tap_line){.ok = !begins_with(line, "not ")};
	if (!found->ok)
		line = without_front(line, 4);
	if (!begins_with(line, "ok") || (line.size > 2 && line.text[2] != ' '))
		return false;
	line = trimmed(without_front(line, 2));
	while (line.size && isdigit((unsigned char)*line.text))
		line = without_front(line, 1);
	line = trimmed(line);
	take_directive(&line, found);
	line = trimmed(begins_with(line, "- ") ? without_front(line, 2) : line);
	found->name = line.text;
	found->length = line.size;
	return line.size;
}

bool tap_next(const char **text, const char *end, struct tap_line *found) {
	struct line line;
	while (next_line(text, end, &line))
		if (parse_tap(line, found))
			return true;
	return false;
}

// An empty plan is a list, too.
bool cases_from_tap(const char *text, size_t size, struct cases *cases) {
	struct tap_line line;
	const char *at = text, *end = text + size;
	while (tap_next(&at, end, &line))
		cases_add(cases, line.name, line.length);
	bool empty = false;
	for (struct line plan; !cases->count && !empty && next_line(&text, end, &plan);)
		empty = begins_with(plan, "1..0") && (plan.size == 4 || plan.text[4] == ' ');
	return cases->count || empty;
}

// ---- JSON ----

// The JSON that begins with `opening`: some programs print other text first.
static struct json_reader find_json(const char *text, size_t size, char opening) {
	const char *begin = memchr(text, opening, size);
	return json_from(begin ? begin : text, begin ? size - (size_t)(begin - text) : 0);
}

// Properties of a test that matter when it runs in parallel with others.
static void judge_ctest_property(const char *name, struct json_reader value, struct test_case *test) {
	if (strcmp(name, "DISABLED") == 0)
		test->disabled = json_read_if_true(&value);
	else if (strcmp(name, "RUN_SERIAL") == 0)
		test->alone |= json_read_if_true(&value);
	// Other processes cannot know which of them holds it.
	else if (strcmp(name, "RESOURCE_LOCK") == 0 || strncmp(name, "FIXTURES_", 9) == 0)
		test->alone = true;
}

static void take_ctest_property(struct json_reader *reader, struct test_case *test) {
	struct json_piece key;
	struct json_reader value = {0};
	char *name = NULL;
	json_enter(reader, '{');
	while (json_member(reader, &key)) {
		if (json_is(&key, "name")) {
			free(name);
			name = json_read_if_text(reader);
			continue;
		}
		if (json_is(&key, "value"))
			value = *reader;
		json_skip(reader);
	}
	if (name && value.at)
		judge_ctest_property(name, value, test);
	free(name);
}

// Enters an array; false if it is another value, which is skipped.
static bool enter_list(struct json_reader *reader) {
	if (json_peek(reader) == '[')
		return json_enter(reader, '[');
	json_skip(reader);
	return false;
}

// The next object of an array.
static bool next_object(struct json_reader *reader) {
	while (json_item(reader)) {
		if (json_peek(reader) == '{')
			return true;
		json_skip(reader);
	}
	return false;
}

static void take_ctest_test(struct json_reader *reader, struct cases *cases) {
	struct json_piece key;
	struct test_case test = {0};
	json_enter(reader, '{');
	while (json_member(reader, &key)) {
		if (json_is(&key, "name")) {
			free(test.name);
			test.name = json_read_if_text(reader);
		} else if (!json_is(&key, "properties")) {
			json_skip(reader);
		} else if (enter_list(reader)) {
			while (next_object(reader))
				take_ctest_property(reader, &test);
		}
	}
	struct test_case *added = test.name && !reader->failed
					  ? cases_add(cases, test.name, strlen(test.name))
					  : NULL;
	if (added) {
		added->disabled = test.disabled;
		added->alone = test.alone;
	}
	free(test.name);
}

bool cases_from_ctest(const char *text, size_t size, struct cases *cases) {
	struct json_reader reader = find_json(text, size, '{');
	struct json_piece key;
	bool tests = false;
	json_enter(&reader, '{');
	while (json_member(&reader, &key)) {
		if (!json_is(&key, "tests")) {
			json_skip(&reader);
		} else if (enter_list(&reader)) {
			tests = true;
			while (next_object(&reader))
				take_ctest_test(&reader, cases);
		}
	}
	return tests && !reader.failed;
}

// ---- meson ----

struct meson_test {
	char *name;
	bool alone;
};

typedef ARRAY(struct meson_test) meson_tests;

static void take_meson_test(struct json_reader *reader, meson_tests *tests) {
	struct json_piece key;
	struct meson_test test = {0};
	json_enter(reader, '{');
	while (json_member(reader, &key)) {
		if (json_is(&key, "name")) {
			free(test.name);
			test.name = json_read_if_text(reader);
		} else if (json_is(&key, "is_parallel") && json_peek(reader) == 'f') {
			test.alone = !json_read_bool(reader);
		} else {
			json_skip(reader);
		}
	}
	if (test.name)
		array_push(tests, test);
}

// Does the line name this test, by its name, or by suite and name?
static bool is_meson_test(const char *line, const char *name) {
	size_t length = strlen(line), size = strlen(name);
	return length >= size && strcmp(line + length - size, name) == 0 &&
	       (length == size || (length >= size + 3 && memcmp(line + length - size - 3, " / ", 3) == 0));
}

// The test of that line with the longest name, or NULL.
static const struct meson_test *find_meson_test(const meson_tests *tests, const char *line) {
	const struct meson_test *best = NULL;
	for (size_t i = 0; i < tests->count; i++) {
		const struct meson_test *test = &tests->items[i];
		if (strlen(test->name) > (best ? strlen(best->name) : 0) && is_meson_test(line, test->name))
			best = test;
	}
	return best;
}

bool cases_resolve_meson(const char *text, size_t size, struct cases *cases) {
	struct json_reader reader = find_json(text, size, '[');
	meson_tests tests = {0};
	size_t kept = 0;
	json_enter(&reader, '[');
	while (next_object(&reader))
		take_meson_test(&reader, &tests);
	for (size_t i = 0; i < cases->count; i++) {
		CLEANUP_FREE char *line = cases->items[i].name;
		const struct meson_test *test = reader.failed ? NULL : find_meson_test(&tests, line);
		if (test) // else it is output of ninja
			cases->items[kept++] = (struct test_case){.name = memory_string(test->name),
								  .alone = test->alone};
	}
	cases->count = kept;
	for (size_t i = 0; i < tests.count; i++)
		free(tests.items[i].name);
	array_free(&tests);
	return !reader.failed;
}
