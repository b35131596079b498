#include "analyse/table.h"
#include "base/log.h"
#include "cli/parse_option.h"
#include "cli/verb.h"
#include "flow/pipeline.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	OPTION_TEXT = LETTERS + 1, // in the order of enum table_format
	OPTION_CSV,
	OPTION_JSON,
	OPTION_LIST,
	OPTION_GROUP_BY,
	OPTION_SUM,
	OPTION_SORT,
	OPTION_REVERSE,
	OPTION_LIMIT,
	OPTION_MANIFEST,
	OPTION_FROM,
	OPTION_TO,
	OPTION_PROCESS,
	OPTION_FILTER,
	OPTION_BETWEEN,
	OPTION_FIELDS,
};

static const struct verb_option own_options[] = {
	{"list", OPTION_LIST, NULL, "list the tables with a description"},
	{"text", OPTION_TEXT, NULL, "print readable columns (the default)"},
	{"csv", OPTION_CSV, NULL, "print comma-separated values"},
	{"json", OPTION_JSON, NULL, "print an array of objects"},
	{"group-by", OPTION_GROUP_BY, "A,B",
	 "print one row for each combination of these columns, with a count; 'none' prints single rows of a "
	 "table that is grouped by default"},
	{"sum", OPTION_SUM, "C,D", "also print the sums of these columns"},
	{"sort", OPTION_SORT, "COLUMN", "sort by this column: numbers from the largest, text from A to Z"},
	{"reverse", OPTION_REVERSE, NULL, "reverse the order"},
	{"limit", OPTION_LIMIT, "NUMBER", "print only this many rows"},
	{"from", OPTION_FROM, "TIME", "only rows from this time in the trace on: 1.5 (seconds), 20ms, 7us"},
	{"to", OPTION_TO, "TIME", "only rows before this time"},
	{"between", OPTION_BETWEEN, "MARK,MARK", "only rows between these two marks, each time they occur"},
	{"process", OPTION_PROCESS, "NAME|PID", "only rows of this process"},
	{"filter", OPTION_FILTER, "TEXT", "only rows with this text in a column"},
	{"fields", OPTION_FIELDS, "A,B",
	 "generic-events: print these fields as columns, one row for each event"},
	{"manifest", OPTION_MANIFEST, "FILE", "a .man file that describes events (ETL); may be repeated"},
	{0},
};

struct arguments {
	struct table_options table;
	bool list;
	ARRAY(const char *) manifests;
};

static bool take_option(int option, const char *value, void *context) {
	struct arguments *arguments = context;
	struct table_options *table = &arguments->table;
	switch (option) {
	case OPTION_LIST:
		arguments->list = true;
		return true;
	case OPTION_GROUP_BY:
		table->group_by = value;
		return true;
	case OPTION_SUM:
		table->sum = value;
		return true;
	case OPTION_SORT:
		table->sort = value;
		return true;
	case OPTION_REVERSE:
		table->reverse = true;
		return true;
	case OPTION_FROM:
		return parse_time_option("from", value, &table->from);
	case OPTION_TO:
		return parse_time_option("to", value, &table->to);
	case OPTION_PROCESS:
		table->process = value;
		return true;
	case OPTION_FILTER:
		table->filter = value;
		return true;
	case OPTION_BETWEEN:
		table->between = value;
		return true;
	case OPTION_FIELDS:
		table->fields = value;
		return true;
	case OPTION_MANIFEST:
		array_push(&arguments->manifests, value);
		return true;
	case OPTION_LIMIT:
		return parse_count_option("limit", value, &table->limit);
	default:
		table->format = (enum table_format)(option - OPTION_TEXT);
		return true;
	}
}

static int print_table(const char *const *paths, size_t count, struct arguments *arguments) {
	const char *name = arguments->table.name;
	static const char *const with_names[] = {"cpu-usage", "cpu-samples", "event-stacks", "dpc-isr",
						 "system-calls"};
	bool named = false;
	for (size_t i = 0; i < ARRAY_SIZE(with_names); i++)
		named |= strcmp(name, with_names[i]) == 0;
	struct output output;
	struct tables tables = named ? pipeline_tables(true) : tables_new();
	array_push(&arguments->manifests, NULL);
	struct pipeline pipeline = {
		.path = paths[0],
		.more = paths + 1,
		.more_count = count - 1,
		.options = {.manifests = arguments->manifests.items, .images = strcmp(name, "images") == 0},
		.raw = !named};
	int error = output_open(&output, "-", OUTPUT_REPLACE);
	struct sink *table = table_new(&output, &tables, &arguments->table);
	if (!table)
		error = -EINVAL;
	if (!error && !(error = pipeline_open(&pipeline))) {
		error = pipeline_run(&pipeline, &tables, table);
		table = NULL;
		pipeline_close(&pipeline);
	}
	sink_destroy(table);
	int written = output_commit(&output);
	if (written == -EPIPE) {
		error = 0; // the reader has seen enough
	} else if (written) {
		log_error("cannot write to standard output: %s", strerror(-written));
		error = written;
	}
	pipeline_tables_free(&tables);
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
	struct arguments arguments = {0};
	int status = verb_take(argc, argv, verb, take_option, &arguments);
	if (status < 0 && arguments.list)
		status = list_tables();
	if (status < 0 && argc - optind < 2) {
		log_error("table needs a FILE and the NAME of a table; --list lists the names");
		status = verb_bad_usage(verb);
	}
	if (status < 0) {
		arguments.table.name = argv[argc - 1];
		status = print_table((const char *const *)argv + optind, (size_t)(argc - optind) - 1,
				     &arguments);
	}
	array_free(&arguments.manifests);
	return status;
}

const struct verb verb_table = {
	.name = "table",
	.family = FAMILY_UNDERSTAND,
	.settings = OF_READING,
	.options = own_options,
	.summary = "show a recording as tables: CPU usage, switches, disk I/O, faults",
	.usage = "tracelet table [OPTIONS] FILE... NAME\n"
		 "tracelet table --list",
	.about = "Shows one of the tables that users of Windows Performance Analyzer know, from any "
		 "recording that has "
		 "the events for it: processes, threads, images, cpu-usage, cpu-samples, cpu-usage-precise, "
		 "context-switches, dpc-isr, disk-io, file-io, network, registry, power, heap, pool, "
		 "handles, hard-faults, page-faults, "
		 "virtual-alloc, system-calls, "
		 "kvm-exits, event-stacks, kernel-events, generic-events, lost, pmu, pmu-app, pmu-driver.",
	.notes = "Example: which files were read, and for how long\n"
		 "  tracelet table trace.etl disk-io --group-by file --sum duration_us,size --sort "
		 "duration_us",
	.run = run,
};
