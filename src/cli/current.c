// `tracelet current`: where the file of a running session will be.
#include "cli/current.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>

enum { OPTION_MARKS = LETTERS + 1, OPTION_JSON };

static const struct verb_option own_options[] = {
	{"marks", OPTION_MARKS, NULL,
	 "print the value of TRACELET_MARKS for programs that put marks into the trace of an operation"},
	{"json", OPTION_JSON, NULL, "print both as JSON"},
	{0},
};

static bool take_option(int option, const char *value, void *context) {
	struct current_flags *flags = context;
	*(option == OPTION_MARKS ? &flags->marks : &flags->json) = true;
	return true;
}

int verb_find_session(int argc, char **argv, const struct verb *verb, struct state *session,
		      struct current_flags *flags) {
	char name[ARTIFACT_NAME_SIZE];
	int status = verb_take(argc, argv, verb, take_option, flags);
	if (status >= 0)
		return status;
	if (argc - optind > 1) {
		log_error("%s takes one name", verb->name);
		return verb_bad_usage(verb);
	}
	if (optind < argc)
		artifact_safe_name(argv[optind], name);
	int error = operation_find(optind < argc ? name : NULL, true, session);
	return !error ? -1 : error == -EEXIST ? EXIT_USAGE : EXIT_FOUND;
}

static void print_json(const struct state *session) {
	struct buffer line = {0};
	struct json json = json_into(&line);
	json_object(&json, NULL);
	json_string(&json, "path", session->artifact);
	json_string(&json, "marks", session->marks);
	json_close_object(&json);
	verb_print_json(&line);
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct state session;
	struct current_flags flags = {0};
	int status = verb_find_session(argc, argv, verb, &session, &flags);
	if (status >= 0)
		return status;
	if (flags.json)
		print_json(&session);
	else
		text_path_line(stdout, flags.marks ? session.marks : session.artifact);
	return 0;
}

const struct verb verb_current = {
	.name = "current",
	.family = FAMILY_RECORD,
	.options = own_options,
	.summary = "print the path of the file that a session is writing",
	.usage = "tracelet current [--marks|--json] [NAME]",
	.about =
		"Prints the path of the artifact that a session will leave. NAME is the name of an operation "
		"or a test, or the process id of its tracer; without NAME there must be only one session.",
	.notes = "Exit status: 0; 1 no such session; 2 bad options, or several sessions match.",
	.run = run,
};
