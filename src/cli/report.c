// `tracelet report`: a page about a test, or about a run of many.
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

enum { OPTION_EMBED = LETTERS + 1, OPTION_BUDGET, OPTION_TITLE };

struct report_arguments {
	const char *output, *title;
	enum report_embed embed;
	bool chose_embed;
	size_t budget;
};

// ---- what is meant ----

static bool is_kind(const char *path, bool folder) {
	struct stat status;
	return system_stat(path, &status) == 0 &&
	       (folder ? S_ISDIR(status.st_mode) : S_ISREG(status.st_mode));
}

static char *folder_of(const char *path) {
	const char *name = manifest_file_name(path);
	if (name == path)
		return memory_string(".");
	return name == path + 1 ? memory_string("/") : memory_format("%.*s", (int)(name - path - 1), path);
}

// The newest record of a test under the name that the user gave, or its safe form.
static const struct report_record *newest_of(const struct report_run *run, const char *test) {
	char safe[ARTIFACT_NAME_SIZE];
	artifact_safe_name(test, safe);
	for (size_t i = run->records.count; i-- > 0;) {
		const struct manifest_record *record = &run->records.items[i].record;
		if (!record->repro &&
		    (strcmp(record->test, safe) == 0 || (record->name && strcmp(record->name, test) == 0)))
			return &run->records.items[i];
	}
	return NULL;
}

// ---- writing ----

// To the file that the user named, or to `name` in a folder of the run.
static int write_out(const struct report_arguments *arguments, const struct report_folder *folder,
		     const char *name, struct buffer *page) {
	bool here = strcmp(folder->name, ".") == 0;
	CLEANUP_FREE char *usual = here ? memory_string(name) : memory_format("%s/%s", folder->name, name);
	CLEANUP_FREE char *pinned = memory_format("%s/%s", folder->pinned, name);
	const char *path = arguments->output ? arguments->output : usual;
	int error = report_write(arguments->output ? path : pinned, page, !arguments->output);
	if (error)
		log_error("%s: cannot be written: %s", path, strerror(-error));
	else if (strcmp(path, "-") != 0)
		text_path_line(stdout, path);
	return error ? EXIT_USAGE : 0;
}

static int report_one(const struct report_arguments *arguments, struct report_run *run,
		      const struct report_record *record, const char *trace) {
	struct buffer page = {0};
	CLEANUP_FREE char *printed = record ? report_artifact(record, "output") : NULL;
	struct input output = {0};
	bool has_output = printed && input_open(&output, printed) == 0;
	int status = report_test_page(&page, run, record, trace,
				      has_output ? (const char *)output.data : NULL, output.size) &&
				     !record
			     ? EXIT_USAGE
			     : 0;
	if (has_output)
		input_close(&output);
	char safe[ARTIFACT_NAME_SIZE]; // a manifest may have any name, also one that leads elsewhere
	if (record)
		artifact_safe_name(record->record.test, safe);
	CLEANUP_FREE char *folder = record ? memory_string(record->folder) : folder_of(trace);
	CLEANUP_FREE char *name = memory_format("%s.html", record ? safe : manifest_file_name(trace));
	if (!status)
		status = write_out(arguments, report_folder(run, folder), name, &page);
	buffer_free(&page);
	return status;
}

static int report_all(const struct report_arguments *arguments, struct report_run *run, const char *first) {
	struct buffer page = {0};
	struct report_options options = {.title = arguments->title ? arguments->title : "Tests",
					 .embed = arguments->embed,
					 .budget = arguments->budget};
	report_group(run);
	report_run_page(&page, run, &options);
	int status = write_out(arguments, report_folder(run, first), "report.html", &page);
	buffer_free(&page);
	return status;
}

// ---- the verb ----

static void add_copy(struct report_run *run, const struct report_record *record) {
	struct report_record new = {.folder = report_folder(run, record->folder)->name,
				    .order = run->records.count,
				    .passed = record->passed};
	struct buffer line = {0};
	manifest_write(&record->record, &line);
	if (manifest_parse((const char *)line.data, line.size, &new.record))
		array_push(&run->records, new);
	buffer_free(&line);
}

static void add_file(struct report_run *run, const char *path, const char *folder) {
	struct report_record new = {
		.folder = report_folder(run, folder)->name, .order = run->records.count, .passed = true};
	const char *name = manifest_keep(&new.record, memory_string(manifest_file_name(path)));
	MANIFEST_PUT(&new.record, test, name);
	MANIFEST_PUT(&new.record, status, "recorded");
	MANIFEST_PUT(&new.record, result, "recorded");
	manifest_put_artifact(&new.record, "perfetto", name, 0, NULL);
	array_push(&run->records, new);
}

// One of several words: a directory, a test of the output directory, or a file.
static bool add_word(struct report_run *run, const char *output_dir, const char *word) {
	struct report_run known = {0};
	CLEANUP_FREE char *folder = folder_of(word);
	if (is_kind(word, true))
		return report_add_folder(run, word) == 0;
	bool named = !strchr(word, '/') && report_add_folder(&known, output_dir) == 0;
	const struct report_record *record = named ? newest_of(&known, word) : NULL;
	bool is_file = !record && is_kind(word, false);
	if (is_file) {
		report_run_free(&known);
		known = (struct report_run){0};
		report_add_folder(&known, folder);
		record = report_of_file(&known, manifest_file_name(word));
	}
	if (record)
		add_copy(run, record);
	else if (is_file)
		add_file(run, word, folder);
	report_run_free(&known);
	return record || is_file;
}

