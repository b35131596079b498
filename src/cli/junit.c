// `tracelet junit`: adds the artifacts of a manifest to a JUnit file written by a test framework, so that a
// CI system shows them with each case.
#include "artifact/junit.h"
#include "artifact/manifest.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "base/text.h"
#include "cli/verb.h"

#include <errno.h>
#include <string.h>

struct manifest {
	struct manifest_record *items;
	size_t count, capacity;
};

// The artifact of this name beside the manifest, wherever its path leads: a folder may have been moved, and
// files outside of it are none of ours. NULL if it no longer exists.
static char *find_artifact(const char *path, const char *manifest) {
	struct stat status;
	const char *name = manifest_artifact_name(path);
	int folder = (int)(manifest_file_name(manifest) - manifest);
	CLEANUP_FREE char *beside = memory_format("%.*s%s", folder, manifest, name ? name : "");
	bool there = name && system_link_stat(beside, &status) == 0 && S_ISREG(status.st_mode);
	return there ? ci_artifact_path(beside) : NULL;
}

static void locate_artifacts(struct manifest_record *record, const char *manifest) {
	size_t kept = 0;
	for (size_t i = 0; i < record->artifacts.count; i++) {
		struct manifest_artifact artifact = record->artifacts.items[i];
		char *path = find_artifact(artifact.path, manifest);
		if (!path)
			continue;
		artifact.path = manifest_keep(record, path);
		record->artifacts.items[kept++] = artifact;
	}
	record->artifacts.count = kept;
}

// Lines that are not about a test are passed over, but a file of nothing else is no manifest.
static int read_manifest(const char *path, struct manifest *manifest) {
	struct input input;
	int error = input_open(&input, path);
	if (error) {
		log_error("cannot read %s: %s", path, strerror(-error));
		return error;
	}
	const char *at = (const char *)input.data, *end = at + input.size;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t size = (size_t)((newline ? newline : end) - at);
		struct manifest_record record;
		bool read = manifest_parse(at, size, &record);
		if (read && record.test) {
			locate_artifacts(&record, path);
			array_push(manifest, record);
		} else if (read) {
			manifest_record_free(&record);
		}
		at += size + 1;
	}
	if (input.size && !manifest->count) {
		log_error("%s: not a manifest: it describes no test", path);
		error = -EINVAL;
	}
	input_close(&input);
	return error;
}

static int write_result(const char *path, struct buffer *text) {
	struct output output;
	int error = output_open(&output, path, OUTPUT_REPLACE);
	if (!error) {
		output_take(&output, text);
		error = output_commit(&output);
	}
	if (error)
		log_error("cannot write %s: %s", path, strerror(-error));
	return error;
}

static int attach(const char *file, const char *output, const struct manifest *manifest, bool quiet) {
	struct input input;
	int error = input_open(&input, file);
	if (error) {
		log_error("cannot read %s: %s", file, strerror(-error));
		return EXIT_USAGE;
	}
	struct junit_record *records = memory_alloc((manifest->count + 1) * sizeof(*records));
	for (size_t i = 0; i < manifest->count; i++)
		records[i] = (struct junit_record){
			manifest->items[i].test, manifest->items[i].name, manifest->items[i].artifacts.items,
			manifest->items[i].artifacts.count, manifest->items[i].explanation};
	struct buffer text = {0};
	struct junit_attached attached;
	char why[256];
	error = junit_attach(input.data ? (const char *)input.data : "", input.size, records, manifest->count,
			     &text, &attached, why);
	if (error)
		log_error("%s: %s", file, why);
	else
		error = write_result(output, &text);
	if (!error && !quiet && strcmp(output, "-") != 0)
		text_line(stdout, "%s: %zu of %zu case%s %s artifacts; %zu test%s of the manifest %s no case",
			  output, attached.matched, attached.cases, plural(attached.cases),
			  attached.cases == 1 ? "has" : "have", attached.unmatched,
			  plural(attached.unmatched), attached.unmatched == 1 ? "matches" : "match");
	buffer_free(&text);
	free(records);
	input_close(&input);
	return error ? EXIT_USAGE : 0;
}

enum { OPTION_MANIFEST = LETTERS + 1 };

static const struct verb_option own_options[] = {
	{"output", 'o', "FILE", "write to FILE ('-': standard output) instead of changing FILE.xml"},
	{"manifest", OPTION_MANIFEST, "FILE",
	 "the manifest (default: manifest.jsonl in the output directory)"},
	{"quiet", 'q', NULL, "do not print how many were added"},
	{0},
};

struct request {
	const char *output, *manifest;
	bool quiet;
};

static bool take_option(int option, const char *value, void *context) {
	struct request *request = context;
	if (option == 'o')
		request->output = value;
	else if (option == OPTION_MANIFEST)
		request->manifest = value;
	else
		request->quiet = true;
	return true;
}

// A caller may name a pipe; one that others have put into the output directory must not hold us up.
static bool is_harmless(const char *path) {
	struct stat status;
	if (system_stat(path, &status) || S_ISREG(status.st_mode))
		return true;
	log_error("%s: not a regular file", path);
	return false;
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct request request = {0};
	int status = verb_take(argc, argv, verb, take_option, &request);
	if (status >= 0)
		return status;
	if (argc - optind != 1) {
		log_error("junit needs one FILE.xml");
		return verb_bad_usage(verb);
	}
	struct settings settings;
	if (!settings_load(&settings, true)) {
		settings_free(&settings);
		return EXIT_USAGE;
	}
	struct manifest manifest = {0};
	CLEANUP_FREE char *usual = memory_format("%s/manifest.jsonl", settings.output_dir);
	status = EXIT_USAGE;
	if ((request.manifest || is_harmless(usual)) &&
	    read_manifest(request.manifest ? request.manifest : usual, &manifest) == 0)
		status = attach(argv[optind], request.output ? request.output : argv[optind], &manifest,
				request.quiet);
	for (size_t i = 0; i < manifest.count; i++)
		manifest_record_free(&manifest.items[i]);
	array_free(&manifest);
	settings_free(&settings);
	return status;
}

const struct verb verb_junit = {
	.name = "junit",
	.family = FAMILY_RESULTS,
	.options = own_options,
	.summary = "add artifacts to the test cases in a JUnit file",
	.usage = "tracelet junit [OPTIONS] FILE.xml",
	.about = "Adds the artifacts of a manifest to the test cases of a JUnit file, as the lines "
		 "[[ATTACHMENT|path]] that Jenkins, GitLab and Azure look for. Everything else in the file "
		 "stays unchanged, byte for byte. A test of the manifest belongs to the case with the same "
		 "class and name, or suite and name, or name alone, even if separators differ; it is left "
		 "out unless exactly one case matches.",
	.notes = "Exit status: 0; 2 if a file cannot be read, has another format, or has no test cases.\n\n"
		 "Example: tracelet junit --manifest tracelet-out/manifest.jsonl results.xml",
	.run = run,
};
