// The cases of a test program. A framework is one entry of framework_table.h: how its
// programs are recognised, how they list their cases, how one case is run and how its
// end is read. The parsers of the lists are in cases_list.c.
#pragma once

#include "base/array.h"
#include "base/buffer.h"
#include "process/words.h"

struct test_case {
	char *name;    // as the framework calls it
	bool disabled; // the framework would skip it
	bool alone;    // cannot run in parallel with others
};

struct cases {
	struct test_case *items;
	size_t count, capacity;
};

struct test_case *cases_add(struct cases *cases, const char *name,
			    size_t length); // NULL if it was not accepted
void cases_free(struct cases *cases);

// ---- lists as the frameworks print them ----

// Parses the cases from a program's output. False if it is not such a list.
typedef bool case_parser(const char *text, size_t size, struct cases *cases);

#define FRAMEWORK(name, parser, ...) case_parser parser;
#include "suite/framework_table.h"
#undef FRAMEWORK

// One line of TAP about a case.
struct tap_line {
	const char *name;
	size_t length;
	bool ok, skipped, todo;
};

// The next line about a case with a name; false at the end of the text.
bool tap_next(const char **text, const char *end, struct tap_line *line);

// `meson test --list` prints "name" or "suite / name", and lines from ninja. Which of them are tests, and
// which run alone, is in the output of `meson introspect --tests`.
bool cases_resolve_meson(const char *text, size_t size, struct cases *cases);

// ---- the table ----

enum case_escape { ESCAPE_NOTHING, ESCAPE_CATCH2, ESCAPE_COMMA, ESCAPE_REGEX };

// How a framework's exit status summarises several cases.
enum case_status { STATUS_FIXED, STATUS_SUM, STATUS_LARGEST, STATUS_COUNT };

struct framework {
	const char *name;
	const char *const *commands;                         // programs with these names (and verbs) use it
	const char *const *marks;                            // so do programs that contain one of these texts
	const char *const *list;                             // arguments to list the cases
	bool (*refine)(char **command, struct cases *cases); // asks for what the list does not contain
	const char *const *select; // arguments to run one; {} is its name, {suite} and {case} are its parts
	const char *const
		*option_values;     // options whose next word is a value; other plain words select cases
	const char *separator;      // between a case's suite and its name
	const char *preload;        // a library that adds listing and selecting to the program
	const char *const *passed;  // a case that passed has one of these texts in its output, ...
	const char *const *skipped; // ... a skipped case one of these ...
	int skipped_status;         // ... and this exit status, or 0
	const char *verdict; // what stands before the framework's word for a failure, which ends with ")"
	const char *missing; // printed when there is no case of that name
	case_parser *parse;
	enum case_escape escape;
	enum case_status status;
	int failed_status; // STATUS_FIXED
	bool wrapper;      // it starts the test itself and accepts a wrapper: only the test is traced
};

const struct framework *framework_by_name(const char *name);
const struct framework *const *framework_list(void); // ends with NULL

// Recognises a test program by its name and by the content of its file, without running it. NULL if
// unknown.
const struct framework *framework_of(char **command);

// Runs the program to list its cases. 0, -errno, or the positive exit status of a program that failed.
int cases_list(const struct framework *framework, char **command, struct cases *cases);

// The command that runs one case of `command`. `select`: the user's own arguments for it, or NULL for the
// framework's.
void case_command(const struct framework *framework, char **command, const char *select, const char *name,
		  struct words *words);

// The exit status of the whole run, from those of the failed cases, as the framework would exit.
int cases_exit_status(const struct framework *framework, const int *failed, size_t count);
