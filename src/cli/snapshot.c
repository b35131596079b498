// Two verbs about one session that goes on: where its file will be, and what it has so far.
#include "base/file.h"
#include "base/log.h"
#include "cli/verb.h"
#include "session/control.h"
#include "session/operation.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

// The session that the arguments name. An exit status to end with, or -1 to go on.
static int find(int argc, char **argv, const struct verb *verb, struct state *session, bool *marks) {
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

static int run_current(int argc, char **argv, const struct verb *verb) {
	struct state session;
	bool marks = false;
	int status = find(argc, argv, verb, &session, &marks);
	if (status >= 0)
		return status;
	puts(marks ? session.marks : session.artifact);
	return 0;
}

static int run_snapshot(int argc, char **argv, const struct verb *verb) {
	struct state session;
	struct control_answer answer = {0};
	char size[16];
	int status = find(argc, argv, verb, &session, NULL);
	if (status >= 0)
		return status;
	int error = control_ask(&session, CONTROL_SNAPSHOT, &answer);
	if (error == -ECONNRESET || error == -ECONNREFUSED || error == -ENOENT)
		log_error("%s has just ended; its own trace is %s", session.name, session.artifact);
	else if (error)
		log_error("the tracer of %s does not answer: %s", session.name, strerror(-error));
	else if (answer.error)
		log_error("%s: %s", session.name, answer.said);
	else
		printf("%s (%s)\n", answer.path, file_size_words(answer.size, size));
	return error || answer.error ? EXIT_FOUND : 0;
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
	.run = run_current,
};

const struct verb verb_snapshot = {
	.name = "snapshot",
	.summary = "save what a session has recorded so far",
	.help = "Usage: tracelet snapshot [NAME]\n\n"
		"Saves what a session has recorded so far as a trace of its own, and prints its path\n"
		"and size; recording goes on. This is how to look into a flight recorder (--type\n"
		"memory). NAME is the name of an operation or a test, or the number of its tracer;\n"
		"without it: the only one there is.\n\n"
		"  --help  this text\n\n"
		"Exit status: 0; 1 there is no such session, or it could not be saved; 2 bad options,\n"
		"or several are meant.\n",
	.run = run_snapshot,
};
