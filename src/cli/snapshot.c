// What a session that goes on has so far.
#include "base/file.h"
#include "base/log.h"
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
		log_error("the tracer of %s does not answer: %s", session.name, strerror(-error));
	else if (answer.error)
		log_error("%s: %s", session.name, answer.said);
	else
		printf("%s (%s)\n", answer.path, file_size_words(answer.size, size));
	return error || answer.error ? EXIT_FOUND : 0;
}

#ifdef _WIN32
#define HELP                                                                                                 \
	"Usage: tracelet snapshot [NAME]\n\n"                                                                \
	"Saves what an operation has recorded so far as a trace of its own, and prints its path\n"           \
	"and size; recording goes on, anew: another one begins before the first ends, so that\n"             \
	"nothing is missing between the two. This is how to look into a flight recorder (--type\n"           \
	"memory). NAME is the name of the operation; without it: the only one there is.\n\n"                 \
	"  --help  this text\n\n"                                                                            \
	"Exit status: 0; 1 there is no such operation, or it could not be saved; 2 bad options,\n"           \
	"or several are meant.\n"
#else
#define HELP                                                                                                 \
	"Usage: tracelet snapshot [NAME]\n\n"                                                                \
	"Saves what a session has recorded so far as a trace of its own, and prints its path\n"              \
	"and size; recording goes on. This is how to look into a flight recorder (--type\n"                  \
	"memory). NAME is the name of an operation or a test, or the number of its tracer;\n"                \
	"without it: the only one there is.\n\n"                                                             \
	"  --help  this text\n\n"                                                                            \
	"Exit status: 0; 1 there is no such session, or it could not be saved; 2 bad options,\n"             \
	"or several are meant.\n"
#endif

const struct verb verb_snapshot = {
	.name = "snapshot",
	.summary = "save what a session has recorded so far",
	.help = HELP,
	.run = run_snapshot,
};
