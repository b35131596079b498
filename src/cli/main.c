// The table of verbs, and what is said when none of them is meant.
#include "cli/verb.h"
#include "base/log.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

static const struct verb *const verbs[] = {
	&verb_run,
	&verb_start,
	&verb_stop,
	&verb_cancel,
	&verb_status,
	&verb_current,
	&verb_snapshot,
	&verb_convert,
	&verb_info,
	&verb_dump,
	&verb_fold,
	&verb_flame,
	&verb_top,
	&verb_diff,
	&verb_check,
	&verb_settings_show,
	&verb_doctor,
};

int verb_print_help(const struct verb *verb) {
	fputs(verb->help, stdout);
	return 0;
}

int verb_bad_usage(const struct verb *verb) {
	log_error("try 'tracelet %s --help'", verb->name);
	return EXIT_USAGE;
}

static int take_flags(int argc, char **argv, const struct verb *verb, const enum setting_id *flags, size_t count,
		      struct settings *settings) {
	CLEANUP_FREE struct option *options = settings_options(flags, count);
	// The "+": what follows the first other word is not ours.
	for (int option; (option = getopt_long(argc, argv, "+qvh", options, NULL)) != -1;) {
		if (option == 'h')
			return verb_print_help(verb);
		if (option == '?')
			return verb_bad_usage(verb);
		if (option < SETTING_FLAG)
			option = SETTING_FLAG + (option == 'q' ? SETTING_QUIET : SETTING_VERBOSE);
		if (!settings_take_flag(settings, option, optarg))
			return EXIT_USAGE;
	}
	log_set_level(settings->quiet ? LOG_QUIET : settings->verbose ? LOG_VERBOSE : LOG_NORMAL);
	return -1;
}

int verb_settings(int argc, char **argv, const struct verb *verb, const enum setting_id *flags, size_t count,
		  struct settings *settings) {
	int status = settings_load(settings) ? take_flags(argc, argv, verb, flags, count, settings) : EXIT_USAGE;
	if (status >= 0)
		settings_free(settings);
	return status;
}

static void print_help(FILE *out) {
	fputs("tracelet: one small, focused trace for every test\n\n"
	      "Usage: tracelet run -- COMMAND [ARGUMENTS...]\n"
	      "       tracelet VERB [OPTIONS]\n\nVerbs:\n",
	      out);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		fprintf(out, "  %-9s %s\n", verbs[i]->name, verbs[i]->summary);
	fputs("\n'tracelet VERB --help' tells about one verb; tracelet(1) has it all.\n", out);
}

static const struct verb *find_verb(const char *name) {
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (strcmp(verbs[i]->name, name) == 0)
			return verbs[i];
	return NULL;
}

int main(int argc, char **argv) {
	const char *word = argc > 1 ? argv[1] : NULL;
	if (!word) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(word, "--version") == 0) {
		puts("tracelet " TRACELET_VERSION);
		return 0;
	}
	if (strcmp(word, "help") == 0 && argc > 2 && find_verb(argv[2]))
		return verb_print_help(find_verb(argv[2]));
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
		print_help(stdout);
		return 0;
	}
	const struct verb *verb = find_verb(word);
	if (!verb) {
		log_error("there is no verb '%s'; 'tracelet --help' lists them", word);
		return EXIT_USAGE;
	}
	return verb->run(argc - 1, argv + 1, verb);
}