static int report_words(struct report_arguments *arguments, const char *output_dir, char **words,
			size_t count) {
	struct report_run run = {0};
	int status = 0;
	for (size_t i = 0; i < count && !status; i++) {
		bool folder = is_kind(words[i], true);
		if (!folder && !arguments->chose_embed)
			arguments->embed = EMBED_ALL; // they were named
		if (add_word(&run, output_dir, words[i]))
			continue;
		if (folder)
			log_error("%s: there is no manifest.jsonl, so no run to report", words[i]);
		else
			log_error("%s: neither a test in %s, nor a file or directory", words[i], output_dir);
		status = EXIT_USAGE;
	}
	if (!status)
		status = report_all(arguments, &run, is_kind(words[0], true) ? words[0] : output_dir);
	report_run_free(&run);
	return status;
}

// A test of the output directory, or a file: a test's program often has its name.
static int report_word(const struct report_arguments *arguments, const struct settings *settings,
		       const char *word) {
	struct report_run run = {0};
	const struct report_record *record = NULL;
	bool is_file = is_kind(word, false);
	if (!strchr(word, '/'))
		report_add_folder(&run, settings->output_dir);
	record = newest_of(&run, word);
	int status;
	if (record) {
		status = report_one(arguments, &run, record, NULL);
	} else if (is_file) {
		CLEANUP_FREE char *folder = folder_of(word);
		report_run_free(&run);
		run = (struct report_run){0};
		report_add_folder(&run, folder);
		status = report_one(arguments, &run, report_of_file(&run, manifest_file_name(word)), word);
	} else {
		log_error("%s: neither a test in %s, nor a file or directory", word, settings->output_dir);
		status = EXIT_USAGE;
	}
	report_run_free(&run);
	return status;
}

static const struct verb_option own_options[] = {
	{"output", 'o', "FILE", "write the page to FILE ('-': standard output)"},
	{"embed", OPTION_EMBED, "WHICH",
	 "tests that open inside the page of a run: failed (default), all or none", "failed all none"},
	{"embed-size", OPTION_BUDGET, "SIZE", "at most this much of them (default: 20M)"},
	{"title", OPTION_TITLE, "TEXT", "title of the page of a run"},
	{0},
};

static bool take_option(int option, const char *value, void *context) {
	struct report_arguments *arguments = context;
	static const char *const words[] = {
		[EMBED_FAILED] = "failed", [EMBED_ALL] = "all", [EMBED_NONE] = "none"};
	switch (option) {
	case OPTION_EMBED:
		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			if (strcmp(value, words[i]) == 0) {
				arguments->embed = (enum report_embed)i;
				arguments->chose_embed = true;
				return true;
			}
		log_error("--embed: '%s' is not failed, all or none", value);
		return false;
	case OPTION_BUDGET:
		if (settings_parse_size(value, &arguments->budget))
			return true;
		log_error("--embed-size: '%s' is not a size, as in 20M", value);
		return false;
	case OPTION_TITLE:
		arguments->title = value;
		return true;
	default:
		arguments->output = value;
		return true;
	}
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct report_arguments arguments = {.budget = REPORT_BUDGET};
	struct settings settings;
	int status = verb_take_settings(argc, argv, verb, take_option, &arguments, &settings);
	if (status >= 0)
		return status;
	size_t count = (size_t)(argc - optind);
	char **words = argv + optind, *usual[] = {(char *)settings.output_dir};
	if (!count)
		status = report_words(&arguments, settings.output_dir, usual, 1);
	else if (count > 1 || is_kind(words[0], true))
		status = report_words(&arguments, settings.output_dir, words, count);
	else
		status = report_word(&arguments, &settings, words[0]);
	settings_free(&settings);
	return status;
}

const struct verb verb_report = {
	.name = "report",
	.family = FAMILY_UNDERSTAND,
	.newcomer = true,
	.settings = OF_ARTIFACT,
	.options = own_options,
	.summary = "write a page to look at: why a test failed, or all tests of a run",
	.usage = "tracelet report [OPTIONS] [TEST|FILE|DIR...]",
	.about = "Writes one HTML file that needs nothing else: no server, no network. For a TEST (its "
		 "newest run in the output "
		 "directory) or a FILE it has the verdict, where the time went, what was different from the "
		 "last passing run, crashes, "
		 "a time line to zoom and select in, and flame graphs. For directories (the output directory "
		 "if none is named; those of "
		 "several shards or guests become one run) it has all tests in a table, failed ones first; "
		 "failed tests open inside the "
		 "page. Prints the path of the page.",
	.notes = "Exit status: 0; 2 bad options, or nothing to report.\n\n"
		 "Example: tracelet report parser_test && xdg-open tracelet-out/parser_test.html",
	.run = run,
};
