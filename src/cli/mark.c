// `tracelet mark`: a mark from a script.
#include "cli/mark.h"
#include "base/buffer.h"
#include "base/log.h"

enum { OPTION_SESSION = LETTERS + 1 };

static const struct verb_option own_options[] = {
	{"session", OPTION_SESSION, "NAME", "the operation to mark, if several are recording"},
	{0},
};

static bool take_option(int option, const char *value, void *context) {
	*(const char **)context = value;
	return true;
}

static int run(int argc, char **argv, const struct verb *verb) {
	const char *session = NULL;
	int status = verb_take(argc, argv, verb, take_option, &session);
	if (status >= 0)
		return status;
	if (optind == argc) {
		log_error("mark needs a TEXT");
		return verb_bad_usage(verb);
	}
	struct buffer text = {0};
	for (int i = optind; i < argc; i++)
		buffer_printf(&text, "%s%s", i > optind ? " " : "", argv[i]);
	buffer_append(&text, "", 1);
	status = mark_put(session, (char *)text.data);
	buffer_free(&text);
	return status;
}

const struct verb verb_mark = {
	.name = "mark",
	.family = FAMILY_RECORD,
	.ordered = true,
	.options = own_options,
	.summary = "put a mark into the trace of a test or an operation",
	.usage = "tracelet mark [--session NAME] TEXT...",
	.about = "Called by a test under 'tracelet run', or by one of its scripts: puts a mark with this "
		 "text into " BY_SYSTEM("the trace, at this moment. Elsewhere the mark goes into the "
					"operation that 'tracelet "
					"start' began. Programs do the same, and more, with the functions of "
					"<tracelet/mark.h>.",
					"the recording ('wpr -marker'). Elsewhere the mark goes into the "
					"operation that 'tracelet "
					"start' began."),
	.notes = "Exit status: 0; 1 if no session is recording; 2 bad options, or several sessions match.",
	.run = run,
};
