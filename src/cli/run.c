#include "base/descriptor.h"
#include "base/log.h"
#include "cli/verb.h"
#include "session/check_settings.h"
#include "session/choose_profile.h"
#include "session/run.h"
#include "suite/each.h"
#include "suite/verdict.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// The record is for the user of --json, not for the command.
static void keep_from_command(const char *json) {
#ifndef _WIN32
	int fd = json ? descriptor_named(json) : -1;
	if (fd > STDERR_FILENO)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
#endif
}

// ---- one case of a test program ----

struct judged {
	struct case_rule rule;
	const char *output;
};

static void judge(void *context, int status, struct test_end *end) {
	const struct judged *judged = context;
	struct case_judgement judgement = case_judge(&judged->rule, judged->output, status);
	end->accepted = !judgement.failed;
	if (judgement.by_report)
		snprintf(end->verdict, sizeof(end->verdict), "%s", judgement.words);
}

// ---- the verb ----

static int run_judged(int argc, char **argv, const struct verb *verb, const struct run_judge *judge) {
	struct settings settings;
	int status = verb_take_settings(argc, argv, verb, NULL, NULL, &settings);
	if (status >= 0)
		return status;
	if (optind == argc) {
		log_error("run needs a command: tracelet run -- COMMAND [ARGUMENTS...]");
		settings_free(&settings);
		return EXIT_USAGE;
	}
	settings.command = argv + optind;
	if (!check_user(&settings) || (settings_enabled(&settings) && !check_settings(&settings))) {
		settings_free(&settings);
		return EXIT_USAGE;
	}
	keep_from_command(settings.json);
	bool profiled = !settings_enabled(&settings) || choose_profile(&settings);
	status = profiled ? session_run(&settings, judge) : EXIT_NO_TRACE;
	settings_free(&settings);
	return status;
}

static int run(int argc, char **argv, const struct verb *verb) {
	return run_judged(argc, argv, verb, NULL);
}

int run_case(int argc, char **argv) {
	enum { FRAMEWORK = 1, CASE, OUTPUT, REPORT, REST };
	struct judged judged = {.rule.framework = argc > REST ? framework_by_name(argv[FRAMEWORK]) : NULL};
	if (!judged.rule.framework) {
		log_error(RUN_CASE " is for 'tracelet each' only");
		return EXIT_USAGE;
	}
	judged.rule.name = argv[CASE];
	judged.rule.passed = *argv[REPORT] ? argv[REPORT] + 1 : NULL;
	judged.output = argv[OUTPUT];
	return run_judged(argc - REST, argv + REST, &verb_run, &(struct run_judge){judge, &judged});
}

#define ABOUT                                                                                                \
	BY_SYSTEM(                                                                                           \
		"Runs COMMAND with its own input, output, terminal and exit status, and leaves a Perfetto "  \
		"trace of what the machine did for it.",                                                     \
		"Runs COMMAND with its own input, output, console and exit code, and leaves an .etl file "   \
		"of what the machine did meanwhile, recorded by Windows Performance Recorder (WPR). That "   \
		"needs an elevated prompt; without one COMMAND still runs untraced, with a warning.")

#define NOTES                                                                                                \
	BY_SYSTEM("Each option can also be given as a variable (TRACELET_OUTPUT_DIR) or in tracelet.ini; "   \
		  "'tracelet settings' shows the values in effect.\n\n"                                      \
		  "Exit status: COMMAND's; 128+N if signal N ended it; 4 leaks (--fail-on-leak); 124 timed " \
		  "out; 125 not traced (--strict); 126 not executable; 127 not found; 2 bad options.\n\n"    \
		  "Example: tracelet run --name parser -- ./unit_tests parser",                              \
		  "Each option can also be given as a variable (TRACELET_OUTPUT_DIR) or in tracelet.ini; "   \
		  "'tracelet settings' shows the values in effect. TRACELET_WPR names another wpr.exe.\n\n"  \
		  "Exit status: COMMAND's, all 32 bits; 124 timed out; 125 not traced (--strict); 126 not "  \
		  "executable; 127 not found; 2 bad options.\n\n"                                            \
		  "Example: tracelet run --name parser -- unit_tests.exe parser")

const struct verb verb_run = {
	.name = "run",
	.family = FAMILY_RECORD,
	.newcomer = true,
	.ordered = true,
	.settings = OF_RUN,
	.summary = "run a test and trace exactly that",
	.usage = "tracelet run [OPTIONS] -- COMMAND [ARGUMENTS...]",
	.about = ABOUT,
	.notes = NOTES,
	.run = run,
};
