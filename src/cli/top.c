// `tracelet top`: where the time went, on the terminal.
#include "analyse/functions.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/parse_option.h"
#include "cli/sample_options.h"
#include "cli/verb.h"
#include "flow/pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { OPTION_LIMIT = OPTION_OF_VERB, OPTION_SORT, OPTION_FUNCTION, OPTION_JSON };

struct top_arguments {
	struct sample_input input;
	const char *function;
	uint64_t limit;
	enum function_order order;
	bool json, sources;
};

static double share(uint64_t part, uint64_t whole) {
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

// ---- tables ----

static void print_rows(const struct top_arguments *arguments, const struct sample_tree *profile,
		       const struct function_table *table) {
	struct strings *strings = profile->tables->strings;
	size_t count = arguments->limit ? MIN(table->rows.count, arguments->limit) : table->rows.count;
	bool weighted = sample_tree_is_weighted(profile);
	struct sample_unit shown = sample_tree_shown(profile);
	const char *unit = profile->metric || weighted ? shown.name : "";
	text_line(stdout, "  %7s %16s  %7s %16s%s  %s", "SELF", unit, "TOTAL", unit,
		  weighted ? "   SAMPLES" : "", "FUNCTION");
	for (size_t i = 0; i < count; i++) {
		const struct function_row *row = &table->rows.items[i];
		const char *module = strings_get(strings, row->module);
		const struct frame *source = sample_tree_source(profile, row->name, row->module);
		CLEANUP_FREE char *place = source && arguments->sources
						   ? memory_format(" at %s:%" PRIu32,
								   strings_get(strings, source->file),
								   source->line)
						   : NULL;
		int digits = shown.factor < 1 ? 3 : 0;
		char samples[24] = "";
		if (weighted)
			snprintf(samples, sizeof(samples), "%10" PRIu64, row->samples);
		text_line(stdout, "  %6.2f%% %16.*f  %6.2f%% %16.*f%s  %s%s%s%s%s",
			  share(row->self, profile->weight), digits, (double)row->self * shown.factor,
			  share(row->total, profile->weight), digits, (double)row->total * shown.factor,
			  samples, strings_get(strings, row->name), *module ? " (" : "", module,
			  *module ? ")" : "", place ? place : "");
	}
	if (count < table->rows.count)
		printf("  and %zu more (--limit 0 shows all)\n", table->rows.count - count);
}

static void print_json(const struct top_arguments *arguments, const struct sample_tree *profile,
		       const struct function_table *table) {
	struct strings *strings = profile->tables->strings;
	struct buffer text = {0};
	struct json json = json_into(&text);
	size_t count = arguments->limit ? MIN(table->rows.count, arguments->limit) : table->rows.count;
	json_object(&json, NULL);
	json_string(&json, "event", sample_tree_event_name(profile));
	json_uint(&json, "samples", profile->samples);
	json_uint(&json, "weight", profile->weight);
	json_string(&json, "unit",
		    sample_tree_in_nanoseconds(profile) ? "nanoseconds" : sample_tree_shown(profile).name);
	json_array(&json, "functions");
	for (size_t i = 0; i < count; i++) {
		const struct function_row *row = &table->rows.items[i];
		json_object(&json, NULL);
		json_string(&json, "name", strings_get(strings, row->name));
		json_string(&json, "module", strings_get(strings, row->module));
		const struct frame *source = sample_tree_source(profile, row->name, row->module);
		if (source) {
			json_string(&json, "file", strings_get(strings, source->file));
			json_uint(&json, "line", source->line);
		}
		json_uint(&json, "self", row->self);
		json_uint(&json, "total", row->total);
		if (sample_tree_is_weighted(profile)) {
			json_uint(&json, "self_samples", row->self_samples);
			json_uint(&json, "total_samples", row->samples);
		}
		json_close_object(&json);
	}
	json_close_array(&json);
	json_close_object(&json);
	printf("%.*s\n", (int)text.size, (char *)text.data);
	buffer_free(&text);
}

static void print_title(const struct sample_tree *profile) {
	const char *event = sample_tree_event_name(profile);
	if (profile->metric)
		text_line(stdout, "%" PRIu64 " %s %s, from %" PRIu64 " place%s", profile->weight,
			  sample_tree_unit(profile), profile->metric->words, profile->samples,
			  plural(profile->samples));
	else if (sample_tree_in_nanoseconds(profile) && sample_tree_is_weighted(profile))
		text_line(stdout, "%" PRIu64 " sample%s of %s, %.3f s", profile->samples,
			  plural(profile->samples), event, (double)profile->weight / 1e9);
	else
		text_line(stdout, "%" PRIu64 " sample%s%s%s, weight %" PRIu64, profile->samples,
			  plural(profile->samples), *event ? " of " : "", event, profile->weight);
	putchar('\n');
}

static int show_flat(const struct top_arguments *arguments, const struct sample_tree *profile) {
	struct function_table table = {0};
	sample_functions(&table, profile);
	function_table_sort(&table, arguments->order);
	if (arguments->json) {
		print_json(arguments, profile, &table);
	} else {
		print_title(profile);
		print_rows(arguments, profile, &table);
	}
	function_table_free(&table);
	return 0;
}

static int show_neighbours(const struct top_arguments *arguments, const struct sample_tree *profile) {
	struct function_table functions = {0};
	struct strings *strings = profile->tables->strings;
	const struct function_row *found = NULL;
	sample_functions(&functions, profile);
	for (size_t i = 0; i < functions.rows.count; i++)
		if (strcmp(strings_get(strings, functions.rows.items[i].name), arguments->function) == 0)
			found = &functions.rows.items[i];
	if (!found) {
		log_error(
			"no sample contains the function '%s'; 'tracelet top' without --function lists them",
			arguments->function);
		function_table_free(&functions);
		return EXIT_USAGE;
	}
	text_line(stdout, "%s: self %.2f%%, total %.2f%%", arguments->function,
		  share(found->self, profile->weight), share(found->total, profile->weight));
	for (int callers = 1; callers >= 0; callers--) {
		struct function_table table = {0};
		sample_neighbours(&table, profile, found->name, callers);
		function_table_sort(&table, ORDER_TOTAL);
		printf("\n%s\n", callers ? "called by" : "calls");
		size_t count = arguments->limit ? MIN(table.rows.count, arguments->limit) : table.rows.count;
		for (size_t i = 0; i < count; i++)
			text_line(stdout, "  %6.2f%%  %6.2f%% of it  %s",
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

static int top(const struct top_arguments *arguments, const char *const *paths, size_t count) {
	struct tables tables = pipeline_tables(!arguments->input.options.no_inline);
	struct sample_tree profile;
	sample_tree_init(&profile, &tables, &arguments->input.options);
	tables.details = true;
	int status = pipeline_samples(paths, count, arguments->input.reader, 0, &tables, &profile.sink)
			     ? EXIT_USAGE
			     : 0;
	if (!status) {
		sample_tree_finish(&profile);
		if (!profile.samples) {
			log_error("%s: no samples found", paths[0]);
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
	sample_tree_free(&profile);
	pipeline_tables_free(&tables);
	return status;
}

// ---- options ----

static const struct verb_option own_options[] = {
	{"sort", OPTION_SORT, "self|total",
	 "sort by the weight of functions themselves, or with all they call (default: self)", "self total"},
	{"limit", OPTION_LIMIT, "N", "print this many functions; 0 for all (default: 30)"},
	{"function", OPTION_FUNCTION, "NAME", "show the callers and the callees of this function"},
	{"json", OPTION_JSON, NULL, "print JSON"},
	{0},
};

static bool take_option(int option, const char *value, void *context) {
	struct top_arguments *arguments = context;
	switch (option) {
	case OPTION_LIMIT:
		return parse_count_option("limit", value, &arguments->limit);
	case OPTION_SORT:
		arguments->order = strcmp(value, "total") == 0 ? ORDER_TOTAL : ORDER_SELF;
		if (arguments->order == ORDER_TOTAL || strcmp(value, "self") == 0)
			return true;
		log_error("--sort takes self or total, not '%s'", value);
		return false;
	case OPTION_FUNCTION:
		arguments->function = value;
		return true;
	case OPTION_JSON:
		arguments->json = true;
		return true;
	default:
		return sample_option(&arguments->input, option, value);
	}
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct top_arguments arguments = {.limit = 30};
	int status = verb_take(argc, argv, verb, take_option, &arguments);
	if (status >= 0)
		return status;
	static const char *const standard_input[] = {"-"};
	const char *const *paths = optind < argc ? (const char *const *)argv + optind : standard_input;
	size_t count = (size_t)MAX(argc - optind, 1);
	if (count > 1 && pipeline_together(paths, count) != count) {
		log_error("top takes one FILE; to compare two, use 'tracelet diff'");
		return EXIT_USAGE;
	}
	// In a column of its own, so that --function takes names as they are.
	arguments.sources = arguments.input.options.source;
	arguments.input.options.source = false;
	return top(&arguments, paths, count);
}

const struct verb verb_top = {
	.name = "top",
	.family = FAMILY_UNDERSTAND,
	.settings = OF_READING,
	.options = own_options,
	.sample_options = sample_options,
	.summary = "list the functions of a profile by weight; callers and callees of one",
	.usage = "tracelet top [OPTIONS] [FILE...]",
	.about =
		"Prints the functions of a profile with the weight of each, by itself and with all it calls. "
		"Several FILEs are ETL files of one recording.",
	.run = run,
};
