// A verb of the command line: one file each, listed in main.c.
#pragma once

#include "session/settings.h"

// Exit statuses of our own (a traced test's own status comes before these).
enum {
	EXIT_FOUND = 1,        // the thing looked for (a defect, a difference) is there
	EXIT_USAGE = 2,        // bad options or input that cannot be read
	EXIT_GUEST_FAILED = 3, // the test's virtual machine did, not the test
	EXIT_NO_TRACE = 125,   // --strict: tracing was not possible
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

struct verb {
	const char *name;
	const char *summary;                                        // one line in the list of verbs
	const char *help;                                           // the whole of --help
	int (*run)(int argc, char **argv, const struct verb *verb); // argv[0] is the verb
};

extern const struct verb verb_run;
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
extern const struct verb verb_artifact;
extern const struct verb verb_vm;
extern const struct verb verb_check;
extern const struct verb verb_junit;
extern const struct verb verb_profile;
extern const struct verb verb_settings_show;
extern const struct verb verb_doctor;
extern const struct verb verb_guest;
extern const struct verb verb_agent;

int verb_print_help(const struct verb *verb); // on stdout; returns 0
int verb_bad_usage(const struct verb *verb);  // after getopt's own line; returns EXIT_USAGE

// Settings from files, environment and the flags in `flags`; what is left of argv
// begins at getopt's optind, and options end at the first word that is none.
// Returns an exit status to end with (there are no settings then), or -1 to go on.
int verb_settings(int argc, char **argv, const struct verb *verb, const enum setting_id *flags, size_t count,
		  struct settings *settings);

// The settings that are flags of 'run', and of what runs it.
extern const enum setting_id verb_run_flags[];
extern const size_t verb_run_flag_count;

// Options of a verb's own, beside the settings.
struct verb_options {
	const struct option *options; // ends with zeros; their val is below SETTING_FLAG
	const char *short_options;    // as for getopt(), NULL: none
	bool (*take)(int option, const char *value, void *context); // false: bad, as was said
	void *context;
};
int verb_settings_and(int argc, char **argv, const struct verb *verb, const enum setting_id *flags,
		      size_t count, const struct verb_options *own, struct settings *settings);
