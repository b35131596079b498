#include "base/log.h"
#include "cli/parse_option.h"
#include "cli/verb.h"
#include "flow/pipeline.h"
#include "write/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	OPTION_TEXT = LETTERS + 1, // in the order of enum dump_format
	OPTION_JSON,
	OPTION_CSV,
	OPTION_PROVIDER,
	OPTION_EVENT,
	OPTION_PID,
	OPTION_FROM,
	OPTION_TO,
	OPTION_MANIFEST,
	OPTION_ADDRESSES,
};

static const struct verb_option own_options[] = {
	{"text", OPTION_TEXT, NULL, "print readable lines (the default)"},
	{"json", OPTION_JSON, NULL, "print a JSON object on each line, for jq"},
	{"csv", OPTION_CSV, NULL, "print comma-separated values"},
	{"provider", OPTION_PROVIDER, "TEXT", "only providers whose name or GUID contains TEXT, in any case"},
	{"event", OPTION_EVENT, "TEXT", "only events whose name contains TEXT, in any case, or with this id"},
	{"pid", OPTION_PID, "NUMBER", "only events of this process"},
	{"from", OPTION_FROM, "TIME", "only from this time in the trace on: 1.5 (seconds), 20ms, 7us"},
	{"to", OPTION_TO, "TIME", "only up to this time"},
	{"addresses", OPTION_ADDRESSES, NULL,
	 "also print the instruction pointer of each sample and the addresses of its call chain"},
	{"manifest", OPTION_MANIFEST, "FILE", "a .man file that describes events (ETL); may be repeated"},
	{0},
};

struct arguments {
	struct dump_options dump;
	ARRAY(const char *) manifests;
};

static bool take_pid(struct dump_options *dump, const char *value) {
	char *end;
	dump->pid = (uint32_t)strtoul(value, &end, 0);
	dump->has_pid = true;
	if (end != value && !*end)
		return true;
	log_error("--pid: '%s' is not a number", value);
	return false;
}

static bool take_option(int option, const char *value, void *context) {
	struct arguments *arguments = context;
	struct dump_options *dump = &arguments->dump;
	switch (option) {
	case OPTION_PROVIDER:
		dump->provider = value;
		return true;
	case OPTION_EVENT:
		dump->event = value;
		return true;
	case OPTION_MANIFEST:
		array_push(&arguments->manifests, value);
		return true;
	case OPTION_ADDRESSES:
		dump->addresses = true;
		return true;
	case OPTION_PID:
		return take_pid(dump, value);
	case OPTION_FROM:
		return parse_time_option("from", value, &dump->from);
	case OPTION_TO:
		dump->has_to = true;
		return parse_time_option("to", value, &dump->to);
	default:
		dump->format = (enum dump_format)(option - OPTION_TEXT);
		return true;
	}
}

static int dump_files(const char *const *paths, size_t count, struct arguments *arguments) {
	struct output output;
	array_push(&arguments->manifests, NULL);
	struct pipeline pipeline = {.path = paths[0],
				    .more = paths + 1,
				    .more_count = count - 1,
				    .options = {.manifests = arguments->manifests.items, .records = true},
				    .lines = true};
	if (pipeline_open(&pipeline))
		return EXIT_USAGE;
	struct tables tables = pipeline_tables(true);
	if (arguments->dump.addresses)
		tables.addresses = ADDRESSES_ALL;
	int error = output_open(&output, "-", OUTPUT_REPLACE);
	if (!error) {
		arguments->dump.only_generic = pipeline.reader->has_records;
		error = pipeline_run(&pipeline, &tables, dump_new(&output, &tables, &arguments->dump));
		int written = output_commit(&output);
		if (written == -EPIPE)
			error = 0; // the reader has seen enough
		else if (written) {
			log_error("cannot write to standard output: %s", strerror(-written));
			error = written;
		}
	}
	pipeline_close(&pipeline);
	pipeline_tables_free(&tables);
	return error ? EXIT_USAGE : 0;
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct arguments arguments = {0};
	int status = verb_take(argc, argv, verb, take_option, &arguments);
	if (status < 0 && argc - optind < 1) {
		log_error("dump needs a FILE");
		status = verb_bad_usage(verb);
	}
	if (status < 0)
		status = dump_files((const char *const *)argv + optind, (size_t)(argc - optind), &arguments);
	array_free(&arguments.manifests);
	return status;
}

const struct verb verb_dump = {
	.name = "dump",
	.family = FAMILY_UNDERSTAND,
	.settings = OF_READING,
	.options = own_options,
	.summary = "print the events of a recording, one per line",
	.usage = "tracelet dump [OPTIONS] FILE...",
	.about = "Prints the events of a recording in order of time, with all their fields. Several FILEs "
		 "are ETL "
		 "files of one recording.",
	.notes = "Example: count the events of a process by name\n"
		 "  tracelet dump --json --pid 1234 trace.etl | jq -r .event | sort | uniq -c",
	.run = run,
};
