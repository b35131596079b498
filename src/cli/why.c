// `tracelet why`: where the time of a test went, in a few sentences.
#include "analyse/why.h"
#include "artifact/artifact.h"
#include "artifact/landed.h"
#include "artifact/manifest.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "base/text.h"
#include "cli/parse_option.h"
#include "cli/verb.h"
#include "flow/report.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	OPTION_JSON = LETTERS + 1,
	OPTION_THREAD,
	OPTION_FROM,
	OPTION_TO,
	OPTION_CASE,
	OPTION_BASELINE,
	OPTION_LIMIT,
};

struct why_arguments {
	struct why_question question;
	const char *baseline;
	uint64_t limit;
	bool json;
	const struct why_passes *others; // that passed before the baseline
};

// One recording and its answer.
struct answer {
	struct tables tables;
	struct timeline timeline;
	struct why why;
};

// ---- reading ----

static void answer_free(struct answer *answer) {
	why_free(&answer->why);
	timeline_free(&answer->timeline);
	pipeline_tables_free(&answer->tables);
}

static int answer_find(struct answer *answer, const char *const *paths, size_t count,
		       const struct why_question *question) {
	struct pipeline pipeline = {.path = paths[0], .more = paths + 1, .more_count = count - 1};
	*answer = (struct answer){.tables = pipeline_tables(true)};
	struct sink *sink = timeline_init(&answer->timeline, &answer->tables);
	answer->tables.details = true;
	int error = pipeline_open(&pipeline);
	if (error)
		return error;
	error = pipeline_run(&pipeline, &answer->tables, sink);
	pipeline_close(&pipeline);
	if (error)
		return error;
	error = why_find(&answer->why, &answer->timeline, question);
	if (error)
		log_error("%s: %s", paths[0], answer->why.error);
	return error;
}

// ---- earlier runs ----

