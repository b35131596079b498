// `tracelet snapshot`: saves what a running session has recorded so far.
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/current.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int run_snapshot(int argc, char **argv, const struct verb *verb) {
	struct state session;
	struct control_answer answer = {0};
	char size[16];
	int status = verb_find_session(argc, argv, verb, &session, NULL);
	if (status >= 0)
		return status;
	int error = operation_snapshot(&session, &answer);
	if (error == -ECONNRESET || error == -ECONNREFUSED || error == -ENOENT)
		log_error("%s has just ended; its own trace is %s", session.name, session.artifact);
	else if (error)
		log_error("the tracer of %s does not respond: %s", session.name, strerror(-error));
	else if (answer.error)
		log_error("%s: %s", session.name, answer.said);
	else
		text_line(stdout, "%s (%s)", answer.path, file_size_words(answer.size, size));
	return error || answer.error ? EXIT_FOUND : 0;
}

const struct verb verb_snapshot = {
	.name = "snapshot",
	.family = FAMILY_RECORD,
	.summary = "save what a session has recorded so far",
	.usage = "tracelet snapshot [NAME]",
	.about = BY_SYSTEM(
		"Saves what a session has recorded so far as a trace of its own, and prints its path and "
		"size; recording continues. Use it to look into a flight recorder (--type memory). NAME is "
		"the name of an operation or a test, or the process id of its tracer; without NAME there "
		"must be only one session.",
		"Saves what an operation has recorded so far as a trace of its own, and prints its path and "
		"size. A new recording begins before the first ends, so that nothing is missing between the "
		"two. Use it to look into a flight recorder (--type memory). NAME is the name of the "
		"operation; without NAME there must be only one."),
	.notes = "Exit status: 0; 1 no such session, or it could not be saved; 2 bad options, or "
		 "several "
		 "sessions match.",
	.run = run_snapshot,
};
