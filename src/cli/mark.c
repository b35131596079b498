// `tracelet mark`: a mark from a script, through the same client as a test's own.
// It belongs to the test as a whole, not to the process that lives for this only.
#include "base/buffer.h"
#include "base/log.h"
#include "cli/verb.h"
#include "tracelet/mark.h"

#include <getopt.h>

static bool is_recorded(void) {
	return !tl_mark_off && tl_mark_process.area &&
	       __atomic_load_n(&tl_mark_process.area->recording, __ATOMIC_RELAXED);
}

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {0}};
	for (int option; (option = getopt_long(argc, argv, "+h", options, NULL)) != -1;)
		return option == 'h' ? verb_print_help(verb) : verb_bad_usage(verb);
	if (optind == argc) {
		log_error("mark needs a TEXT");
		return verb_bad_usage(verb);
	}
	if (!is_recorded()) {
		log_error(
			"no session is recording here: 'tracelet run' records the command that it is given");
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
	.summary = "put a mark into the trace of the test that calls this",
	.help = "Usage: tracelet mark TEXT...\n\n"
		"Called by a test that 'tracelet run' runs, or by one of its scripts: puts a mark with\n"
		"this text into the trace, at this moment. Programs do the same, and more, with the\n"
		"functions of <tracelet/mark.h>.\n\n"
		"  -h, --help  this text\n\n"
		"Exit status: 0; 1 if no session is recording here; 2 for bad options.\n",
	.run = run,
};
