// `tracelet mark`: a mark from a script.
#include "base/buffer.h"
#include "base/log.h"
#include "cli/mark.h"

#include <getopt.h>

#ifdef _WIN32
#define HOW                                                                                                  \
	"this text into the recording ('wpr -marker'). Elsewhere the mark goes into the operation\n"         \
	"that 'tracelet start' began.\n\n"
#else
#define HOW                                                                                                  \
	"this text into the trace, at this moment. Elsewhere the mark goes into the operation\n"             \
	"that 'tracelet start' began. Programs do the same, and more, with the functions of\n"               \
	"<tracelet/mark.h>.\n\n"
#endif

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
	struct buffer text = {0};
	for (int i = optind; i < argc; i++)
		buffer_printf(&text, "%s%s", i > optind ? " " : "", argv[i]);
	buffer_append(&text, "", 1);
	int status = mark_put(session, (char *)text.data);
	buffer_free(&text);
	return status;
}

const struct verb verb_mark = {
	.name = "mark",
	.summary = "put a mark into the trace of a test or an operation",
	.help = "Usage: tracelet mark [--session NAME] TEXT...\n\n"
		"Called by a test that 'tracelet run' runs, or by one of its scripts: puts a mark with\n" HOW
		"  --session NAME  the operation that is meant, if there are several\n"
		"  -h, --help      this text\n\n"
		"Exit status: 0; 1 if no session is recording; 2 for bad options, or several are meant.\n",
	.run = run,
};
