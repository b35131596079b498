// `tracelet diff`: compares two profiles of the same test, function by function, and their critical paths.
#include "analyse/functions.h"
#include "analyse/why.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/parse_option.h"
#include "cli/sample_options.h"
#include "cli/verb.h"
#include "flow/explain.h"
#include "write/flame/flame.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { OPTION_LIMIT = OPTION_OF_VERB, OPTION_FAIL_ABOVE, OPTION_NORMALIZE, OPTION_JSON };

struct diff_arguments {
	struct sample_input input;
	const char *output;
	uint64_t limit;
	double fail_above; // percentage points; negative: never
	bool normalize, json;
};

static size_t shown(const struct diff_arguments *arguments, size_t count) {
	return arguments->limit ? MIN(count, arguments->limit) : count;
}

static double share(uint64_t part, uint64_t whole) {
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

// How sure it is that a change is none of chance: two-sided, 95, 99 and 99.9 %.
static const char *stars(double z) {
	z = fabs(z);
	return z > 3.291 ? "***" : z > 2.576 ? "**" : z > 1.960 ? "*" : "";
}

static double self_change(const struct sample_tree *profile, const struct function_row *row) {
	return share(row->self, profile->weight) - share(row->base_self, profile->base_weight);
}

static double total_change(const struct sample_tree *profile, const struct function_row *row) {
	return share(row->total, profile->weight) - share(row->base_total, profile->base_weight);
}

// ---- critical paths ----

struct paths {
	struct explanation explanations[2]; // before, after
	struct why_parts parts[2];
	struct why_difference difference;
	bool known;
};

static void compare_paths(struct paths *paths) {
	paths->known = true;
	for (int i = 0; i < 2; i++)
		paths->known &= paths->explanations[i].digest &&
				why_parts_read(&paths->parts[i], paths->explanations[i].digest);
	if (paths->known)
		why_changes(&paths->difference, &paths->parts[1], &paths->parts[0]);
}

static void paths_free(struct paths *paths) {
	why_difference_free(&paths->difference);
	for (int i = 0; i < 2; i++) {
		why_parts_free(&paths->parts[i]);
		explanation_free(&paths->explanations[i]);
	}
}

// A change of less than a hundredth of the time is not worth a line.
static bool is_small(const struct paths *paths, const struct why_change *change) {
	uint64_t wall = MAX(paths->parts[0].wall, paths->parts[1].wall);
	return (MAX(change->ns, change->baseline_ns) - MIN(change->ns, change->baseline_ns)) * 100 < wall;
}

static void add_change(struct buffer *out, uint64_t before, uint64_t after) {
	buffer_text(out, after < before ? "-" : "+");
	why_duration(out, MAX(before, after) - MIN(before, after));
}

static void print_change(const struct why_change *change) {
	struct buffer before = {0}, after = {0}, difference = {0};
	why_duration(&before, change->baseline_ns);
	why_duration(&after, change->ns);
	add_change(&difference, change->baseline_ns, change->ns);
	text_line(stdout, "  %9.*s %9.*s %9.*s %s %-15s  %-11s  %s%s%s", (int)before.size,
		  (char *)before.data, (int)after.size, (char *)after.data, (int)difference.size,
		  (char *)difference.data, change->grew ? "!" : " ", change->role, change->reason,
		  change->function ? change->function : "", change->caller ? " < " : "",
		  change->caller ? change->caller : "");
	buffer_free(&before);
	buffer_free(&after);
	buffer_free(&difference);
}

static void print_paths(const struct diff_arguments *arguments, const struct paths *paths) {
	const struct why_difference *difference = &paths->difference;
	struct buffer text = {0};
	buffer_text(&text, "critical path: ");
	why_duration(&text, paths->parts[0].wall);
	buffer_text(&text, " before, ");
	why_duration(&text, paths->parts[1].wall);
	buffer_text(&text, " after; ");
	add_change(&text, paths->parts[0].wall, paths->parts[1].wall);
	printf("%.*s\n\n  %9s %9s %9s   %-15s  %-11s  %s\n", (int)text.size, (char *)text.data, "before",
	       "after", "change", "THREAD", "REASON", "FUNCTION");
	buffer_free(&text);
	for (size_t i = 0; i < shown(arguments, difference->changes.count); i++)
		if (!is_small(paths, &difference->changes.items[i]))
			print_change(&difference->changes.items[i]);
	printf("\n! grew by more than runs usually differ; changes below 1 %% are left out\n");
}

static void add_path(struct json *json, const struct diff_arguments *arguments, const struct paths *paths) {
	const struct why_difference *difference = &paths->difference;
	if (!paths->known) {
		json_string(json, "path", NULL);
		return;
	}
	json_object(json, "path");
	json_uint(json, "wall_before_ns", paths->parts[0].wall);
	json_uint(json, "wall_after_ns", paths->parts[1].wall);
	json_array(json, "segments");
	for (size_t i = 0; i < shown(arguments, difference->changes.count); i++) {
		const struct why_change *change = &difference->changes.items[i];
		json_object(json, NULL);
		why_json_part(json, change);
		json_uint(json, "before_ns", change->baseline_ns);
		json_uint(json, "after_ns", change->ns);
		json_bool(json, "grew", change->grew);
		json_close_object(json);
	}
	json_close_array(json);
	json_close_object(json);
}

// ---- tables ----

static void print_table(const struct diff_arguments *arguments, const struct sample_tree *profile,
			const struct function_table *table) {
	struct strings *strings = profile->tables->strings;
	size_t count = shown(arguments, table->rows.count);
	printf("%llu sample%s before, %llu after; weight %+.2f%%\n\n",
	       (unsigned long long)profile->base_samples, plural(profile->base_samples),
	       (unsigned long long)profile->samples,
	       profile->base_weight ? 100.0 * ((double)profile->weight / (double)profile->base_weight - 1)
				    : 0);
	printf("  %-29s  %-28s\n", "SELF", "TOTAL");
	printf("  %7s %7s %8s %-4s %7s %7s %8s   %s\n", "before", "after", "change", "", "before", "after",
	       "change", "FUNCTION");
	for (size_t i = 0; i < count; i++) {
		const struct function_row *row = &table->rows.items[i];
		text_line(stdout, "  %6.2f%% %6.2f%% %+7.2f%% %-4s %6.2f%% %6.2f%% %+7.2f%%   %s",
			  share(row->base_self, profile->base_weight), share(row->self, profile->weight),
			  self_change(profile, row), stars(row->z),
			  share(row->base_total, profile->base_weight), share(row->total, profile->weight),
			  total_change(profile, row), strings_get(strings, row->name));
	}
	if (count < table->rows.count)
		printf("  and %zu more (--limit 0 shows all)\n", table->rows.count - count);
	printf("\n* 95%%, ** 99%%, *** 99.9%%: confidence that a change of SELF is not chance\n");
}

// Heap profiles: what changed is known to the unit.
static void print_heap_table(const struct diff_arguments *arguments, const struct sample_tree *profile,
			     const struct function_table *table) {
	size_t count = shown(arguments, table->rows.count);
	const char *unit = sample_tree_unit(profile);
	text_line(stdout, "%" PRIu64 " %s %s before, %" PRIu64 " after; %+" PRId64, profile->base_weight,
		  unit, profile->metric->words, profile->weight,
		  (int64_t)(profile->weight - profile->base_weight));
	putchar('\n');
	text_line(stdout, "  SELF %-39s  TOTAL %s", unit, unit);
	printf("  %14s %14s %14s  %14s %14s %14s  %s\n", "before", "after", "change", "before", "after",
	       "change", "FUNCTION");
	for (size_t i = 0; i < count; i++) {
		const struct function_row *row = &table->rows.items[i];
		text_line(stdout,
			  "  %14" PRIu64 " %14" PRIu64 " %+14" PRId64 "  %14" PRIu64 " %14" PRIu64
			  " %+14" PRId64 "  %s",
			  row->base_self, row->self, (int64_t)(row->self - row->base_self), row->base_total,
			  row->total, (int64_t)(row->total - row->base_total),
			  strings_get(profile->tables->strings, row->name));
	}
	if (count < table->rows.count)
		printf("  and %zu more (--limit 0 shows all)\n", table->rows.count - count);
}

static void print_json(const struct diff_arguments *arguments, const struct sample_tree *profile,
		       const struct function_table *table, const struct paths *paths) {
	struct buffer text = {0};
	struct json json = json_into(&text);
	size_t count = shown(arguments, table->rows.count);
	json_object(&json, NULL);
	json_uint(&json, "samples_before", profile->base_samples);
	json_uint(&json, "samples_after", profile->samples);
	json_uint(&json, "weight_before", profile->base_weight);
	json_uint(&json, "weight_after", profile->weight);
	if (profile->metric)
		json_string(&json, "unit", sample_tree_unit(profile));
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
	add_path(&json, arguments, paths);
	json_close_object(&json);
	printf("%.*s\n", (int)text.size, (char *)text.data);
	buffer_free(&text);
}

static bool grew_too_much(const struct diff_arguments *arguments, const struct sample_tree *profile,
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

static int read_one(const struct diff_arguments *arguments, const char *path, uint32_t flags,
		    struct explanation *explanation, struct tables *tables, struct sink *sink) {
	struct pipeline pipeline = {.path = path,
				    .reader = arguments->input.reader,
				    .samples = true,
				    .shared = true,
				    .sample_flags = flags,
				    .taps = {explain_tap(explanation)}};
	int error = pipeline_open(&pipeline);
	if (error)
		return error;
	error = pipeline_run(&pipeline, tables, sink);
	pipeline_close(&pipeline);
	return error;
}

static int read_both(const struct diff_arguments *arguments, char **files, struct paths *paths,
		     struct tables *tables, struct sink *sink) {
	struct explanation *explanations = paths->explanations;
	int error = read_one(arguments, files[0], SAMPLE_BASELINE, &explanations[0], tables, sink);
	return error ? error : read_one(arguments, files[1], 0, &explanations[1], tables, sink);
}

static void print(const struct diff_arguments *arguments, struct sample_tree *profile,
		  const struct function_table *table, const struct paths *paths) {
	if (arguments->json) {
		print_json(arguments, profile, table, paths);
		return;
	}
	if (paths->known)
		print_paths(arguments, paths);
	if (paths->known && profile->samples)
		putchar('\n');
	if (profile->samples)
		(profile->metric ? print_heap_table : print_table)(arguments, profile, table);
}

static int compare(const struct diff_arguments *arguments, char **files) {
	struct tables tables = pipeline_tables(!arguments->input.options.no_inline);
	struct sample_tree profile;
	struct function_table table = {0};
	struct paths paths = {0};
	sample_tree_init(&profile, &tables, &arguments->input.options);
	int status = read_both(arguments, files, &paths, &tables, &profile.sink) ? EXIT_USAGE : 0;
	compare_paths(&paths);
	if (!status && !paths.known && (!profile.samples || !profile.base_samples)) {
		log_error("%s: no samples found", files[profile.base_samples ? 1 : 0]);
		status = EXIT_USAGE;
	}
	if (!status) {
		sample_tree_finish(&profile);
		sample_functions(&table, &profile);
		sample_compare(&table, &profile);
		function_table_sort(&table, ORDER_CHANGE);
		print(arguments, &profile, &table, &paths);
		status = grew_too_much(arguments, &profile, &table) ? EXIT_FOUND : 0;
	}
	if (fflush(stdout) || ferror(stdout)) {
		log_error("cannot write to standard output");
		status = EXIT_USAGE;
	}
	paths_free(&paths);
	function_table_free(&table);
	sample_tree_free(&profile);
	pipeline_tables_free(&tables);
	return status;
}

static int draw(const struct diff_arguments *arguments, const char *const *paths) {
	struct output output;
	size_t length = strlen(arguments->output);
	int error = output_open(&output, arguments->output, OUTPUT_REPLACE);
	if (error) {
		log_error("%s: cannot be written: %s", arguments->output, strerror(-error));
		return EXIT_USAGE;
	}
	struct tables tables = pipeline_tables(!arguments->input.options.no_inline);
	struct flame_options options = flame_defaults;
	options.profile = arguments->input.options;
	options.normalize = arguments->normalize;
	options.html = length > 5 && strcmp(arguments->output + length - 5, ".html") == 0;
	struct sink *sink = flame_open(&output, &tables, &options);
	error = pipeline_samples(paths, 1, arguments->input.reader, SAMPLE_BASELINE, &tables, sink);
	if (!error)
		error = pipeline_samples(paths + 1, 1, arguments->input.reader, 0, &tables, sink);
	if (!error)
		error = sink_finish(sink);
	sink_destroy(sink);
	pipeline_tables_free(&tables);
	if (output.error || !error) {
		error = output.error ? output.error : output_commit(&output);
		if (error)
			log_error("%s: cannot be written: %s", arguments->output, strerror(-error));
	}
	output_abandon(&output);
	return error ? EXIT_USAGE : 0;
}

// ---- options ----

static const struct verb_option own_options[] = {
	{"output", 'o', "FILE", "also draw a differential flame graph, .svg or .html"},
	{"normalize", OPTION_NORMALIZE, NULL, "scale both to the same total number of samples"},
	{"limit", OPTION_LIMIT, "N", "print this many functions; 0 for all (default: 30)"},
	{"fail-above", OPTION_FAIL_ABOVE, "POINTS",
	 "exit with 1 if a function's own share grew by more percentage points than this, with 95 % "
	 "confidence"},
	{"json", OPTION_JSON, NULL, "print JSON"},
	{0},
};

static bool take_option(int option, const char *value, void *context) {
	struct diff_arguments *arguments = context;
	char *end;
	switch (option) {
	case OPTION_LIMIT:
		return parse_count_option("limit", value, &arguments->limit);
	case OPTION_FAIL_ABOVE:
		arguments->fail_above = strtod(value, &end);
		if (end != value && !*end && arguments->fail_above >= 0)
			return true;
		log_error("--fail-above takes percentage points, not '%s'", value);
		return false;
	case OPTION_NORMALIZE:
		arguments->normalize = true;
		return true;
	case OPTION_JSON:
		arguments->json = true;
		return true;
	case 'o':
		arguments->output = value;
		return true;
	default:
		return sample_option(&arguments->input, option, value);
	}
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct diff_arguments arguments = {.limit = 30, .fail_above = -1};
	int status = verb_take(argc, argv, verb, take_option, &arguments);
	if (status >= 0)
		return status;
	if (argc - optind != 2) {
		log_error("diff needs two profiles: BEFORE and AFTER");
		return verb_bad_usage(verb);
	}
	status = compare(&arguments, argv + optind);
	if (status != EXIT_USAGE && arguments.output && draw(&arguments, (const char *const *)argv + optind))
		status = EXIT_USAGE;
	return status;
}

const struct verb verb_diff = {
	.name = "diff",
	.family = FAMILY_UNDERSTAND,
	.settings = OF_READING,
	.options = own_options,
	.sample_options = sample_options,
	.summary = "compare two profiles or traces: what grew or shrank",
	.usage = "tracelet diff [OPTIONS] BEFORE AFTER",
	.about = "Compares two profiles of the same test, function by function: the share of each by itself "
		 "and with all it calls, before and after, and whether the change may be chance. Of two "
		 "traces of a test, also their critical paths: which parts of the time grew, by thread, "
		 "reason and function.",
	.run = run,
};
