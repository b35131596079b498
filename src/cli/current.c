// Where the file of a session that goes on will be.
#include "cli/current.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>

int verb_find_session(int argc, char **argv, const struct verb *verb, struct state *session, bool *marks) {
	// Only `current` knows --marks.
	static const struct option options[] = {
		{"help", no_argument, NULL, 'h'},
		{"marks", no_argument, NULL, 'm'},
		{0},
	};
	char name[ARTIFACT_NAME_SIZE];
	for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
		if (option != 'm' || !marks)
			return option == 'h' ? verb_print_help(verb) : verb_bad_usage(verb);
		*marks = true;
	}
	if (argc - optind > 1) {
		log_error("%s takes one name", verb->name);
		return verb_bad_usage(verb);
	}
	if (optind < argc)
		artifact_safe_name(argv[optind], name);
	int error = operation_find(optind < argc ? name : NULL, true, session);
	return !error ? -1 : error == -EEXIST ? EXIT_USAGE : EXIT_FOUND;
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct state session;
	bool marks = false;
	int status = verb_find_session(argc, argv, verb, &session, &marks);
	if (status >= 0)
		return status;
	puts(marks ? session.marks : session.artifact);
	return 0;
}

const struct verb verb_current = {
	.name = "current",
	.summary = "print the file that a session is making",
	.help = "Usage: tracelet current [--marks] [NAME]\n\n"
		"Prints the path of the artifact that a session will leave. NAME is the name of an\n"
		"operation or a test, or the number of its tracer; without it: the only one there is.\n\n"
		"  --marks  what TRACELET_MARKS has to be for programs whose marks shall be in the trace\n"
		"           of an operation\n"
		"  --help   this text\n\n"
		"Exit status: 0; 1 there is no such session; 2 bad options, or several are meant.\n",
	.run = run,
};
