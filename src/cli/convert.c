#include "base/file.h"
#include "base/log.h"
#include "cli/verb.h"
#include "session/convert.h"
#include "session/merge.h"

#include <getopt.h>
#include <inttypes.h>
#include <string.h>

enum { MOST_MANIFESTS = 64 };

// One line: what is wrong, and what there is.
static int refuse_format(const char *text, const char *name, bool reading) {
	struct buffer names = {0};
	if (reading)
		for (const struct reader *const *reader = reader_list(); *reader; reader++)
			buffer_printf(&names, " %s", (*reader)->name);
	else
		for (const struct writer *const *writer = writer_list(); *writer; writer++)
			buffer_printf(&names, " %s", (*writer)->name);
	log_error("%s: %s; tracelet %s:%.*s", name, text, reading ? "reads" : "writes", (int)names.size,
		  (char *)names.data);
	buffer_free(&names);
	return EXIT_USAGE;
}

static int merge_traces(const char *const *inputs, size_t count, const char *output,
			const struct verb *verb) {
	struct merge_result result;
	if (!output || count < 2) {
		log_error("convert --merge needs a host's trace, those of guests, and -o OUTPUT");
		return verb_bad_usage(verb);
	}
	if (file_is_terminal(output)) {
		log_error("this is a terminal; a trace is not for reading: name a file");
		return EXIT_USAGE;
	}
	if (merge(inputs, count, output, &result))
		return EXIT_USAGE;
	if (result.by_wall_clock)
		log_warning(
			"%s: a guest's trace does not say how its clock stands to its host's; wall clocks "
			"were taken, which may be a second off",
			output);
	else
		log_verbose("%s: guests' times are good to %" PRIu64 " ns", output, result.bound);
	return 0;
}

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option options[] = {
		{"from", required_argument, NULL, 'f'},     {"to", required_argument, NULL, 't'},
		{"manifest", required_argument, NULL, 'm'}, {"merge", no_argument, NULL, 'M'},
		{"output", required_argument, NULL, 'o'},   {"quiet", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},           {0},
	};
	const char *from = NULL, *to = NULL, *output = NULL, *manifests[MOST_MANIFESTS + 1] = {0};
	size_t manifest_count = 0;
	bool merging = false;
	for (int option; (option = getopt_long(argc, argv, "o:qh", options, NULL)) != -1;) {
		switch (option) {
		case 'f':
			from = optarg;
			break;
		case 't':
			to = optarg;
			break;
		case 'm':
			if (manifest_count < MOST_MANIFESTS)
				manifests[manifest_count++] = optarg;
			break;
		case 'M':
			merging = true;
			break;
		case 'o':
			output = optarg;
			break;
		case 'q':
			log_set_level(LOG_QUIET);
			break;
		case 'h':
			return verb_print_help(verb);
		default:
			return verb_bad_usage(verb);
		}
	}
	if (merging)
		return merge_traces((const char *const *)argv + optind, (size_t)(argc - optind), output,
				    verb);
	if (argc - optind != 2 - !!output) {
		log_error("convert needs an input and an output");
		return verb_bad_usage(verb);
	}
	struct conversion conversion = {.input = argv[optind],
					.output = output ? output : argv[optind + 1],
					.manifests = manifests,
					.progress = true};
	if (from && !(conversion.reader = reader_by_name(from)))
		return refuse_format("there is no such input format", from, true);
	conversion.writer = to ? writer_by_name(to) : writer_by_extension(conversion.output);
	if (!conversion.writer)
		return to ? refuse_format("there is no such output format", to, false)
			  : refuse_format("its name does not tell the format; say it with --to",
					  conversion.output, false);
	if (conversion.writer->binary && file_is_terminal(conversion.output)) {
		log_error("this is a terminal; a %s trace is not for reading: name a file",
			  conversion.writer->name);
		return EXIT_USAGE;
	}
	struct conversion_result result;
	if (convert(&conversion, &result))
		return EXIT_USAGE;
	if (result.late)
		log_warning("%s: %" PRIu64 " events came too late to be put in order; some may be missing",
			    conversion.input, result.late);
	return 0;
}

const struct verb verb_convert = {
	.name = "convert",
	.summary = "turn a recording into another format",
	.help = "Usage: tracelet convert [OPTIONS] INPUT OUTPUT\n"
		"       tracelet convert --merge HOST.pb GUEST.pb... -o OUTPUT\n\n"
		"Reads a recording and writes it in another format. INPUT is told by its content,\n"
		"OUTPUT by its extension; '-' is standard input or output.\n\n"
		"  --from FORMAT    the input's format: spool, perfetto, etl, etl.zip, perf-data, dhat, "
		"folded,\n"
		"                   perf-script\n"
		"  --to FORMAT      the output's format: perfetto, folded, svg, html, speedscope, pprof\n"
		"  --manifest FILE  a .man file that describes events (ETL); may be repeated\n"
		"  --merge          one Perfetto trace of a host's and its guests': each guest is a machine\n"
		"                   of its own in it, and has the host's time\n"
		"  -o, --output OUTPUT  the output, by name\n"
		"  --quiet          no progress line\n"
		"  --help           this text\n\n"
		"Example: a run whose tracer was killed left its spool:\n"
		"  tracelet convert tracelet-out/test_20260102_030405.spool test.pb\n",
	.run = run,
};
