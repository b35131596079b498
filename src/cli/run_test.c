// For existing scripts: an output directory, a time limit and the test, by position or by the names of
// PowerShell parameters. The names are translated to positions, and those to `tracelet run`, which is
// executed.
#include "base/log.h"
#include "base/system.h"
#include "cli/verb.h"
#include "process/words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { OPTION_TRACE = LETTERS + 1, OPTION_TRACE_DIR };

static const struct verb_option own_options[] = {
	{"trace", OPTION_TRACE, NULL, "trace COMMAND"},
	{"trace-dir", OPTION_TRACE_DIR, "DIR", "directory for artifacts, instead of OUTPUT_DIR"},
	{0},
};

struct options {
	bool trace;
	const char *trace_dir;
};

static bool take_option(int option, const char *value, void *context) {
	struct options *options = context;
	if (option == OPTION_TRACE)
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

// ---- parameters with names ----

enum parameter { OUTPUT_FOLDER, TIMEOUT, TEST_COMMAND, TRACE_DIRECTORY, TRACING_TYPE, ENABLE, ARGUMENTS };

static const struct {
	const char *name;
	bool needed;
} parameters[] = {
	[OUTPUT_FOLDER] = {"OutputFolder", true}, [TIMEOUT] = {"Timeout", true},
	[TEST_COMMAND] = {"TestCommand", true},   [TRACE_DIRECTORY] = {"TraceOutputDirectory", false},
	[TRACING_TYPE] = {"TracingType", false},  [ENABLE] = {"EnableTracing", false},
	[ARGUMENTS] = {"TestArguments", false},
};

// Which parameter the word is: "-Name" or "-Name:value", in capitals or not; -1 if none.
static int parameter_of(const char *word, const char **value) {
	size_t length = word && *word == '-' ? strcspn(word + 1, ":") : 0;
	for (size_t i = 0; length && i < ARRAY_SIZE(parameters); i++)
		if (strlen(parameters[i].name) == length &&
		    strncasecmp(word + 1, parameters[i].name, length) == 0) {
			*value = word[1 + length] ? word + length + 2 : NULL;
			return (int)i;
		}
	return -1;
}

// The words of a text, as programs on Windows split their command line: quotes keep blanks together.
static void add_split(struct words *words, const char *text) {
	struct buffer word = {0};
	bool quoted = false, begun = false;
	for (;; text++) {
		if (!*text || (!quoted && *text == ' ')) {
			if (begun)
				words_add(words, "%.*s", (int)word.size, (char *)word.data);
			word.size = 0;
			begun = false;
			if (!*text)
				break;
		} else if (*text == '"') {
			quoted = !quoted;
			begun = true;
		} else {
			buffer_append(&word, text, 1);
			begun = true;
		}
	}
	buffer_free(&word);
}

struct named_form {
	const char *values[ARRAY_SIZE(parameters)];
	bool trace;
	struct words options, arguments; // of ours, of the test
};

static bool is_false(const char *value) {
	return strcasecmp(value, "$false") == 0 || strcasecmp(value, "false") == 0 || strcmp(value, "0") == 0;
}

// Takes the words of the named form. False, after a message: one is missing.
static bool take_names(int argc, char **argv, struct named_form *form) {
	bool in_arguments = false;
	for (int i = 1; i < argc; i++) {
		const char *value = NULL;
		int parameter = parameter_of(argv[i], &value);
		if (parameter < 0) {
			bool own = !in_arguments && strncmp(argv[i], "--", 2) == 0;
			words_add(own ? &form->options : &form->arguments, "%s", argv[i]);
			continue;
		}
		in_arguments = parameter == ARGUMENTS;
		if (parameter == ENABLE)
			form->trace = !value || !is_false(value);
		else if (in_arguments && value)
			words_add(&form->arguments, "%s", value);
		else if (!in_arguments && !value && (!argv[i + 1] || parameter_of(argv[i + 1], &value) >= 0))
			return log_error("run-test: -%s needs a value", parameters[parameter].name), false;
		else if (!in_arguments)
			form->values[parameter] = value ? value : argv[++i];
	}
	for (size_t i = 0; i < ARRAY_SIZE(parameters); i++)
		if (parameters[i].needed && !form->values[i])
			return log_error("run-test: -%s is missing", parameters[i].name), false;
	return true;
}

// The same by position.
static void words_by_position(const struct named_form *form, struct words *words) {
	words_add(words, "run-test");
	if (form->trace)
		words_add(words, "--trace");
	if (form->values[TRACE_DIRECTORY])
		words_add(words, "--trace-dir=%s", form->values[TRACE_DIRECTORY]);
	if (form->values[TRACING_TYPE])
		words_add(words, "--type=%s", form->values[TRACING_TYPE]);
	for (size_t i = 0; i < form->options.count; i++)
		words_add(words, "%s", form->options.items[i]);
	for (size_t i = OUTPUT_FOLDER; i <= TEST_COMMAND; i++)
		words_add(words, "%s", form->values[i]);
	if (form->arguments.count == 1)
		add_split(words, form->arguments.items[0]);
	else
		for (size_t i = 0; i < form->arguments.count; i++)
			words_add(words, "%s", form->arguments.items[i]);
}

static int run_by_position(int argc, char **argv, const struct verb *verb);

static int run_by_name(int argc, char **argv, const struct verb *verb) {
	struct named_form form = {0};
	struct words words = {0};
	int status = EXIT_USAGE;
	if (take_names(argc, argv, &form)) {
		words_by_position(&form, &words);
		status = run_by_position((int)words.count, words.items, verb);
	}
	words_free(&form.options);
	words_free(&form.arguments);
	words_free(&words);
	return status;
}

// ---- by position ----

static int run_by_position(int argc, char **argv, const struct verb *verb) {
	struct options options = {0};
	struct settings settings;
	int status = verb_take_settings(argc, argv, verb, take_option, &options, &settings);
	if (status >= 0)
		return status;
	if (argc - optind < 3) {
		log_error("run-test needs a directory, a time limit and a command");
		return verb_bad_usage(verb);
	}
	const char *folder = argv[optind], *limit = argv[optind + 1];
	char **command = argv + optind + 2;
	if (!is_seconds(limit)) {
		log_error("run-test: '%s' is not a time limit in seconds (0 for none)", limit);
		return EXIT_USAGE;
	}
	struct words words = {0};
	CLEANUP_FREE char *name = test_name(command[0]);
	words_add(&words, "tracelet");
	words_add(&words, "run");
	if (settings.origins[SETTING_ENABLED] != FROM_ENVIRONMENT)
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

static int run(int argc, char **argv, const struct verb *verb) {
	const char *value;
	return argc > 1 && parameter_of(argv[1], &value) >= 0 ? run_by_name(argc, argv, verb)
							      : run_by_position(argc, argv, verb);
}

const struct verb verb_run_test = {
	.name = "run-test",
	.family = FAMILY_RECORD,
	.ordered = true,
	.as_run = true,
	.options = own_options,
	.summary = "run a test with a time limit; positional arguments, for scripts",
	.usage = "tracelet run-test [OPTIONS] OUTPUT_DIR TIMEOUT COMMAND [ARGUMENTS...]\n"
		 "tracelet run-test -OutputFolder DIR -Timeout SECONDS -TestCommand COMMAND [PARAMETERS...]",
	.about = "Runs COMMAND for at most TIMEOUT seconds (0 for no limit) and traces it only with --trace. "
		 "Artifacts go to OUTPUT_DIR and are named after COMMAND, without its extension. If "
		 "TRACELET_ENABLED is set, it decides instead of --trace. The second form is for "
		 "scripts written for PowerShell; more PARAMETERS are -TestArguments ARGUMENTS..., "
		 "-EnableTracing, -TraceOutputDirectory DIR and -TracingType file or memory.",
	.notes = "Exit status: as for 'tracelet run'.\n\n"
		 "Example: tracelet run-test --trace results 300 ./unit_tests.sh -d yes",
	.run = run,
};
