#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/verb.h"
#include "session/operation.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void print_answer(const struct control_answer *answer, bool as_json) {
	char size[16];
	if (!as_json) {
		text_line(stdout, "%s (%s)", answer->path, file_size_words(answer->size, size));
		return;
	}
	struct buffer line = {0};
	struct json json = json_into(&line);
	json_object(&json, NULL);
	json_string(&json, "path", answer->path);
	json_uint(&json, "size", answer->size);
	json_uint(&json, "lost", answer->lost);
	json_close_object(&json);
	verb_print_json(&line);
}

// False if it could not be saved, after an error message.
static bool stop(const struct state *session, enum control_request how, bool as_json) {
	struct control_answer answer;
	int error = operation_stop(session, how, &answer);
	if (error)
		return false;
	if (answer.error)
		log_error("%s: %s", session->name, answer.said);
	else if (how == CONTROL_STOP)
		print_answer(&answer, as_json);
	if (answer.lost)
		log_warning("%s: %llu event%s lost%s", session->name, (unsigned long long)answer.lost,
			    answer.lost == 1 ? " was" : "s were",
			    answer.lost <= answer.events ? "; try a larger --buffer-size" : "");
	return !answer.error;
}

static int stop_all(enum control_request how, bool as_json) {
	state_array sessions = {0};
	int status = 0, error = operation_list(&sessions);
	if (error) {
		log_error("cannot read the state of sessions: %s", strerror(-error));
		status = EXIT_FOUND;
	}
	for (size_t i = 0; i < sessions.count; i++)
		if (sessions.items[i].operation && !stop(&sessions.items[i], how, as_json))
			status = EXIT_FOUND;
	array_free(&sessions);
	return status;
}

enum { OPTION_JSON = LETTERS + 1 };

struct stop_flags {
	bool all, json;
};

static const struct verb_option own_options[] = {
	{"all", 'a', NULL, "end all recordings"},
	{"json", OPTION_JSON, NULL, "print path, size and lost events as JSON, one line per recording"},
	{0},
};

// Nothing comes of `cancel`.
static const struct verb_option cancel_options[] = {
	{"all", 'a', NULL, "end all recordings"},
	{0},
};

static bool take_option(int option, const char *value, void *context) {
	struct stop_flags *flags = context;
	*(option == OPTION_JSON ? &flags->json : &flags->all) = true;
	return true;
}

static int run(int argc, char **argv, const struct verb *verb) {
	enum control_request how = strcmp(verb->name, "cancel") == 0 ? CONTROL_CANCEL : CONTROL_STOP;
	struct stop_flags flags = {0};
	int status = verb_take(argc, argv, verb, take_option, &flags);
	bool all = flags.all, as_json = flags.json;
	if (status >= 0)
		return status;
	if (argc - optind > (all ? 0 : 1)) {
		log_error("%s takes %s", verb->name, all ? "no name with --all" : "one name");
		return verb_bad_usage(verb);
	}
	if (all)
		return stop_all(how, as_json);
	struct state session;
	char name[ARTIFACT_NAME_SIZE];
	if (optind < argc)
		artifact_safe_name(argv[optind], name);
	int error = operation_find(optind < argc ? name : NULL, false, &session);
	if (error)
		return error == -EEXIST ? EXIT_USAGE : EXIT_FOUND;
	return stop(&session, how, as_json) ? 0 : EXIT_FOUND;
}

const struct verb verb_stop = {
	.name = "stop",
	.family = FAMILY_RECORD,
	.options = own_options,
	.summary = "stop recording an operation, and save it",
	.usage = "tracelet stop [--json] [NAME]\n"
		 "tracelet stop [--json] --all",
	.about = "Ends the recording that 'tracelet start NAME' began, and prints the path and the size of "
		 "the trace. Without NAME there must be only one operation.",
	.notes = "Exit status: 0; 1 no such recording, or it could not be saved; 2 bad options, or several "
		 "are "
		 "recording.",
	.run = run,
};

const struct verb verb_cancel = {
	.name = "cancel",
	.family = FAMILY_RECORD,
	.options = cancel_options,
	.summary = "stop recording an operation, and discard it",
	.usage = "tracelet cancel [NAME]\n"
		 "tracelet cancel --all",
	.about = "Ends the recording that 'tracelet start NAME' began, and deletes it.",
	.notes = "Exit status: as for 'tracelet stop'.",
	.run = run,
};
