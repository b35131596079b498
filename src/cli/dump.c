#include "base/log.h"
#include "cli/look.h"
#include "cli/verb.h"
#include "write/dump.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

enum { OPTION_TEXT = 256, OPTION_JSON, OPTION_CSV };

struct arguments {
	struct dump_options dump;
	ARRAY(const char *) manifests;
};

static int take_option(struct arguments *arguments, int option, const char *value) {
	char *end;
	switch (option) {
	case OPTION_TEXT ... OPTION_CSV:
		arguments->dump.format = (enum dump_format)(option - OPTION_TEXT);
		return 0;
	case 'p':
		arguments->dump.provider = value;
		return 0;
	case 'e':
		arguments->dump.event = value;
		return 0;
	case 'm':
		array_push(&arguments->manifests, value);
		return 0;
	case 'i':
		arguments->dump.pid = (uint32_t)strtoul(value, &end, 0);
		arguments->dump.has_pid = true;
		if (end != value && !*end)
			return 0;
		log_error("--pid: '%s' is not a number", value);
		return -EINVAL;
	case 'f':
	case 't':
		arguments->dump.has_to |= option == 't';
		if (parse_time(value, option == 'f' ? &arguments->dump.from : &arguments->dump.to))
			return 0;
		log_error("--%s: '%s' is not a time (seconds, or with ms, us, ns)",
			  option == 'f' ? "from" : "to", value);
		return -EINVAL;
	}
	return -EINVAL;
}

static int dump_file(const char *path, struct arguments *arguments) {
	struct look look;
	struct output output;
	struct tables tables = tables_new();
	array_push(&arguments->manifests, NULL);
	struct read_options options = {.manifests = arguments->manifests.items, .records = true};
	int error = look_open(&look, path);
	if (!error)
		error = output_open(&output, "-", OUTPUT_REPLACE);
	if (!error) {
		arguments->dump.only_generic = look.reader->has_records;
		look.lines = look.names = true;
		error = look_read(&look, &options, &tables, dump_new(&output, &tables, &arguments->dump));
		int written = output_commit(&output);
		if (written == -EPIPE)
			error = 0; // whoever read it has seen enough
		else if (written) {
			log_error("standard output: cannot be written: %s", strerror(-written));
			error = written;
		}
		look_close(&look);
	}
	tables_free(&tables);
	return error ? EXIT_USAGE : 0;
}

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option known[] = {
		{"text", no_argument, NULL, OPTION_TEXT},
		{"json", no_argument, NULL, OPTION_JSON},
		{"csv", no_argument, NULL, OPTION_CSV},
		{"provider", required_argument, NULL, 'p'},
		{"event", required_argument, NULL, 'e'},
		{"pid", required_argument, NULL, 'i'},
		{"from", required_argument, NULL, 'f'},
		{"to", required_argument, NULL, 't'},
		{"manifest", required_argument, NULL, 'm'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct arguments arguments = {0};
	int status = 0;
	for (int option; !status && (option = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
		if (option == 'h') {
			array_free(&arguments.manifests);
			return verb_print_help(verb);
		}
		if (option == '?')
			status = verb_bad_usage(verb);
		else if (take_option(&arguments, option, optarg))
			status = EXIT_USAGE;
	}
	if (!status && argc - optind != 1) {
		log_error("dump needs one file");
		status = verb_bad_usage(verb);
	}
	if (!status)
		status = dump_file(argv[optind], &arguments);
	array_free(&arguments.manifests);
	return status;
}

const struct verb verb_dump = {
	.name = "dump",
	.summary = "show the events of a recording, one in a line",
	.help = "Usage: tracelet dump [OPTIONS] FILE\n\n"
		"Shows the events of a recording in the order of time, with all their fields.\n\n"
		"  --text           lines to read (this is how it is without an option)\n"
		"  --json           a JSON object in each line, for jq\n"
		"  --csv            comma-separated values\n"
		"  --provider TEXT  only providers whose name or GUID holds TEXT, in any case\n"
		"  --event TEXT     only events whose name holds TEXT, in any case, or with this id\n"
		"  --pid NUMBER     only events of this process\n"
		"  --from TIME      only from this time of the trace on: 1.5 (seconds), 20ms, 7us\n"
		"  --to TIME        only up to this time\n"
		"  --manifest FILE  a .man file that describes events (ETL); may be repeated\n"
		"  --help           this text\n\n"
		"Example: how many events of each name a process had\n"
		"  tracelet dump --json --pid 1234 trace.etl | jq -r .event | sort | uniq -c\n",
	.run = run,
};
