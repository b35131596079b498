// The table of verbs, and what is said when none of them is meant.
#include "cli/verb.h"
#include "base/log.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

static const struct verb *const verbs[] = {
	&verb_run,
	&verb_convert,
	&verb_fold,
	&verb_flame,
	&verb_top,
	&verb_diff,
	&verb_check,
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
