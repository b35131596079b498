#include "base/log.h"
#include "cli/verb.h"
#include "session/check_settings.h"
#include "session/choose_profile.h"
#include "session/each.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_JOBS = 1024 };

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
	case 'f':
		options->filter = value;
		return true;
	case 'k':
		options->framework = value;
		return true;
	case 's':
		options->select = value;
		return true;
	case 'u':
		options->junit = value;
		return true;
	default:
		options->list = true;
		return true;
	}
}

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option own[] = {
		{"jobs", required_argument, NULL, 'j'},
		{"filter", required_argument, NULL, 'f'},
		{"framework", required_argument, NULL, 'k'},
		{"select", required_argument, NULL, 's'},
		{"junit", required_argument, NULL, 'u'},
		{"list", no_argument, NULL, 'l'},
		{0},
	};
	struct each_options options = {0};
	struct verb_options more = {own, "j:", take_option, &options};
	struct settings settings;
	int status = verb_settings_and(argc, argv, verb, verb_run_flags, verb_run_flag_count, &more,
				       &settings);
	if (status >= 0)
		return status;
	if (optind == argc) {
		log_error("each needs a test program: tracelet each -- TEST_PROGRAM [ARGUMENTS...]");
		settings_free(&settings);
		return EXIT_USAGE;
	}
	settings.command = argv + optind;
	if (settings_enabled(&settings) && !check_settings(&settings)) {
		settings_free(&settings);
		return EXIT_USAGE;
	}
	bool profiled = !settings_enabled(&settings) || choose_profile(&settings);
	status = profiled ? session_each(&settings, &options) : EXIT_NO_TRACE;
	settings_free(&settings);
	return status;
}

#ifdef _WIN32
#define AT_A_TIME  "one after the other"
#define FRAMEWORKS "GoogleTest, Catch2, doctest,\nRust's or Go's testing"
#define NAMES      "gtest, catch2, catch2-3, doctest, libtest, go, pytest, ctest,\n"
#define USUAL_JOBS "1: each trace is of the whole machine"
#define EXITS      "c000013a if Ctrl-C ended it"
#define EXAMPLE    "--filter \"^Parser\" --junit results.xml -- unit_tests.exe\n"
#else
#define AT_A_TIME  "several at a time"
#define FRAMEWORKS "GoogleTest, Catch2, doctest,\ncmocka, Rust's or Go's testing"
#define NAMES      "gtest, catch2, catch2-3, doctest, cmocka, libtest, go, pytest, ctest,\n"
#define USUAL_JOBS "one for each CPU"
#define EXITS      "128+N if signal N ended it"
#define EXAMPLE    "-j 4 --filter '^Parser' --junit results.xml -- ./unit_tests\n"
#endif

const struct verb verb_each = {
	.name = "each",
	.summary = "run every case of a test program, traced by itself",
	.help = "Usage: tracelet each [OPTIONS] -- TEST_PROGRAM [ARGUMENTS...]\n\n"
		"Finds the cases of a test program and runs each one under 'tracelet run' with its own\n"
		"name, " AT_A_TIME ". What a case prints is shown if it fails; at the end there is a\n"
		"table, the slowest case first. TEST_PROGRAM is one made with " FRAMEWORKS
		", or it is pytest, ctest or 'meson test'. Any other is run\n"
		"whole.\n\n"
		"  -j, --jobs N        cases at the same time (default: " USUAL_JOBS ")\n"
		"  --filter REGEX      only cases whose name has this in it\n"
		"  --list              only list the cases\n"
		"  --junit FILE        the results as JUnit XML, with the artifacts\n"
		"  --framework NAME    " NAMES
		"                      meson or tap, where it is not found out\n"
		"  --select WORDS      what runs one case, '{}' for its name; with --framework tap, whose\n"
		"                      cases are found by running TEST_PROGRAM once\n"
		"  --help              this text\n\n"
		"All options of 'tracelet run' are taken too; --name is put before the names of the cases, "
		"and\n"
		"with -j 1 --verbose all output is shown as it comes.\n\n"
		"Exit status: as the framework's; " EXITS "; 2 bad options.\n\n"
		"Example: tracelet each " EXAMPLE,
	.run = run,
};
