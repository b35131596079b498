// `tracelet fold`: folded stacks on standard output, in place of stackcollapse-perf.pl.
#include "base/log.h"
#include "cli/sample_options.h"
#include "cli/verb.h"
#include "flow/pipeline.h"
#include "write/folded.h"

#include <string.h>

static int read_all(const struct sample_input *input, const char *const *paths, size_t count,
		    struct tables *tables, struct sink *sink) {
	static const char *const standard_input[] = {"-"};
	if (!count) {
		paths = standard_input;
		count = 1;
	}
	int error = 0;
	for (size_t i = 0, together; i < count && !error; i += together) {
		together = count > 1 ? pipeline_together(paths + i, count - i) : 1;
		error = sample_input_read(input, paths + i, together, 0, tables, sink);
	}
	return error ? error : sink_finish(sink);
}

static int fold(const struct sample_input *input, const char *const *paths, size_t count, const char *path) {
	struct output output;
	int error = output_open(&output, path, OUTPUT_REPLACE);
	if (error) {
		log_error("%s: cannot be written: %s", path, strerror(-error));
		return EXIT_USAGE;
	}
	struct tables tables = pipeline_tables(!input->options.no_inline);
	struct sink *sink = folded_open(&output, &tables, &input->options);
	error = read_all(input, paths, count, &tables, sink);
	sink_destroy(sink);
	pipeline_tables_free(&tables);
	if (output.error || !error) {
		error = output.error ? output.error : output_commit(&output);
		if (error)
			log_error("%s: cannot be written: %s", path, strerror(-error));
	}
	output_abandon(&output);
	return error ? EXIT_USAGE : 0;
}

static const struct verb_option own_options[] = {
	{"output", 'o', "FILE", "write to FILE instead of standard output"},
	{0},
};

struct fold_arguments {
	struct sample_input input;
	const char *output;
};

static bool take_option(int option, const char *value, void *context) {
	struct fold_arguments *arguments = context;
	if (option != 'o')
		return sample_option(&arguments->input, option, value);
	arguments->output = value;
	return true;
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct fold_arguments arguments = {.output = "-"};
	int status = verb_take(argc, argv, verb, take_option, &arguments);
	if (status >= 0)
		return status;
	return fold(&arguments.input, (const char *const *)argv + optind, (size_t)(argc - optind),
		    arguments.output);
}

const struct verb verb_fold = {
	.name = "fold",
	.family = FAMILY_UNDERSTAND,
	.settings = OF_READING,
	.options = own_options,
	.sample_options = sample_options,
	.summary = "print folded stacks from any profile, for other tools",
	.usage = "tracelet fold [OPTIONS] [FILE...] > OUT.folded",
	.about = "Adds up the samples of a profile and prints each stack on a line: the task's name and its "
		 "functions, outermost first, separated by semicolons, and the weight. Reads the output of "
		 "perf script, and everything else that has samples; '-' or no FILE is standard input.",
	.notes = "Example:\n"
		 "  perf script | tracelet fold | tracelet flame -o cpu.svg",
	.run = run,
};
