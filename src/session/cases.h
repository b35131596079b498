// The cases of a test program. A framework is one line of the table in cases.c: how
// its programs are recognised, how they list their cases, how one case is run and how
// its end is read. The parsers of the lists are in cases_list.c.
#pragma once

#include "base/array.h"
#include "base/buffer.h"
#include "session/words.h"

struct test_case {
	char *name;    // as the framework calls it
	bool disabled; // the framework would not run it
	bool alone;    // not together with others
};

struct cases {
	struct test_case *items;
	size_t count, capacity;
};

struct test_case *cases_add(struct cases *cases, const char *name, size_t length); // NULL: it was not taken
void cases_free(struct cases *cases);

// ---- lists as the frameworks print them ----

// Takes the cases from what a program has printed. False: this is no such list.
typedef bool case_parser(const char *text, size_t size, struct cases *cases);

case_parser cases_from_gtest, cases_from_catch2, cases_from_doctest, cases_from_libtest, cases_from_go,
	cases_from_pytest, cases_from_ctest, cases_from_lines, cases_from_tap;

// `meson test --list` prints "name" or "suite / name", and lines of ninja's. What of it is a test, and
// which of them run alone, tells the text of `meson introspect --tests`.
bool cases_resolve_meson(const char *text, size_t size, struct cases *cases);

// ---- the table ----

enum case_escape { ESCAPE_NOTHING, ESCAPE_CATCH2, ESCAPE_COMMA, ESCAPE_REGEX };

// What a framework's exit status says about several cases.
enum case_status { STATUS_FIXED, STATUS_SUM, STATUS_LARGEST, STATUS_COUNT };

struct framework {
	const char *name;
	const char *const *commands; // programs of these names (and verbs) are of this kind
	const char *const *marks;    // so are those that have one of these texts in them
	const char *const *list;     // arguments that make it list its cases
	bool (*refine)(char **command, struct cases *cases); // asks what the list does not tell
	const char *const *select;                           // arguments to run one; "{}" stands for its name
	const char *const
		*option_values; // options whose next word is a value; the other plain words select cases
	const char *separator;  // between a case's suite and its name
	const char *preload;    // a library that teaches the program to list and select
	const char *skipped;    // printed by a case that was skipped
	const char *missing;    // printed when there is no case of that name
	int skipped_status;     // and its exit status
	case_parser *parse;
	enum case_escape escape;
	enum case_status status;
	int failed_status; // STATUS_FIXED
	bool wrapper;      // it starts the test itself and takes a wrapper: only the test is traced
};

const struct framework *framework_by_name(const char *name);
const struct framework *const *framework_list(void); // ends with NULL

// What kind of test program this is, told by its name and by what is in the file; it is not
// run. NULL: none that we know.
const struct framework *framework_of(char **command);

// Runs the program so that it lists its cases. 0, or -errno, or the positive exit status of a
// program that could not.
int cases_list(const struct framework *framework, char **command, struct cases *cases);

// The command that runs one case of `command`. `select`: the user's own words for it, NULL: the
// framework's.
void case_command(const struct framework *framework, char **command, const char *select, const char *name,
		  struct words *words);

// The exit status of the whole from those of the failed cases, as the framework would exit.
int cases_exit_status(const struct framework *framework, const int *failed, size_t count);