static bool is_there(const char *path) {
	struct stat status;
	return system_link_stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static char *copy(const char *text) {
	return text ? memory_string(text) : NULL;
}

// What a run is compared with. The texts are NULL if there is none.
struct earlier {
	char *trace, *digest;     // of the last passing run
	struct why_passes others; // that passed before it
};

static void earlier_free(struct earlier *earlier) {
	why_passes_free(&earlier->others);
	free(earlier->trace);
	free(earlier->digest);
}

// The passing runs before the one in `path`, according to the manifest beside it. Only the lines about the
// file and about its test are read: a folder may have the runs of years.
static void find_earlier(struct earlier *earlier, const char *path) {
	const char *name = manifest_file_name(path);
	CLEANUP_FREE char *folder = name == path ? memory_string(".")
						 : memory_format("%.*s", (int)(name - path - 1), path);
	struct report_run own = {.only = name};
	report_add_folder(&own, *folder ? folder : "/");
	const struct report_record *record = report_of_file(&own, name);
	CLEANUP_FREE char *only = record ? report_test_text(record->record.test) : NULL;
	struct report_run run = {.only = only};
	if (record)
		report_add_folder(&run, *folder ? folder : "/");
	record = report_of_file(&run, name);
	const struct report_record *last = record ? report_last_pass(&run, record, &earlier->others) : NULL;
	if (last) {
		earlier->trace = report_artifact(last, NULL);
		earlier->digest = copy(last->record.time_digest);
	}
	report_run_free(&run);
	report_run_free(&own);
}

// TEST@N: N runs before the newest. To be freed; NULL if there is none.
static char *run_before(const char *folder, const char *test, const char *number) {
	char *end, *found = NULL, safe[ARTIFACT_NAME_SIZE];
	unsigned long before = strtoul(number, &end, 10);
	artifact_safe_name(test, safe);
	CLEANUP_FREE char *only = report_test_text(safe);
	struct report_run run = {.only = only};
	if (*number && !*end)
		report_add_folder(&run, folder);
	for (size_t i = run.records.count; i-- > 0;) {
		const struct report_record *record = &run.records.items[i];
		if (strcmp(record->record.test, safe) != 0 || record->record.repro)
			continue;
		char *trace = report_artifact(record, NULL);
		if ((trace || record->record.time_digest) && !before--) {
			found = trace;
			break;
		}
		free(trace);
	}
	report_run_free(&run);
	return found;
}

// A test with or without @N, or a file: a test's program often has its name. To be freed; NULL after an
// error message.
static char *find_recording(const struct settings *settings, const char *word) {
	if (strcmp(word, "-") == 0 || strchr(word, '/'))
		return memory_string(word);
	const char *at = strrchr(word, '@');
	CLEANUP_FREE char *test = memory_format("%.*s", (int)(at ? (size_t)(at - word) : strlen(word)), word);
	struct landed_question question = {
		.folder = settings->output_dir, .test = word, .variant = settings->variant};
	char *path = at ? run_before(settings->output_dir, test, at + 1) : landed_artifact(&question, NULL);
	if (!path && is_there(word))
		path = memory_string(word);
	if (!path)
		log_error("%s: neither a file nor a test with a trace in %s", word, settings->output_dir);
	return path;
}

// ---- the answer ----

static int print(const struct why_arguments *arguments, struct why *why,
		 const struct why_difference *difference) {
	struct buffer out = {0};
	if (arguments->json) {
		why_json(why, difference, &out);
		buffer_text(&out, "\n");
	} else {
		struct buffer text = {0};
		why_sentences(why, difference, &text);
		text_append_line(&out, "%.*s", (int)text.size, (const char *)text.data);
		buffer_text(&out, "\n");
		why_table(why, arguments->limit, &out);
		buffer_free(&text);
	}
	int error = file_write_all(STDOUT_FILENO, out.data, out.size);
	if (error)
		log_error("cannot write to standard output: %s", strerror(-error));
	buffer_free(&out);
	return error;
}

// Digests are about the whole test.
static bool is_about_all(const struct why_question *question) {
	return !question->thread && !question->test_case && !question->has_from && !question->has_to;
}

// `trace` is the answer about the baseline; NULL if only its parts are known.
static int compare_and_print(const struct why_arguments *arguments, struct why *why, const char *baseline,
			     const struct why_parts *before, const struct why *trace) {
	struct why_difference difference = {.baseline = baseline, .chosen = arguments->baseline};
	bool whole = is_about_all(&arguments->question);
	struct why_parts parts;
	why_parts_of(&parts, why);
	why_compare(&difference, &parts, before, whole ? arguments->others : NULL);
	if (trace)
		why_compare_order(&difference, why, trace);
	int error = print(arguments, why, &difference);
	why_difference_free(&difference);
	why_parts_free(&parts);
	return error;
}

static int compare_with_trace(const struct why_arguments *arguments, struct why *why, const char *baseline) {
	struct answer before;
	struct why_question question = arguments->question;
	question.has_from = question.has_to = false;
	int error = answer_find(&before, &baseline, 1, &question);
	if (!error) {
		struct why_parts parts;
		why_parts_of(&parts, &before.why);
		error = compare_and_print(arguments, why, baseline, &parts, &before.why);
		why_parts_free(&parts);
	}
	answer_free(&before);
	return error;
}

static int compare_with_digest(const struct why_arguments *arguments, struct why *why, const char *digest) {
	struct why_parts parts = {0};
	bool read = digest && is_about_all(&arguments->question) && why_parts_read(&parts, digest);
	int error = read ? compare_and_print(arguments, why, NULL, &parts, NULL)
			 : print(arguments, why, NULL);
	why_parts_free(&parts);
	return error;
}

// The words are names of tests or files; several are ETL files of one recording.
static int explain(struct why_arguments *arguments, const struct settings *settings, char **words,
		   size_t count) {
	CLEANUP_FREE char *path = find_recording(settings, words[0]);
	struct earlier before = {0};
	struct answer answer;
	if (!path)
		return EXIT_USAGE;
	CLEANUP_FREE const char **paths = memory_alloc(count * sizeof(*paths));
	memcpy(paths, words, count * sizeof(*paths));
	paths[0] = path;
	if (arguments->baseline && !(before.trace = find_recording(settings, arguments->baseline)))
		return EXIT_USAGE;
	int error = answer_find(&answer, paths, count, &arguments->question);
	if (!error && !before.trace && strcmp(path, "-") != 0)
		find_earlier(&before, path);
	arguments->others = &before.others;
	if (!error)
		error = before.trace ? compare_with_trace(arguments, &answer.why, before.trace)
				     : compare_with_digest(arguments, &answer.why, before.digest);
	answer_free(&answer);
	earlier_free(&before);
	return error ? EXIT_USAGE : 0;
}

// ---- options ----

static const struct verb_option own_options[] = {
	{"thread", OPTION_THREAD, "NAME|TID", "explain the end of this thread (default: the test's end)"},
	{"from", OPTION_FROM, "TIME", "only from this time in the trace on: 1.5 (seconds), 20ms, 7us"},
	{"to", OPTION_TO, "TIME", "only up to this time"},
	{"case", OPTION_CASE, "NAME", "only this case of the test program"},
	{"baseline", OPTION_BASELINE, "FILE|TEST@N",
	 "compare with this recording, or with the run of TEST that is N runs before the newest (default: "
	 "the "
	 "last passing run of the same test in the same directory)"},
	{"limit", OPTION_LIMIT, "N", "print this many segments; 0 for all (default: 10)"},
	{"json", OPTION_JSON, NULL, "print JSON"},
	{0},
};

static bool take_option(int option, const char *value, void *context) {
	struct why_arguments *arguments = context;
	struct why_question *question = &arguments->question;
	switch (option) {
	case OPTION_THREAD:
		question->thread = value;
		return true;
	case OPTION_CASE:
		question->test_case = value;
		return true;
	case OPTION_BASELINE:
		arguments->baseline = value;
		return true;
	case OPTION_FROM:
		question->has_from = true;
		return parse_time_option("from", value, &question->from);
	case OPTION_TO:
		question->has_to = true;
		return parse_time_option("to", value, &question->to);
	case OPTION_LIMIT:
		return parse_count_option("limit", value, &arguments->limit);
	default:
		arguments->json = true;
		return true;
	}
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct why_arguments arguments = {.limit = 10};
	struct settings settings;
	int status = verb_take_settings(argc, argv, verb, take_option, &arguments, &settings);
	if (status >= 0)
		return status;
	if (argc - optind >= 1) {
		status = explain(&arguments, &settings, argv + optind, (size_t)(argc - optind));
	} else {
		log_error("why needs the name of a test, or a file");
		status = verb_bad_usage(verb);
	}
	settings_free(&settings);
	return status;
}

const struct verb verb_why = {
	.name = "why",
	.family = FAMILY_UNDERSTAND,
	.newcomer = true,
	.settings = OF_ARTIFACT | OF_READING,
	.options = own_options,
	.summary = "say where the time of a test went, and what was different this time",
	.usage = "tracelet why [OPTIONS] TEST|FILE...",
	.about =
		"Follows the critical path of a recording: back from the end of the test, always with the "
		"thread that the end had to wait for. Prints what took longest and why, and the path as a "
		"table. FILE is any recording with context switches and wakeups; TEST means the newest trace "
		"of that test in the output directory. Several FILEs are ETL files of one recording.",
	.notes = "Exit status: 0; 2 bad options, or nothing to explain.\n\n"
		 "Example: tracelet run --sample -- ./parser_test && tracelet why parser_test",
	.run = run,
};
