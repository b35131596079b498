#include "base/file.h"
#include "base/log.h"
#include "cli/verb.h"
#include "flow/pipeline.h"
#include "write/info.h"

#include <string.h>
#include <unistd.h>

// Counts all events. The sink lives until the pipeline is closed.
static int describe_any(struct pipeline *pipeline, struct info *info, struct tables *tables,
			struct buffer *out) {
	uint64_t size = pipeline->input.total;
	int error = pipeline_run(pipeline, tables, info_init(info, tables));
	if (!error)
		info_write(info, pipeline->path, pipeline->reader->name, size ? size : pipeline->input.offset,
			   pipeline->options.json, out);
	return error;
}

static int print_info(const char *const *paths, size_t count, const struct read_options *options) {
	struct pipeline pipeline = {.path = paths[0],
				    .more = paths + 1,
				    .more_count = count - 1,
				    .options = *options,
				    .raw = true};
	struct buffer out = {0};
	if (pipeline_open(&pipeline))
		return EXIT_USAGE;
	bool described = pipeline.reader->describe;
	struct tables tables = tables_new();
	struct info info;
	int error = described ? pipeline.reader->describe(&pipeline.input, paths[0], &pipeline.options, &out)
			      : describe_any(&pipeline, &info, &tables, &out);
	pipeline_close(&pipeline);
	if (!described)
		info_free(&info);
	tables_free(&tables);
	if (!error && (error = file_write_all(STDOUT_FILENO, out.data, out.size)))
		log_error("cannot write to standard output: %s", strerror(-error));
	buffer_free(&out);
	return error ? EXIT_USAGE : 0;
}

enum { OPTION_JSON = LETTERS + 1, OPTION_MANIFEST };

static const struct verb_option own_options[] = {
	{"json", OPTION_JSON, NULL, "print JSON"},
	{"manifest", OPTION_MANIFEST, "FILE", "a .man file that describes events (ETL); may be repeated"},
	{0},
};

struct arguments {
	bool json;
	ARRAY(const char *) manifests;
};

static bool take_option(int option, const char *value, void *context) {
	struct arguments *arguments = context;
	if (option == OPTION_MANIFEST)
		array_push(&arguments->manifests, value);
	else
		arguments->json = true;
	return true;
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct arguments arguments = {0};
	int status = verb_take(argc, argv, verb, take_option, &arguments);
	if (status < 0 && argc - optind < 1) {
		log_error("info needs a FILE");
		status = verb_bad_usage(verb);
	}
	if (status < 0) {
		array_push(&arguments.manifests, NULL);
		struct read_options options = {.json = arguments.json,
					       .manifests = arguments.manifests.items};
		status = print_info((const char *const *)argv + optind, (size_t)(argc - optind), &options);
	}
	array_free(&arguments.manifests);
	return status;
}

const struct verb verb_info = {
	.name = "info",
	.family = FAMILY_UNDERSTAND,
	.settings = OF_READING,
	.options = own_options,
	.summary = "show what a recording holds: where, when, how long, which events, what was lost",
	.usage = "tracelet info [OPTIONS] FILE...",
	.about = "Shows what a recording holds: where it was made, how long it is, what it lost, which "
		 "providers wrote "
		 "events into it and how many. Several FILEs are ETL files of one recording.",
	.run = run,
};
