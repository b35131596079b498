#include "base/log.h"
#include "cli/look.h"
#include "cli/verb.h"
#include "write/table.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum { OPTION_TEXT = 256, OPTION_CSV, OPTION_JSON };

struct arguments {
	struct table_options table;
	ARRAY(const char *) manifests;
};

static int take_option(struct arguments *arguments, int option, const char *value) {
	char *end;
	switch (option) {
	case OPTION_TEXT ... OPTION_JSON:
		arguments->table.format = (enum table_format)(option - OPTION_TEXT);
		return 0;
	case 'g':
		arguments->table.group_by = value;
		return 0;
	case 's':
		arguments->table.sum = value;
		return 0;
	case 'o':
		arguments->table.sort = value;
		return 0;
	case 'r':
		arguments->table.reverse = true;
		return 0;
	case 'm':
		array_push(&arguments->manifests, value);
		return 0;
	case 'l':
		arguments->table.limit = strtoull(value, &end, 10);
		if (end != value && !*end)
			return 0;
		log_error("--limit: '%s' is not a number", value);
		return -EINVAL;
	}
	return -EINVAL;
}

static int print_table(const char *path, struct arguments *arguments) {
	struct look look;
	struct output output;
	struct tables tables = tables_new();
	array_push(&arguments->manifests, NULL);
	struct read_options options = {.manifests = arguments->manifests.items,
				       .images = strcmp(arguments->table.name, "images") == 0};
	int error = output_open(&output, "-", OUTPUT_REPLACE);
	struct sink *table = table_new(&output, &tables, &arguments->table);
	if (!table)
		error = -EINVAL;
	if (!error && !(error = look_open(&look, path))) {
		look.names = strcmp(arguments->table.name, "cpu-usage") == 0 ||
			     strcmp(arguments->table.name, "cpu-samples") == 0;
		error = look_read(&look, &options, &tables, table);
		table = NULL;
		look_close(&look);
	}
	sink_destroy(table);
	int written = output_commit(&output);
	if (written == -EPIPE) {
		error = 0; // whoever read it has seen enough
	} else if (written) {
		log_error("standard output: cannot be written: %s", strerror(-written));
		error = written;
	}
	tables_free(&tables);
	return error ? EXIT_USAGE : 0;
}

static int list_tables(void) {
	struct table_name names[64];
	size_t count = MIN(table_names(names, ARRAY_SIZE(names)), ARRAY_SIZE(names));
	for (size_t i = 0; i < count; i++)
		printf("%-18s %s\n", names[i].name, names[i].summary);
	return 0;
}

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option known[] = {
		{"text", no_argument, NULL, OPTION_TEXT},   {"csv", no_argument, NULL, OPTION_CSV},
		{"json", no_argument, NULL, OPTION_JSON},   {"group-by", required_argument, NULL, 'g'},
		{"sum", required_argument, NULL, 's'},      {"sort", required_argument, NULL, 'o'},
		{"reverse", no_argument, NULL, 'r'},        {"limit", required_argument, NULL, 'l'},
		{"manifest", required_argument, NULL, 'm'}, {"list", no_argument, NULL, 'L'},
		{"help", no_argument, NULL, 'h'},           {0},
	};
	struct arguments arguments = {0};
	int status = -1;
	for (int option; status < 0 && (option = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
		if (option == 'h')
			status = verb_print_help(verb);
		else if (option == 'L')
			status = list_tables();
		else if (option == '?')
			status = verb_bad_usage(verb);
		else if (take_option(&arguments, option, optarg))
			status = EXIT_USAGE;
	}
	if (status < 0 && argc - optind != 2) {
		log_error("table needs a file and the name of a table; --list tells the names");
		status = verb_bad_usage(verb);
	}
	if (status < 0) {
		arguments.table.name = argv[optind + 1];
		status = print_table(argv[optind], &arguments);
	}
	array_free(&arguments.manifests);
	return status;
}

const struct verb verb_table = {
	.name = "table",
	.summary = "show a table made from a recording",
	.help = "Usage: tracelet table [OPTIONS] FILE NAME\n\n"
		"Shows one of the tables that Windows Performance Analyzer's users know, from any\n"
		"recording that has the events for it: processes, threads, images, cpu-usage,\n"
		"cpu-samples, cpu-usage-precise, context-switches, dpc-isr, disk-io, hard-faults,\n"
		"page-faults, virtual-alloc, system-calls, kvm-exits, event-stacks, kernel-events,\n"
		"generic-events, lost, pmu, pmu-app, pmu-driver.\n\n"
		"  --list           the tables, a line about each\n"
		"  --text           columns to read (this is how it is without an option)\n"
		"  --csv            comma-separated values\n"
		"  --json           an array of objects\n"
		"  --group-by A,B   one row for each combination of these columns, with a count;\n"
		"                   'none' for all rows of a table that is grouped by itself\n"
		"  --sum C,D        and the sums of these columns\n"
		"  --sort COLUMN    numbers from the largest, text from A to Z\n"
		"  --reverse        the other way round\n"
		"  --limit NUMBER   only so many rows\n"
		"  --manifest FILE  a .man file that describes events (ETL); may be repeated\n"
		"  --help           this text\n\n"
		"Example: which files were read for how long\n"
		"  tracelet table trace.etl disk-io --group-by file --sum duration_us,size --sort "
		"duration_us\n",
	.run = run,
};
