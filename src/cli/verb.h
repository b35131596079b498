// A verb of the command line: one file each, listed in main.c. A verb describes itself; its
// parsing (options.c), its help (help.c), its completion and its options in the manual all come
// from that description and from the table of settings.
#pragma once

#include "settings/table.h"

#include <getopt.h>
#include <stdio.h>

// Our own exit statuses (a traced test's status takes precedence).
enum {
	EXIT_FOUND = 1,        // what was searched for (a defect, a difference) exists
	EXIT_USAGE = 2,        // bad options, or input that cannot be read
	EXIT_GUEST_FAILED = 3, // the test's virtual machine failed, not the test
	EXIT_NO_TRACE = 125,   // --strict: tracing was not possible
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

// In the order of the help, the manual and the list in README.md.
enum family {
	FAMILY_RECORD,
	FAMILY_UNDERSTAND,
	FAMILY_RESULTS,
	FAMILY_MACHINES,
	FAMILY_SET_UP,
	FAMILY_COUNT
};

// An option of one verb, in addition to the settings. A list of them ends with zeros.
struct verb_option {
	const char *name;
	int value;           // passed to `take`; a letter is also the short option, others are above LETTERS
	const char *metavar; // of its value; NULL if it takes none
	const char *help;    // one sentence, or a few; NULL if accepted but not shown
	const char
		*choices; // words that the completion offers, separated by blanks; NULL to go by the metavar
};

enum { LETTERS = 255 };

struct verb {
	const char *name;
	enum family family;
	bool newcomer;                            // shown first by `tracelet --help`
	bool ordered;                             // options end at the first word that is not one
	bool as_run;                              // also takes all options of 'run'
	unsigned settings;                        // which settings are options: enum setting_verbs
	const struct verb_option *options;        // its own; NULL if none
	const struct verb_option *sample_options; // those shared by all verbs about samples, or NULL
	const char *summary;                      // one line in the list of verbs
	const char *usage;                        // lines without "Usage:"
	const char *about;                        // paragraphs before the options
	const char *notes;                        // and after them: exit status, example
	int (*run)(int argc, char **argv, const struct verb *verb); // argv[0] is the verb
};

extern const struct verb verb_run;
int run_case(int argc, char **argv); // RUN_CASE; argv[0] is that word
extern const struct verb verb_each;
extern const struct verb verb_run_test;
extern const struct verb verb_start;
extern const struct verb verb_stop;
extern const struct verb verb_cancel;
extern const struct verb verb_status;
extern const struct verb verb_current;
extern const struct verb verb_snapshot;
extern const struct verb verb_heap;
extern const struct verb verb_stat;
extern const struct verb verb_mark;
extern const struct verb verb_convert;
extern const struct verb verb_fold;
extern const struct verb verb_flame;
extern const struct verb verb_top;
extern const struct verb verb_diff;
extern const struct verb verb_info;
extern const struct verb verb_dump;
extern const struct verb verb_table;
extern const struct verb verb_why;
extern const struct verb verb_history;
extern const struct verb verb_report;
extern const struct verb verb_view;
extern const struct verb verb_artifact;
extern const struct verb verb_vm;
extern const struct verb verb_check;
extern const struct verb verb_junit;
extern const struct verb verb_profile;
extern const struct verb verb_settings_show;
extern const struct verb verb_init;
extern const struct verb verb_doctor;
extern const struct verb verb_guest;
extern const struct verb verb_agent;
extern const struct verb verb_collector;
extern const struct verb verb_store;

// `tracelet WORDS...` with the program's name first (main.c). Returns the exit status.
int verb_run_words(int argc, char **argv);

// ---- parsing (options.c) ----

// Handles one of the verb's own options. False if it is bad, after an error message.
typedef bool verb_taker(int option, const char *value, void *context);

// Parses the verb's options. Returns an exit status to end with, or -1 to continue: the other words
// begin at getopt's optind.
int verb_take(int argc, char **argv, const struct verb *verb, verb_taker *take, void *context);

// The same for a verb with settings, which come from files, the environment and options. If it returns an
// exit status, there are no settings to free.
int verb_take_settings(int argc, char **argv, const struct verb *verb, verb_taker *take, void *context,
		       struct settings *settings);

bool verb_has_setting(const struct verb *verb, enum setting_id id);

// ---- help (help.c) ----

int verb_print_help(const struct verb *verb); // on stdout; returns 0
int verb_bad_usage(const struct verb *verb);  // after getopt's own line; returns EXIT_USAGE
void verb_print_json(struct buffer *line);    // and frees it

// `tracelet help WORDS...` and `tracelet --help`, with the table of verbs. Returns an exit status.
int help_about(const struct verb *const *verbs, size_t count, char **words);
void help_print(const struct verb *const *verbs, size_t count, FILE *out);
