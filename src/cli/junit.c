// `tracelet junit`: the artifacts of a manifest into a JUnit file that a test framework has
// written, so that a CI shows them beside each case.
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "cli/verb.h"
#include "session/junit.h"
#include "session/manifest.h"
#include "session/manifest_line.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

struct manifest {
	struct manifest_line *items;
	size_t count, capacity;
};

// A path in the manifest is meant from where tracelet was run; if that is elsewhere, the file is
// beside the manifest. NULL: it is not there any more.
static char *find_artifact(const char *path, const char *manifest) {
	struct stat status;
	int folder = (int)(manifest_file_name(manifest) - manifest);
	CLEANUP_FREE char *beside = memory_format("%.*s%s", folder, manifest, manifest_file_name(path));
	return system_stat(path, &status) == 0     ? ci_artifact_path(path)
	       : system_stat(beside, &status) == 0 ? ci_artifact_path(beside)
						   : NULL;
}

static void locate_artifacts(struct manifest_line *record, const char *manifest) {
	size_t kept = 0;
	for (size_t i = 0; i < record->artifact_count; i++) {
		struct ci_artifact artifact = record->artifacts[i];
		char *path = find_artifact(artifact.path, manifest);
		free((char *)(uintptr_t)artifact.path);
		artifact.path = path;
		if (path)
			record->artifacts[kept++] = artifact;
	}
	record->artifact_count = kept;
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
		struct manifest_line line = {0};
		if (manifest_line_parse(at, size, &line)) {
			locate_artifacts(&line, path);
			array_push(manifest, line);
		}
		at += size + 1;
	}
	if (input.size && !manifest->count) {
		log_error("%s: is no manifest: no line of it is about a test", path);
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
		records[i] = (struct junit_record){manifest->items[i].test, manifest->items[i].artifacts,
						   manifest->items[i].artifact_count};
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
		printf("%s: %zu of %zu cases have artifacts; %zu tests of the manifest belong to none\n",
		       output, attached.matched, attached.cases, attached.unmatched);
	buffer_free(&text);
	free(records);
	input_close(&input);
	return error ? EXIT_USAGE : 0;
}

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option options[] = {
		{"output", required_argument, NULL, 'o'},
		{"manifest", required_argument, NULL, 'm'},
		{"quiet", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *output = NULL, *manifest_path = NULL;
	bool quiet = false;
	for (int option; (option = getopt_long(argc, argv, "o:qh", options, NULL)) != -1;) {
		switch (option) {
		case 'o':
			output = optarg;
			break;
		case 'm':
			manifest_path = optarg;
			break;
		case 'q':
			quiet = true;
			break;
		case 'h':
			return verb_print_help(verb);
		default:
			return verb_bad_usage(verb);
		}
	}
	if (argc - optind != 1) {
		log_error("junit needs one file");
		return verb_bad_usage(verb);
	}
	struct settings settings;
	if (!settings_load(&settings)) {
		settings_free(&settings);
		return EXIT_USAGE;
	}
	struct manifest manifest = {0};
	CLEANUP_FREE char *usual = memory_format("%s/manifest.jsonl", settings.output_dir);
	int status = EXIT_USAGE;
	if (read_manifest(manifest_path ? manifest_path : usual, &manifest) == 0)
		status = attach(argv[optind], output ? output : argv[optind], &manifest, quiet);
	for (size_t i = 0; i < manifest.count; i++)
		manifest_line_free(&manifest.items[i]);
	array_free(&manifest);
	settings_free(&settings);
	return status;
}

const struct verb verb_junit = {
	.name = "junit",
	.summary = "add artifacts to the test cases of a JUnit file",
	.help = "Usage: tracelet junit [OPTIONS] FILE.xml\n\n"
		"Adds the artifacts of a manifest to the test cases of a JUnit file, as the lines\n"
		"[[ATTACHMENT|path]] that Jenkins, GitLab and Azure look for. All else in the file stays as\n"
		"it is, byte by byte. A test of the manifest belongs to the case whose class and name, or "
		"suite\n"
		"and name, or name alone are its own; where that is not one case, to none.\n\n"
		"  --output FILE    write there ('-': standard output) and leave FILE.xml alone\n"
		"  --manifest FILE  default: manifest.jsonl in the output folder\n"
		"  --quiet          do not tell how many were added\n"
		"  --help           this text\n\n"
		"Exit status: 0; 2 if a file cannot be read or is none.\n\n"
		"Example: tracelet junit --manifest tracelet-out/manifest.jsonl results.xml\n",
	.run = run,
};
