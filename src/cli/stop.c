#include "base/file.h"
#include "base/log.h"
#include "cli/verb.h"
#include "session/operation.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

// False: it could not be saved, and this was said.
static bool stop(const struct state *session, enum control_request how) {
	struct control_answer answer;
	char size[16];
	int error = operation_stop(session, how, &answer);
	if (error)
		return false;
	if (answer.error)
		log_error("%s: %s", session->name, answer.said);
	else if (how == CONTROL_STOP)
		printf("%s (%s)\n", answer.path, file_size_words(answer.size, size));
	if (answer.lost)
		log_warning("%s: %llu events were lost; a larger --buffer-size keeps more", session->name,
			    (unsigned long long)answer.lost);
	return !answer.error;
}

static int stop_all(enum control_request how) {
	state_array sessions = {0};
	int status = 0, error = operation_list(&sessions);
	if (error) {
		log_error("the state of sessions cannot be read: %s", strerror(-error));
		status = EXIT_FOUND;
	}
	for (size_t i = 0; i < sessions.count; i++)
		if (sessions.items[i].operation && !stop(&sessions.items[i], how))
			status = EXIT_FOUND;
	array_free(&sessions);
	return status;
}

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option options[] = {
		{"all", no_argument, NULL, 'a'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	enum control_request how = strcmp(verb->name, "cancel") == 0 ? CONTROL_CANCEL : CONTROL_STOP;
	bool all = false;
	for (int option; (option = getopt_long(argc, argv, "ah", options, NULL)) != -1;) {
		if (option == 'h')
			return verb_print_help(verb);
		if (option == '?')
			return verb_bad_usage(verb);
		all = true;
	}
	if (argc - optind > (all ? 0 : 1)) {
		log_error("%s takes %s", verb->name, all ? "no name with --all" : "one name");
		return verb_bad_usage(verb);
	}
	if (all)
		return stop_all(how);
	struct state session;
	char name[ARTIFACT_NAME_SIZE];
	if (optind < argc)
		artifact_safe_name(argv[optind], name);
	int error = operation_find(optind < argc ? name : NULL, false, &session);
	if (error)
		return error == -EEXIST ? EXIT_USAGE : EXIT_FOUND;
	return stop(&session, how) ? 0 : EXIT_FOUND;
}

const struct verb verb_stop = {
	.name = "stop",
	.summary = "end the recording of an operation, and save it",
	.help = "Usage: tracelet stop [NAME]\n"
		"       tracelet stop --all\n\n"
		"Ends what 'tracelet start NAME' began, and prints the path and the size of the\n"
		"trace. Without a NAME: the only one that is recording.\n\n"
		"  --all   all of them\n"
		"  --help  this text\n\n"
		"Exit status: 0; 1 there is none, or it could not be saved; 2 bad options, or several\n"
		"are recording.\n",
	.run = run,
};

const struct verb verb_cancel = {
	.name = "cancel",
	.summary = "end the recording of an operation, and forget it",
	.help = "Usage: tracelet cancel [NAME]\n"
		"       tracelet cancel --all\n\n"
		"Ends what 'tracelet start NAME' began. Nothing is left of it.\n\n"
		"  --all   all of them\n"
		"  --help  this text\n\n"
		"Exit status: as 'tracelet stop'.\n",
	.run = run,
};
