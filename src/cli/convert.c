#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/verb.h"
#include "flow/convert.h"
#include "flow/explain.h"
#include "flow/merge.h"

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
		log_error("convert --merge needs a host's trace, the guests' traces, and -o OUTPUT");
		return verb_bad_usage(verb);
	}
	if (file_is_terminal(output)) {
		log_error("refusing to write a binary trace to a terminal; give an output file");
		return EXIT_USAGE;
	}
	if (merge(inputs, count, output, &result))
		return EXIT_USAGE;
	if (result.by_wall_clock)
		log_warning("%s: a guest's trace does not relate its clock to its host's; using wall clocks, "
			    "which may be a second off",
			    output);
	else
		log_verbose("%s: guests' times are accurate to %" PRIu64 " ns", output, result.bound);
	return 0;
}

static int convert_file(struct conversion *conversion, const char *from, const char *to) {
	if (from && !(conversion->reader = reader_by_name(from)))
		return refuse_format("unknown input format", from, true);
	conversion->writer = to ? writer_by_name(to) : writer_by_extension(conversion->output);
	if (!conversion->writer)
		return to ? refuse_format("unknown output format", to, false)
			  : refuse_format("cannot infer the format from its name; give it with --to",
					  conversion->output, false);
	if (conversion->writer->binary && file_is_terminal(conversion->output)) {
		log_error("refusing to write a binary %s trace to a terminal; give an output file",
			  conversion->writer->name);
		return EXIT_USAGE;
	}
	if (conversion->writer == &perfetto_writer)
		conversion_tap(conversion, explain_tap(NULL));
	struct conversion_result result;
	if (convert(conversion, &result))
		return EXIT_USAGE;
	if (result.tally.late)
		log_warning("%s: %" PRIu64 " event%s came too late to be sorted; some may be missing",
			    conversion->input, result.tally.late, plural(result.tally.late));
	return 0;
}

enum { OPTION_FROM = LETTERS + 1, OPTION_TO, OPTION_MANIFEST, OPTION_MERGE };

#define FORMAT_NAME(name) " " #name

static const struct verb_option own_options[] = {
	{"from", OPTION_FROM, "FORMAT",
	 "the format of the input: spool, perfetto, etl, etl.zip, etl.gz, perf-data, dhat, folded, "
	 "perf-script",
	 "spool perfetto etl etl.zip etl.gz perf-data dhat folded perf-script"},
	{"to", OPTION_TO, "FORMAT", "the format of the output:" WRITERS(FORMAT_NAME), WRITERS(FORMAT_NAME)},
	{"manifest", OPTION_MANIFEST, "FILE", "a .man file that describes events (ETL); may be repeated"},
	{"merge", OPTION_MERGE, NULL,
	 "merge the Perfetto traces of a host and its guests: each guest is a separate machine in the "
	 "result, on the host's time line"},
	{"output", 'o', "FILE", "the output file"},
	{"quiet", 'q', NULL, "do not show progress"},
	{0},
};

struct request {
	const char *from, *to, *output, *manifests[MOST_MANIFESTS + 1];
	size_t manifest_count;
	bool merging;
};

static bool take_option(int option, const char *value, void *context) {
	struct request *request = context;
	switch (option) {
	case OPTION_FROM:
		request->from = value;
		break;
	case OPTION_TO:
		request->to = value;
		break;
	case OPTION_MANIFEST:
		if (request->manifest_count < MOST_MANIFESTS)
			request->manifests[request->manifest_count++] = value;
		break;
	case OPTION_MERGE:
		request->merging = true;
		break;
	case 'o':
		request->output = value;
		break;
	default:
		log_set_level(LOG_QUIET);
	}
	return true;
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct request request = {0};
	int status = verb_take(argc, argv, verb, take_option, &request);
	if (status >= 0)
		return status;
	const char *output = request.output;
	if (request.merging)
		return merge_traces((const char *const *)argv + optind, (size_t)(argc - optind), output,
				    verb);
	int inputs = argc - optind - !output;
	if (inputs < 1) {
		log_error("convert needs an input and an output");
		return verb_bad_usage(verb);
	}
	struct conversion conversion = {.input = argv[optind],
					.more = (const char *const *)argv + optind + 1,
					.more_count = (size_t)inputs - 1,
					.output = output ? output : argv[argc - 1],
					.manifests = request.manifests,
					.progress = true};
	return convert_file(&conversion, request.from, request.to);
}

const struct verb verb_convert = {
	.name = "convert",
	.family = FAMILY_UNDERSTAND,
	.settings = OF_READING,
	.options = own_options,
	.summary = "convert a recording to another format",
	.usage = "tracelet convert [OPTIONS] INPUT... OUTPUT\n"
		 "tracelet convert --merge HOST.pb GUEST.pb... -o OUTPUT",
	.about = "Reads a recording and writes it in another format. The content of INPUT and the extension "
		 "of OUTPUT determine the formats; '-' is standard input or output. Several ETL files of one "
		 "recording become one trace, on one time line.",
	.notes = "Example: recover a trace from the spool of a run whose tracer was killed:\n"
		 "  tracelet convert tracelet-out/test_20260102_030405.spool test.pb",
	.run = run,
};
