// `tracelet mark`: a mark from a script, through the same client as a test's own.
// It belongs to the test as a whole, not to the process that lives for this only.
#include "base/buffer.h"
#include "base/log.h"
#include "cli/verb.h"
#include "session/operation.h"
#include "tracelet/mark.h"

#include <errno.h>
#include <getopt.h>

// The area that TRACELET_MARKS names; another one than at the start of this process.
static void attach_to(const char *marks) {
	setenv("TRACELET_MARKS", marks, 1);
	tl_mark_process.tried = 0;
	tl_mark_attach();
}

// The operation of this name or, without one, the only one there is. 0, or an exit status.
static int find_operation(const char *name) {
	char safe[ARTIFACT_NAME_SIZE];
	struct state session;
	if (name)
		artifact_safe_name(name, safe);
	int error = operation_find(name ? safe : NULL, false, &session);
	if (error)
		return error == -EEXIST ? EXIT_USAGE : EXIT_FOUND;
	attach_to(session.marks);
	return 0;
}

static bool is_recorded(void) {
	return !tl_mark_off && tl_mark_process.area &&
	       __atomic_load_n(&tl_mark_process.area->recording, __ATOMIC_RELAXED);
}

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option options[] = {
		{"session", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *session = NULL;
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
	int status = session || !is_recorded() ? find_operation(session) : 0;
	if (status)
		return status;
	if (!is_recorded()) {
		log_error("the session takes no marks from here");
		return EXIT_FOUND;
	}
	struct buffer text = {0};
	for (int i = optind; i < argc; i++)
		buffer_printf(&text, "%s%s", i > optind ? " " : "", argv[i]);
	buffer_append(&text, "", 1);
	tl_mark_write(TL_MARK_INSTANT | TL_MARK_ABOUT_ALL >> 16, (char *)text.data, 0);
	buffer_free(&text);
	return 0;
}

const struct verb verb_mark = {
	.name = "mark",
	.summary = "put a mark into the trace of a test or an operation",
	.help = "Usage: tracelet mark [--session NAME] TEXT...\n\n"
		"Called by a test that 'tracelet run' runs, or by one of its scripts: puts a mark with\n"
		"this text into the trace, at this moment. Elsewhere the mark goes into the operation\n"
		"that 'tracelet start' began. Programs do the same, and more, with the functions of\n"
		"<tracelet/mark.h>.\n\n"
		"  --session NAME  the operation that is meant, if there are several\n"
		"  -h, --help      this text\n\n"
		"Exit status: 0; 1 if no session is recording; 2 for bad options, or several are meant.\n",
	.run = run,
};
