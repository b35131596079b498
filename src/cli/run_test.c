// The positional form for scripts that have it already: an output folder, a time limit, the
// test. It is `tracelet run` with other manners, and becomes that.
#include "base/log.h"
#include "base/system.h"
#include "cli/verb.h"
#include "session/words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct options {
	bool trace;
	const char *trace_dir;
};

static bool take_option(int option, const char *value, void *context) {
	struct options *options = context;
	if (option == 't')
		options->trace = true;
	else
		options->trace_dir = value;
	return true;
}

// A test is named as its program, without the extension.
static char *test_name(const char *command) {
	const char *base = system_base_name(command);
	const char *dot = strrchr(base, '.');
	return memory_format("%.*s", dot && dot > base ? (int)(dot - base) : (int)strlen(base), base);
}

static void add_flags(const struct settings *settings, struct words *words) {
	struct buffer value = {0};
	for (size_t id = 0; id < SETTING_COUNT; id++) {
		if (settings->origins[id] != FROM_FLAG)
			continue;
		value.size = 0;
		setting_value(settings, id, &value);
		words_add(words, "--%s=%.*s", setting_name(id), (int)value.size, (char *)value.data);
	}
	buffer_free(&value);
}

static bool is_seconds(const char *text) {
	return *text && strspn(text, "0123456789.") == strlen(text);
}

static int become_run(struct words *words) {
#ifdef _WIN32
	// Windows cannot replace a process; getopt begins anew.
	optind = 0;
	return verb_run.run((int)words->count - 1, words->items + 1, &verb_run);
#else
	execv("/proc/self/exe", words->items);
	log_error("cannot start 'tracelet run': %s", strerror(errno));
	return EXIT_NOT_EXECUTABLE;
#endif
}

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option own[] = {
		{"trace", no_argument, NULL, 't'}, {"trace-dir", required_argument, NULL, 'd'}, {0}};
	struct options options = {0};
	struct verb_options more = {own, NULL, take_option, &options};
	struct settings settings;
	int status = verb_settings_and(argc, argv, verb, verb_run_flags, verb_run_flag_count, &more,
				       &settings);
	if (status >= 0)
		return status;
	if (argc - optind < 3) {
		log_error("run-test needs a folder, a time limit and a command");
		return verb_bad_usage(verb);
	}
	const char *folder = argv[optind], *limit = argv[optind + 1];
	char **command = argv + optind + 2;
	if (!is_seconds(limit)) {
		log_error("run-test: '%s' is not a time limit in seconds (0: none)", limit);
		return EXIT_USAGE;
	}
	struct words words = {0};
	CLEANUP_FREE char *name = test_name(command[0]);
	words_add(&words, "tracelet");
	words_add(&words, "run");
	words_add(&words, "--enabled=%s", options.trace ? "yes" : "no");
	words_add(&words, "--output-dir=%s", options.trace_dir ? options.trace_dir : folder);
	words_add(&words, "--name=%s", name);
	if (strspn(limit, "0.") != strlen(limit))
		words_add(&words, "--timeout=%s", limit);
	add_flags(&settings, &words);
	words_add(&words, "--");
	words_add_all(&words, command);
	return become_run(&words);
}

const struct verb verb_run_test = {
	.name = "run-test",
	.summary = "run a test with a time limit; positional, for scripts",
	.help = "Usage: tracelet run-test [OPTIONS] OUTPUT_DIR TIMEOUT COMMAND [ARGUMENTS...]\n\n"
		"Runs COMMAND for at most TIMEOUT seconds (0: without limit). It is traced only with\n"
		"--trace; artifacts go to OUTPUT_DIR and are named after COMMAND, without its extension.\n"
		"The exit status is COMMAND's.\n\n"
		"  --trace          trace it\n"
		"  --trace-dir DIR  another folder for the artifacts\n"
		"  --help           this text\n\n"
		"All options of 'tracelet run' are taken too.\n\n"
		"Example: tracelet run-test --trace results 300 ./unit_tests.sh -d yes\n",
	.run = run,
};
