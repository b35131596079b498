// `tracelet top`: where the time went, on the terminal.
#include "base/json.h"
#include "base/log.h"
#include "cli/profile_options.h"
#include "cli/verb.h"
#include "session/profile.h"
#include "write/profile_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { OPTION_LIMIT = OPTION_OF_VERB, OPTION_SORT, OPTION_FUNCTION, OPTION_JSON };

struct top_arguments {
	struct profile_input input;
	const char *function;
	unsigned limit;
	enum function_order order;
	bool json, sources;
};

static double share(uint64_t part, uint64_t whole) {
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

// ---- tables ----

static void print_rows(const struct top_arguments *arguments, const struct profile *profile,
		       const struct function_table *table) {
	struct strings *strings = profile->tables->strings;
	size_t count = arguments->limit ? MIN(table->rows.count, arguments->limit) : table->rows.count;
	printf("  %7s %16s  %7s %16s  %s\n", "SELF", "", "TOTAL", "", "FUNCTION");
	for (size_t i = 0; i < count; i++) {
		const struct function_row *row = &table->rows.items[i];
		const char *module = strings_get(strings, row->module);
		printf("  %6.2f%% %16" PRIu64 "  %6.2f%% %16" PRIu64 "  %s%s%s%s",
		       share(row->self, profile->weight), row->self, share(row->total, profile->weight),
		       row->total, strings_get(strings, row->name), *module ? " (" : "", module,
		       *module ? ")" : "");
		const struct frame *source = profile_source(profile, row->name, row->module);
		if (source && arguments->sources)
			printf(" at %s:%" PRIu32, strings_get(strings, source->file), source->line);
		putchar('\n');
	}
	if (count < table->rows.count)
		printf("  and %zu more (--limit 0 shows all)\n", table->rows.count - count);
}

static void print_json(const struct top_arguments *arguments, const struct profile *profile,
		       const struct function_table *table) {
	struct strings *strings = profile->tables->strings;
	struct buffer text = {0};
	struct json json = json_into(&text);
	size_t count = arguments->limit ? MIN(table->rows.count, arguments->limit) : table->rows.count;
	json_object(&json, NULL);
	json_string(&json, "event", profile_event_name(profile));
	json_uint(&json, "samples", profile->samples);
	json_uint(&json, "weight", profile->weight);
	json_array(&json, "functions");
	for (size_t i = 0; i < count; i++) {
		const struct function_row *row = &table->rows.items[i];
		json_object(&json, NULL);
		json_string(&json, "name", strings_get(strings, row->name));
		json_string(&json, "module", strings_get(strings, row->module));
		const struct frame *source = profile_source(profile, row->name, row->module);
		if (source) {
			json_string(&json, "file", strings_get(strings, source->file));
			json_uint(&json, "line", source->line);
		}
		json_uint(&json, "self", row->self);
		json_uint(&json, "total", row->total);
		json_close_object(&json);
	}
	json_close_array(&json);
	json_close_object(&json);
	printf("%.*s\n", (int)text.size, (char *)text.data);
	buffer_free(&text);
}

static int show_flat(const struct top_arguments *arguments, const struct profile *profile) {
	struct function_table table = {0};
	profile_functions(&table, profile);
	function_table_sort(&table, arguments->order);
	if (arguments->json) {
		print_json(arguments, profile, &table);
	} else {
		const char *event = profile_event_name(profile);
		printf("%" PRIu64 " samples%s%s, weight %" PRIu64 "\n\n", profile->samples,
		       *event ? " of " : "", event, profile->weight);
		print_rows(arguments, profile, &table);
	}
	function_table_free(&table);
	return 0;
}

static int show_neighbours(const struct top_arguments *arguments, const struct profile *profile) {
	struct function_table functions = {0};
	struct strings *strings = profile->tables->strings;
	const struct function_row *found = NULL;
	profile_functions(&functions, profile);
	for (size_t i = 0; i < functions.rows.count; i++)
		if (strcmp(strings_get(strings, functions.rows.items[i].name), arguments->function) == 0)
			found = &functions.rows.items[i];
	if (!found) {
		log_error("no sample has a function '%s'; 'tracelet top' without --function lists them",
			  arguments->function);
		function_table_free(&functions);
		return EXIT_USAGE;
	}
	printf("%s: self %.2f%%, total %.2f%%\n", arguments->function, share(found->self, profile->weight),
	       share(found->total, profile->weight));
	for (int callers = 1; callers >= 0; callers--) {
		struct function_table table = {0};
		profile_neighbours(&table, profile, found->name, callers);
		function_table_sort(&table, ORDER_TOTAL);
		printf("\n%s\n", callers ? "called by" : "calls");
		size_t count = arguments->limit ? MIN(table.rows.count, arguments->limit) : table.rows.count;
		for (size_t i = 0; i < count; i++)
			printf("  %6.2f%%  %6.2f%% of it  %s\n",
			       share(table.rows.items[i].total, profile->weight),
			       share(table.rows.items[i].total, found->total),
			       strings_get(strings, table.rows.items[i].name));
		if (!count)
			printf("  nothing\n");
		function_table_free(&table);
	}
	function_table_free(&functions);
	return 0;
}

static int top(const struct top_arguments *arguments, const char *path) {
	struct tables tables = profile_tables_new(&arguments->input.options);
	struct profile profile;
	profile_init(&profile, &tables, &arguments->input.options);
	tables.details = true;
	int status = profile_read(path, arguments->input.reader, &tables, &profile.sink) ? EXIT_USAGE : 0;
	if (!status) {
		profile_finish(&profile);
		if (!profile.samples) {
			log_error("%s: there are no samples in it", path);
			status = EXIT_USAGE;
		}
	}
	if (!status)
		status = arguments->function ? show_neighbours(arguments, &profile)
					     : show_flat(arguments, &profile);
	if (fflush(stdout) || ferror(stdout)) {
		log_error("cannot write to standard output");
		status = EXIT_USAGE;
	}
	profile_free(&profile);
	profile_tables_free(&tables);
	return status;
}

// ---- options ----

static int take_option(struct top_arguments *arguments, int option, const char *value) {
	char *end;
	switch (option) {
	case OPTION_LIMIT:
		arguments->limit = (unsigned)strtoul(value, &end, 10);
		if (*value >= '0' && *value <= '9' && !*end)
			return 0;
		log_error("--limit takes a number, not '%s'", value);
		return EXIT_USAGE;
	case OPTION_SORT:
		arguments->order = strcmp(value, "total") == 0 ? ORDER_TOTAL : ORDER_SELF;
		if (arguments->order == ORDER_TOTAL || strcmp(value, "self") == 0)
			return 0;
		log_error("--sort takes self or total, not '%s'", value);
		return EXIT_USAGE;
	case OPTION_FUNCTION:
		arguments->function = value;
		return 0;
	case OPTION_JSON:
		arguments->json = true;
		return 0;
	default:
		return profile_option(&arguments->input, option, value);
	}
}

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option options[] = {
		PROFILE_LONG_OPTIONS,
		{"limit", required_argument, NULL, OPTION_LIMIT},
		{"sort", required_argument, NULL, OPTION_SORT},
		{"function", required_argument, NULL, OPTION_FUNCTION},
		{"json", no_argument, NULL, OPTION_JSON},
		{0},
	};
	struct top_arguments arguments = {.limit = 30};
	for (int option; (option = getopt_long(argc, argv, "qh", options, NULL)) != -1;) {
		if (option == 'h')
			return verb_print_help(verb);
		if (option == '?')
			return verb_bad_usage(verb);
		if (take_option(&arguments, option, optarg))
			return EXIT_USAGE;
	}
	if (argc - optind > 1) {
		log_error("top takes one FILE; to compare two, use 'tracelet diff'");
		return EXIT_USAGE;
	}
	// In a column of its own, so that --function takes names as they are.
	arguments.sources = arguments.input.options.source;
	arguments.input.options.source = false;
	return top(&arguments, optind < argc ? argv[optind] : "-");
}

const struct verb verb_top = {
	.name = "top",
	.summary = "the functions of a profile by weight; callers and callees of one",
	.help = "Usage: tracelet top [OPTIONS] [FILE]\n\n"
		"Prints the functions of a profile: what each weighs itself and with all it calls.\n\n"
		"      --sort self|total   by which of the two (self)\n"
		"      --limit N           so many functions (30); 0: all\n"
		"      --function NAME     who calls this one, and whom it calls\n"
		"      --json              as JSON\n" PROFILE_OPTIONS_HELP,
	.run = run,
};
