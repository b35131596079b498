#include "base/log.h"
#include "cli/verb.h"
#include "session/check_settings.h"
#include "session/choose_profile.h"
#include "suite/each.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_JOBS = 1024 };

enum {
	OPTION_FILTER = LETTERS + 1,
	OPTION_LIST,
	OPTION_JUNIT,
	OPTION_FRAMEWORK,
	OPTION_SELECT,
	OPTION_REPORT,
	OPTION_ONCE,
	OPTION_ALL,
};

#define FRAMEWORK(name, ...) " " name
static const char frameworks[] =
#include "suite/framework_table.h"
	;

static const struct verb_option own_options[] = {
	{"jobs", 'j', "N",
	 "cases to run at the same time (default: " BY_SYSTEM("one for each CPU",
							      "1: each trace covers the whole machine") ")"},
	{"filter", OPTION_FILTER, "REGEX", "run only cases whose name contains this regular expression"},
	{"list", OPTION_LIST, NULL, "only list the cases"},
	{"all", OPTION_ALL, NULL, "list every case in the table, not only failures and the ten slowest"},
	{"once", OPTION_ONCE, NULL, "do not run failed cases again to find out whether they fail alone"},
	{"junit", OPTION_JUNIT, "FILE",
	 "write the results as JUnit XML, with the artifacts as attachments; in a folder ('DIR/'), to a "
	 "file of its own"},
	{"framework", OPTION_FRAMEWORK, "NAME", "the test framework, if it is not recognised:"
#include "suite/framework_table.h"
	 ,
	 frameworks},
	{"select", OPTION_SELECT, "WORDS",
	 "the arguments that run one case, with '{}' for its name, or '{regex}' for a regular expression "
	 "that matches it; for --framework tap, which finds the cases by running TEST_PROGRAM once"},
	{"passed-text", OPTION_REPORT, "TEXT",
	 "what a passed case prints, if the program hides its framework's report; '{}' is its name, '{n}' a "
	 "number greater than 0; an empty TEXT believes the exit status alone"},
	{0},
};

static bool take_option(int option, const char *value, void *context) {
	struct each_options *options = context;
	char *end;
	long jobs;
	switch (option) {
	case 'j':
		jobs = strtol(value, &end, 10);
		options->jobs = (unsigned)jobs;
		if (*value >= '0' && *value <= '9' && !*end && jobs >= 1 && jobs <= MOST_JOBS)
			return true;
		log_error("--jobs: '%s' is not a number from 1 to %d", value, MOST_JOBS);
		return false;
	case OPTION_FILTER:
		options->filter = value;
		return true;
	case OPTION_FRAMEWORK:
		options->framework = value;
		return true;
	case OPTION_SELECT:
		options->select = value;
		return true;
	case OPTION_REPORT:
		options->report = value;
		return true;
	case OPTION_ONCE:
		options->once = true;
		return true;
	case OPTION_ALL:
		options->all = true;
		return true;
	case OPTION_JUNIT:
		options->junit = value;
		return true;
	default:
		options->list = true;
		return true;
	}
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct each_options options = {.here = verb_run_words};
	struct settings settings;
	int status = verb_take_settings(argc, argv, verb, take_option, &options, &settings);
	if (status >= 0)
		return status;
	if (optind == argc) {
		log_error("each needs a test program: tracelet each -- TEST_PROGRAM [ARGUMENTS...]");
		settings_free(&settings);
		return EXIT_USAGE;
	}
	settings.command = argv + optind;
	if (!check_user(&settings) || (settings_enabled(&settings) && !check_settings(&settings))) {
		settings_free(&settings);
		return EXIT_USAGE;
	}
	bool profiled = !settings_enabled(&settings) || choose_profile(&settings);
	status = profiled ? session_each(&settings, &options) : EXIT_NO_TRACE;
	settings_free(&settings);
	return status;
}

const struct verb verb_each = {
	.name = "each",
	.family = FAMILY_RECORD,
	.newcomer = true,
	.ordered = true,
	.as_run = true,
	.options = own_options,
	.summary = "run each case of a test program with its own trace",
	.usage = "tracelet each [OPTIONS] -- TEST_PROGRAM [ARGUMENTS...]",
	.about = "Finds the cases of a test program and runs each one with 'tracelet run' under its own "
		 "name, " BY_SYSTEM(
			 "several at a time",
			 "one after the other") ". The output of a case is shown if it fails; a table at the "
						"end lists failures and the slowest cases. A failed case is "
						"run "
						"once more, alone and without a trace; the table says if it "
						"passes then, but it stays a failure. "
						"TEST_PROGRAM uses one of the frameworks below, or it is "
						"pytest, ctest or 'meson test'. Any other "
						"program is run as a whole.",
	.notes = "--name becomes a prefix of the names of the cases. With -j 1 --verbose all output is shown "
		 "as it "
		 "comes.\n\n"
		 "Exit status: the framework's; " BY_SYSTEM(
			 "128+N if signal N ended it",
			 "c000013a if Ctrl-C ended it") "; 2 bad options.\n\n"
							"Example: tracelet each " BY_SYSTEM(
								"-j 4 --filter '^Parser' --junit results.xml "
								"-- ./unit_tests",
								"--filter \"^Parser\" --junit results.xml -- "
								"unit_tests.exe"),
	.run = run,
};
