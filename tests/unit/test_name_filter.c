// Compares the regular expressions in tracelet.exe with those of the C library here: both accept
// the same expressions, and they match the same names.
#include "unit.h"

#include "base/buffer.h"
#include "suite/name_filter.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>

// None with a line feed: after one, glibc 2.36 lets ^ match in some expressions without being asked
// to.
static const char *const names[] = {
	"",
	"a",
	"b",
	"ab",
	"ba",
	"aab",
	"abab",
	"aaa",
	"ac",
	"abc",
	"a.b",
	"a|b",
	"a{2}",
	"(a)",
	"a)",
	"]",
	"-",
	"a-b",
	"A_1",
	"0",
	"12",
	"\\",
	"a b",

	"^",
	"$",
	"Parser.Deep/3",
	"Parser.Wide",
	"\xc3\xa4",
	"caab",
};

// Whether ours rejects it as unsupported or too large.
static bool is_beyond(const char *why) {
	return strstr(why, "not known here") || strstr(why, "too ");
}

static void compare_names(const char *expression, const struct name_filter *ours, const regex_t *theirs) {
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		bool expected = regexec(theirs, names[i], 0, NULL, 0) == 0;
		if (name_filter_fits(ours, names[i]) != expected)
			fail_msg("/%s/ should %sfit '%s'", expression, expected ? "" : "not ", names[i]);
	}
}

// Returns whether both accepted it.
static bool compare(const char *expression) {
	char why[NAME_FILTER_WHY_SIZE] = "";
	regex_t theirs;
	struct name_filter *ours = name_filter_new(expression, why);
	int error = regcomp(&theirs, expression, REG_EXTENDED | REG_NOSUB);
	if (!ours && is_beyond(why)) {
		if (!error)
			regfree(&theirs);
		return false;
	}
	if (!ours != (error != 0))
		fail_msg("/%s/ should be %s%s%s", expression, error ? "refused" : "taken", *why ? ": " : "",
			 why);
	if (error)
		return false;
	compare_names(expression, ours, &theirs);
	name_filter_free(ours);
	regfree(&theirs);
	return true;
}

static const char *const what_people_write[] = {
	"",
	"Deep",
	"^Parser\\.(Deep|Skips)$",
	"Meet\\.(Left|Right)$",
	"a*",
	"a+b",
	"ab?",
	"(ab)+",
	"a{2}",
	"a{2,}",
	"a{,2}",
	"a{1,2}b",
	"a{0}b",
	"(a|b){2,3}c",
	"[abc]+",
	"[^abc]",
	"[]a]",
	"[^]a]",
	"[a-]",
	"[-a]",
	"[a-c]",
	"[+--]",
	"[[:alpha:]_]+[[:digit:]]",
	"[[:space:]]",
	"[[.-.]]",
	"[[=a=]b]",
	"[\\]",
	"a|b|",
	"(|a)b",
	"()",
	"()*",
	"(a*)*",
	"(a*)+$",
	"a**",
	"a+?",
	"a)",
	"a|)",
	"x^",
	"a$b",
	"(^a)|b$",
	"^$",
	"\\.",
	"\\{2}",
	"a\\|b",
	".",
	"^.$",
	"\\w+",
	"\\W",
	"\\s",
	"\\S+/",
	"(((((a)))))",
	"[[:punct:]]",
	"}",
	"a}",
	"a{1}{2}",
	"(a{2}){0,1}b",
};

static void test_what_people_write_is_taken(void **state) {
	for (size_t i = 0; i < ARRAY_SIZE(what_people_write); i++)
		if (!compare(what_people_write[i]))
			fail_msg("/%s/ is refused", what_people_write[i]);
}

static void test_what_makes_no_sense_is_refused(void **state) {
	static const char *const expressions[] = {
		"(",         "a(",
		"(a",        "*",
		"+a",        "a|*b",
		"(*a)",      "^*",
		"{1}",       "a{",
		"a{1",       "a{x}",
		"a{}",       "a{2,1}",
		"a{1,2,3}",  "a{40000}",
		"[",         "[a",
		"[]",        "[^]",
		"[[:nix:]]", "[[:alpha:",
		"[b-a]",     "[a-c-e]",
		"[[.ab.]]",  "[a-[:alpha:]]",
		"\\",        "a\\",
	};
	for (size_t i = 0; i < ARRAY_SIZE(expressions); i++) {
		char why[NAME_FILTER_WHY_SIZE] = "";
		assert_false(compare(expressions[i]));
		assert_null(name_filter_new(expressions[i], why));
		assert_true(strlen(why) > 5);
	}
}

static void test_what_is_not_known_is_said(void **state) {
	char why[NAME_FILTER_WHY_SIZE];
	assert_null(name_filter_new("(a)\\1", why));
	assert_string_equal(why, "back-references are not supported");
	assert_null(name_filter_new("\\bword", why));
	assert_string_equal(why, "word boundaries are not supported");
	assert_null(name_filter_new("((a{100}){100}){100}", why));
	assert_string_equal(why, "it is too large");
	struct buffer deep = {0};
	for (int i = 0; i < 100000; i++)
		buffer_text(&deep, "(");
	buffer_append(&deep, "", 1);
	assert_null(name_filter_new((char *)deep.data, why));
	assert_string_equal(why, "groups are nested too deeply");
	buffer_free(&deep);
}

// A backtracking matcher would take years.
static void test_hard_expressions_take_no_longer(void **state) {
	char why[NAME_FILTER_WHY_SIZE], name[2001];
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	static const char *const expressions[] = {"^(a|a)*b$", "(a*)*(a*)*(a*)*b", "^(a?){500}a{500}b",
						  "(((a+)+)+)+b"};
	for (size_t i = 0; i < ARRAY_SIZE(expressions); i++) {
		struct name_filter *filter = name_filter_new(expressions[i], why);
		assert_non_null(filter);
		assert_false(name_filter_fits(filter, name));
		name_filter_free(filter);
	}
}

// The same numbers in every run.
static uint32_t random_number(uint64_t *state) {
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

static void test_random_expressions_are_read_alike(void **state) {
	static const char *const pieces[] = {
		"a",    "b",   "c",   ".",   "*",           "+",  "?",     "|",  "(",  ")",
		"[",    "]",   "^",   "$",   "{",           "}",  ",",     "0",  "1",  "2",
		"-",    "[a",  "b]",  "a-c", "[[:alpha:]]", "[^", "{1,2}", "(a", "b)", "(a|b)",
		"[ab]", "{2}", "\\.", "\\w", "[:digit:]",   "ab", "_"};
	uint64_t seed = 1;
	unsigned taken = 0;
	for (int i = 0; i < 30000; i++) {
		struct buffer text = {0};
		for (uint32_t left = 1 + random_number(&seed) % 9; left; left--)
			buffer_text(&text, pieces[random_number(&seed) % ARRAY_SIZE(pieces)]);
		buffer_append(&text, "", 1);
		taken += compare((char *)text.data);
		buffer_free(&text);
	}
	assert_in_range(taken, 5000, 30000);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_people_write_is_taken),
		cmocka_unit_test(test_what_makes_no_sense_is_refused),
		cmocka_unit_test(test_what_is_not_known_is_said),
		cmocka_unit_test(test_hard_expressions_take_no_longer),
		cmocka_unit_test(test_random_expressions_are_read_alike),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
