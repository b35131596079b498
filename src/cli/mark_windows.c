// `tracelet mark`: a mark from a script, which WPR puts into the recording.
#include "base/buffer.h"
#include "base/log.h"
#include "base/system.h"
#include "capture/wpr/wpr.h"
#include "cli/verb.h"
#include "session/operation.h"

#include <errno.h>
#include <string.h>

// The instance of the test that we are part of or, without one, the operation that is meant. 0, or an
// exit status.
static int find_instance(const char *name, char instance[96]) {
	static const char prefix[] = MARKS_OF_WPR;
	const char *marks = system_variable("TRACELET_MARKS");
	char safe[ARTIFACT_NAME_SIZE];
	struct state session;
	if (!name && marks && strncmp(marks, prefix, strlen(prefix)) == 0) {
		snprintf(instance, 96, "%s", marks + strlen(prefix));
		return 0;
	}
	if (name)
		artifact_safe_name(name, safe);
	int error = operation_find(name ? safe : NULL, false, &session);
	if (!error)
		memcpy(instance, session.instance, sizeof(session.instance));
	return !error ? 0 : error == -EEXIST ? EXIT_USAGE : EXIT_FOUND;
}

static int mark(const char *text, const char *instance) {
	struct wpr_answer answer;
	char words[1024];
	if (wpr_marker(text, instance, &answer))
		return 0;
	wpr_words(&answer, words, sizeof(words));
	log_error("no mark: %s", words);
	return EXIT_FOUND;
}

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option options[] = {
		{"session", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *session = NULL;
	char instance[96];
	for (int option; (option = getopt_long(argc, argv, "+h", options, NULL)) != -1;) {
		if (option == 'h')
			return verb_print_help(verb);
		if (option == '?')
			return verb_bad_usage(verb);
		session = optarg;
	}
	if (optind == argc) {
		log_error("mark needs a TEXT");
		return verb_bad_usage(verb);
	}
	int status = find_instance(session, instance);
	if (status)
		return status;
	struct buffer text = {0};
	for (int i = optind; i < argc; i++)
		buffer_printf(&text, "%s%s", i > optind ? " " : "", argv[i]);
	buffer_append(&text, "", 1);
	status = mark((char *)text.data, instance);
	buffer_free(&text);
	return status;
}

const struct verb verb_mark = {
	.name = "mark",
	.summary = "put a mark into the trace of a test or an operation",
	.help = "Usage: tracelet mark [--session NAME] TEXT...\n\n"
		"Called by a test that 'tracelet run' runs, or by one of its scripts: puts a mark with\n"
		"this text into the recording ('wpr -marker'). Elsewhere the mark goes into the operation\n"
		"that 'tracelet start' began.\n\n"
		"  --session NAME  the operation that is meant, if there are several\n"
		"  -h, --help      this text\n\n"
		"Exit status: 0; 1 if no session is recording; 2 for bad options, or several are meant.\n",
	.run = run,
};
