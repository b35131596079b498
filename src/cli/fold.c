// `tracelet fold`: folded stacks on standard output, for those who have used
// stackcollapse-perf.pl so far.
#include "base/log.h"
#include "cli/profile_options.h"
#include "cli/verb.h"
#include "session/profile.h"
#include "write/folded.h"

#include <string.h>

static int read_all(const struct profile_input *input, char **paths, int count, struct tables *tables,
		    struct sink *sink) {
	static char *standard_input[] = {(char *)(uintptr_t) "-"};
	if (!count) {
		paths = standard_input;
		count = 1;
	}
	int error = 0;
	for (int i = 0; i < count && !error; i++)
		error = profile_read(paths[i], input->reader, tables, sink);
	return error ? error : sink_finish(sink);
}

static int fold(const struct profile_input *input, char **paths, int count, const char *path) {
	struct output output;
	int error = output_open(&output, path, OUTPUT_REPLACE);
	if (error) {
		log_error("%s: cannot be written: %s", path, strerror(-error));
		return EXIT_USAGE;
	}
	struct tables tables = profile_tables_new(&input->options);
	struct sink *sink = folded_open(&output, &tables, &input->options);
	error = read_all(input, paths, count, &tables, sink);
	sink_destroy(sink);
	profile_tables_free(&tables);
	if (output.error || !error) {
		error = output.error ? output.error : output_commit(&output);
		if (error)
			log_error("%s: cannot be written: %s", path, strerror(-error));
	}
	output_abandon(&output);
	return error ? EXIT_USAGE : 0;
}

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option options[] = {
		PROFILE_LONG_OPTIONS, {"output", required_argument, NULL, 'o'}, {0}};
	struct profile_input input = {0};
	const char *path = "-";
	for (int option; (option = getopt_long(argc, argv, "o:qh", options, NULL)) != -1;) {
		if (option == 'h')
			return verb_print_help(verb);
		if (option == '?')
			return verb_bad_usage(verb);
		if (option == 'o')
			path = optarg;
		else if (profile_option(&input, option, optarg))
			return EXIT_USAGE;
	}
	return fold(&input, argv + optind, argc - optind, path);
}

const struct verb verb_fold = {
	.name = "fold",
	.summary = "folded stacks from perf's or another profile",
	.help = "Usage: tracelet fold [OPTIONS] [FILE...] > OUT.folded\n\n"
		"Adds up the samples of a profile and prints each stack on a line: the task's name\n"
		"and its functions, outermost first, separated by semicolons, and the weight. Reads\n"
		"what perf script prints, and everything else that has samples; '-' or no FILE is\n"
		"standard input.\n\n"
		"  -o, --output FILE       write to FILE\n" PROFILE_OPTIONS_HELP "\nExample:\n"
		"  perf script | tracelet fold | tracelet flame -o cpu.svg\n",
	.run = run,
};
