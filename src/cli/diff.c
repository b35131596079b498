// `tracelet diff`: two profiles of the same test, and which functions gained or lost.
#include "base/json.h"
#include "base/log.h"
#include "cli/profile_options.h"
#include "cli/verb.h"
#include "session/profile.h"
#include "write/flame.h"
#include "write/profile_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { OPTION_LIMIT = OPTION_OF_VERB, OPTION_FAIL_ABOVE, OPTION_NORMALIZE, OPTION_JSON };

struct diff_arguments {
	struct profile_input input;
	const char *output;
	unsigned limit;
	double fail_above; // percentage points; negative: never
	bool normalize, json;
};

static double share(uint64_t part, uint64_t whole) {
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

// How sure it is that a change is none of chance: two-sided, 95, 99 and 99.9 %.
static const char *stars(double z) {
	z = fabs(z);
	return z > 3.291 ? "***" : z > 2.576 ? "**" : z > 1.960 ? "*" : "";
}

static double self_change(const struct profile *profile, const struct function_row *row) {
	return share(row->self, profile->weight) - share(row->base_self, profile->base_weight);
}

static double total_change(const struct profile *profile, const struct function_row *row) {
	return share(row->total, profile->weight) - share(row->base_total, profile->base_weight);
}

// ---- tables ----

static void print_table(const struct diff_arguments *arguments, const struct profile *profile,
			const struct function_table *table) {
	struct strings *strings = profile->tables->strings;
	size_t count = arguments->limit ? MIN(table->rows.count, arguments->limit) : table->rows.count;
	printf("%llu samples before, %llu after; weight %+.2f%%\n\n",
	       (unsigned long long)profile->base_samples, (unsigned long long)profile->samples,
	       profile->base_weight ? 100.0 * ((double)profile->weight / (double)profile->base_weight - 1)
				    : 0);
	printf("  %-29s  %-28s\n", "SELF", "TOTAL");
	printf("  %7s %7s %8s %-4s %7s %7s %8s   %s\n", "before", "after", "change", "", "before", "after",
	       "change", "FUNCTION");
	for (size_t i = 0; i < count; i++) {
		const struct function_row *row = &table->rows.items[i];
		printf("  %6.2f%% %6.2f%% %+7.2f%% %-4s %6.2f%% %6.2f%% %+7.2f%%   %s\n",
		       share(row->base_self, profile->base_weight), share(row->self, profile->weight),
		       self_change(profile, row), stars(row->z), share(row->base_total, profile->base_weight),
		       share(row->total, profile->weight), total_change(profile, row),
		       strings_get(strings, row->name));
	}
	if (count < table->rows.count)
		printf("  and %zu more (--limit 0 shows all)\n", table->rows.count - count);
	printf("\n* 95%%, ** 99%%, *** 99.9%%: how sure it is that a change of SELF is not chance\n");
}

// Heap profiles: what changed is known to the unit.
static void print_heap_table(const struct diff_arguments *arguments, const struct profile *profile,
			     const struct function_table *table) {
	size_t count = arguments->limit ? MIN(table->rows.count, arguments->limit) : table->rows.count;
	const char *unit = profile_unit(profile);
	printf("%" PRIu64 " %s %s before, %" PRIu64 " after; %+" PRId64 "\n\n", profile->base_weight, unit,
	       profile->metric->words, profile->weight, (int64_t)(profile->weight - profile->base_weight));
	printf("  SELF %-39s  TOTAL %s\n", unit, unit);
	printf("  %14s %14s %14s  %14s %14s %14s  %s\n", "before", "after", "change", "before", "after",
	       "change", "FUNCTION");
	for (size_t i = 0; i < count; i++) {
		const struct function_row *row = &table->rows.items[i];
		printf("  %14" PRIu64 " %14" PRIu64 " %+14" PRId64 "  %14" PRIu64 " %14" PRIu64 " %+14" PRId64
		       "  %s\n",
		       row->base_self, row->self, (int64_t)(row->self - row->base_self), row->base_total,
		       row->total, (int64_t)(row->total - row->base_total),
		       strings_get(profile->tables->strings, row->name));
	}
	if (count < table->rows.count)
		printf("  and %zu more (--limit 0 shows all)\n", table->rows.count - count);
}

static void print_json(const struct diff_arguments *arguments, const struct profile *profile,
		       const struct function_table *table) {
	struct buffer text = {0};
	struct json json = json_into(&text);
	size_t count = arguments->limit ? MIN(table->rows.count, arguments->limit) : table->rows.count;
	json_object(&json, NULL);
	json_uint(&json, "samples_before", profile->base_samples);
	json_uint(&json, "samples_after", profile->samples);
	json_uint(&json, "weight_before", profile->base_weight);
	json_uint(&json, "weight_after", profile->weight);
	if (profile->metric)
		json_string(&json, "unit", profile_unit(profile));
	json_array(&json, "functions");
	for (size_t i = 0; i < count; i++) {
		const struct function_row *row = &table->rows.items[i];
		json_object(&json, NULL);
		json_string(&json, "name", strings_get(profile->tables->strings, row->name));
		json_uint(&json, "self_before", row->base_self);
		json_uint(&json, "self_after", row->self);
		json_uint(&json, "total_before", row->base_total);
		json_uint(&json, "total_after", row->total);
		json_double(&json, "self_change_percent", self_change(profile, row));
		json_double(&json, "total_change_percent", total_change(profile, row));
		if (!profile->metric)
			json_double(&json, "z", row->z);
		json_close_object(&json);
	}
	json_close_array(&json);
	json_close_object(&json);
	printf("%.*s\n", (int)text.size, (char *)text.data);
	buffer_free(&text);
}

static bool grew_too_much(const struct diff_arguments *arguments, const struct profile *profile,
			  const struct function_table *table) {
	if (arguments->fail_above < 0)
		return false;
	for (size_t i = 0; i < table->rows.count; i++) {
		const struct function_row *row = &table->rows.items[i];
		if (self_change(profile, row) > arguments->fail_above && row->z > 1.960) {
			log_error("%s grew by %.2f points, more than %.2f",
				  strings_get(profile->tables->strings, row->name), self_change(profile, row),
				  arguments->fail_above);
			return true;
		}
	}
	return false;
}

// ---- both profiles in one ----

static int read_both(const struct diff_arguments *arguments, char **paths, struct tables *tables,
		     struct sink *sink) {
	int error = profile_read_baseline(paths[0], arguments->input.reader, tables, sink);
	return error ? error : profile_read(paths[1], arguments->input.reader, tables, sink);
}

static int compare(const struct diff_arguments *arguments, char **paths) {
	struct tables tables = profile_tables_new(&arguments->input.options);
	struct profile profile;
	struct function_table table = {0};
	profile_init(&profile, &tables, &arguments->input.options);
	int status = read_both(arguments, paths, &tables, &profile.sink) ? EXIT_USAGE : 0;
	if (!status && (!profile.samples || !profile.base_samples)) {
		log_error("%s: there are no samples in it", paths[profile.base_samples ? 1 : 0]);
		status = EXIT_USAGE;
	}
	if (!status) {
		profile_finish(&profile);
		profile_functions(&table, &profile);
		profile_compare(&table, &profile);
		function_table_sort(&table, ORDER_CHANGE);
		if (arguments->json)
			print_json(arguments, &profile, &table);
		else
			(profile.metric ? print_heap_table : print_table)(arguments, &profile, &table);
		status = grew_too_much(arguments, &profile, &table) ? EXIT_FOUND : 0;
	}
	if (fflush(stdout) || ferror(stdout)) {
		log_error("cannot write to standard output");
		status = EXIT_USAGE;
	}
	function_table_free(&table);
	profile_free(&profile);
	profile_tables_free(&tables);
	return status;
}

static int draw(const struct diff_arguments *arguments, char **paths) {
	struct output output;
	size_t length = strlen(arguments->output);
	int error = output_open(&output, arguments->output, OUTPUT_REPLACE);
	if (error) {
		log_error("%s: cannot be written: %s", arguments->output, strerror(-error));
		return EXIT_USAGE;
	}
	struct tables tables = profile_tables_new(&arguments->input.options);
	struct flame_options options = flame_defaults;
	options.profile = arguments->input.options;
	options.normalize = arguments->normalize;
	options.html = length > 5 && strcmp(arguments->output + length - 5, ".html") == 0;
	struct sink *sink = flame_open(&output, &tables, &options);
	error = read_both(arguments, paths, &tables, sink);
	if (!error)
		error = sink_finish(sink);
	sink_destroy(sink);
	profile_tables_free(&tables);
	if (output.error || !error) {
		error = output.error ? output.error : output_commit(&output);
		if (error)
			log_error("%s: cannot be written: %s", arguments->output, strerror(-error));
	}
	output_abandon(&output);
	return error ? EXIT_USAGE : 0;
}

// ---- options ----

static int take_option(struct diff_arguments *arguments, int option, const char *value) {
	char *end;
	switch (option) {
	case OPTION_LIMIT:
		arguments->limit = (unsigned)strtoul(value, &end, 10);
		if (*value >= '0' && *value <= '9' && !*end)
			return 0;
		log_error("--limit takes a number, not '%s'", value);
		return EXIT_USAGE;
	case OPTION_FAIL_ABOVE:
		arguments->fail_above = strtod(value, &end);
		if (end != value && !*end && arguments->fail_above >= 0)
			return 0;
		log_error("--fail-above takes percentage points, not '%s'", value);
		return EXIT_USAGE;
	case OPTION_NORMALIZE:
		arguments->normalize = true;
		return 0;
	case OPTION_JSON:
		arguments->json = true;
		return 0;
	case 'o':
		arguments->output = value;
		return 0;
	default:
		return profile_option(&arguments->input, option, value);
	}
}

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option options[] = {
		PROFILE_LONG_OPTIONS,
		{"output", required_argument, NULL, 'o'},
		{"limit", required_argument, NULL, OPTION_LIMIT},
		{"fail-above", required_argument, NULL, OPTION_FAIL_ABOVE},
		{"normalize", no_argument, NULL, OPTION_NORMALIZE},
		{"json", no_argument, NULL, OPTION_JSON},
		{0},
	};
	struct diff_arguments arguments = {.limit = 30, .fail_above = -1};
	for (int option; (option = getopt_long(argc, argv, "o:qh", options, NULL)) != -1;) {
		if (option == 'h')
			return verb_print_help(verb);
		if (option == '?')
			return verb_bad_usage(verb);
		if (take_option(&arguments, option, optarg))
			return EXIT_USAGE;
	}
	if (argc - optind != 2) {
		log_error("diff needs two profiles: the one before and the one after");
		return verb_bad_usage(verb);
	}
	int status = compare(&arguments, argv + optind);
	if (status != EXIT_USAGE && arguments.output && draw(&arguments, argv + optind))
		status = EXIT_USAGE;
	return status;
}

const struct verb verb_diff = {
	.name = "diff",
	.summary = "which functions gained or lost between two profiles",
	.help = "Usage: tracelet diff [OPTIONS] BEFORE AFTER\n\n"
		"Compares two profiles of the same test, function by function: its share by itself and\n"
		"with all it calls, before and after, and whether the change may be chance.\n\n"
		"  -o, --output FILE       also a differential flame graph, .svg or .html\n"
		"      --normalize         there: as if both had as many samples in all\n"
		"      --limit N           so many functions (30); 0: all\n"
		"      --fail-above POINTS exit with 1 if a function's share surely grew by more\n"
		"      --json              as JSON\n" PROFILE_OPTIONS_HELP,
	.run = run,
};
