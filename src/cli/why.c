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
#include "flow/pipeline.h"

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
	struct why_passes *others; // that passed before the baseline
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

struct earlier_run {
	char *trace, *digest; // NULL if none
	bool passed;
};

// The runs of one test, in the order of the manifest.
struct history {
	const char *folder, *file; // the run is the one with this file; NULL for the newest
	char test[ARTIFACT_NAME_SIZE];
	char *variant_hash;
	ARRAY(struct earlier_run) runs;
	bool complete;
};

static char *trace_in(const char *folder, const struct manifest_record *record, const char *file,
		      bool *is_file) {
	char *found = NULL;
	for (size_t i = 0; i < record->artifacts.count; i++) {
		const struct manifest_artifact *artifact = &record->artifacts.items[i];
		const char *name = manifest_artifact_name(artifact->path);
		if (!name)
			continue;
		*is_file |= file && strcmp(name, file) == 0;
		if (!found && manifest_is_trace(artifact))
			found = memory_format("%s/%s", folder, name);
	}
	return found;
}

static void find_test(void *context, const struct manifest_record *record) {
	struct history *history = context;
	bool is_file = false;
	free(trace_in(history->folder, record, history->file, &is_file));
	if (!is_file || !record->test)
		return;
	snprintf(history->test, sizeof(history->test), "%s", record->test);
	free(history->variant_hash);
	history->variant_hash = record->variant_hash ? memory_string(record->variant_hash) : NULL;
}

static void take_run(void *context, const struct manifest_record *record) {
	struct history *history = context;
	const char *hash = history->variant_hash ? history->variant_hash : "";
	bool is_file = false;
	if (history->complete || !record->test || strcmp(record->test, history->test) != 0 || record->repro ||
	    (history->file && strcmp(record->variant_hash ? record->variant_hash : "", hash) != 0))
		return;
	char *trace = trace_in(history->folder, record, history->file, &is_file);
	history->complete = is_file;
	bool digested = record->there.time_digest == MANIFEST_THERE;
	if (trace || digested)
		array_push(
			&history->runs,
			(struct earlier_run){.trace = trace,
					     .digest = digested ? memory_string(record->time_digest) : NULL,
					     .passed = manifest_passed(record)});
}

static void history_free(struct history *history) {
	for (size_t i = 0; i < history->runs.count; i++) {
		free(history->runs.items[i].trace);
		free(history->runs.items[i].digest);
	}
	array_free(&history->runs);
	free(history->variant_hash);
}

static bool is_there(const char *path) {
	struct stat status;
	return system_link_stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static void keep_pass(struct why_passes *passes, const char *digest) {
	struct why_parts parts = {0};
	if (passes->list.count < WHY_PASSES && digest && why_parts_read(&parts, digest))
		array_push(&passes->list, parts);
	else
		why_parts_free(&parts);
}

// The last passing run before the one in `path`, according to the manifest beside it. Its trace and its
// digest are to be freed; both are NULL if there is none. Those that passed before it are added to `others`.
static struct earlier_run last_pass(const char *path, struct why_passes *others) {
	const char *name = manifest_file_name(path);
	CLEANUP_FREE char *folder = name == path ? memory_string(".")
						 : memory_format("%.*s", (int)(name - path - 1), path);
	struct history history = {.folder = *folder ? folder : "/", .file = name};
	struct earlier_run found = {0};
	if (manifest_walk(history.folder, find_test, &history) == 0 && *history.test)
		manifest_walk(history.folder, take_run, &history);
	for (size_t i = history.complete ? history.runs.count - 1 : 0;
	     i-- > 0 && others->list.count < WHY_PASSES;) {
		struct earlier_run *run = &history.runs.items[i];
		if (!run->passed)
			continue;
		if (found.passed) {
			keep_pass(others, run->digest);
			continue;
		}
		bool there = run->trace && is_there(run->trace);
		if (!there && !run->digest)
			continue;
		found = (struct earlier_run){.passed = true,
					     .trace = there ? memory_string(run->trace) : NULL,
					     .digest = run->digest ? memory_string(run->digest) : NULL};
	}
	history_free(&history);
	return found;
}

// TEST@N: N runs before the newest. To be freed; NULL if there is none.
static char *run_before(const char *folder, const char *test, const char *number) {
	char *end;
	unsigned long before = strtoul(number, &end, 10);
	struct history history = {.folder = folder};
	char *found = NULL;
	artifact_safe_name(test, history.test);
	if (*number && !*end && manifest_walk(folder, take_run, &history) == 0 &&
	    before < history.runs.count && history.runs.items[history.runs.count - 1 - before].trace)
		found = memory_string(history.runs.items[history.runs.count - 1 - before].trace);
	history_free(&history);
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
	struct earlier_run before = {0};
	struct why_passes others = {0};
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
		before = last_pass(path, &others);
	arguments->others = &others;
	if (!error)
		error = before.trace ? compare_with_trace(arguments, &answer.why, before.trace)
				     : compare_with_digest(arguments, &answer.why, before.digest);
	answer_free(&answer);
	why_passes_free(&others);
	free(before.trace);
	free(before.digest);
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
