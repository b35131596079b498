// `tracelet artifact`: scripts ask for a path instead of building it.
#include "artifact/landed.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/verb.h"
#include "session/operation.h"

#include <stdio.h>
#include <string.h>

enum { OPTION_REPRO = LETTERS + 1, OPTION_JSON };

static const struct verb_option own_options[] = {
	{"repro", OPTION_REPRO, NULL, "the artifact of the second run of a failed test (run --repro)"},
	{"json", OPTION_JSON, NULL, "print the path as JSON"},
	{0},
};

struct artifact_question {
	struct landed_question landed;
	bool as_json;
};

static bool take_option(int option, const char *value, void *context) {
	struct artifact_question *question = context;
	*(option == OPTION_REPRO ? &question->landed.repro : &question->as_json) = true;
	return true;
}

static void print_path(const char *path, bool as_json) {
	if (!as_json) {
		text_path_line(stdout, path);
		return;
	}
	struct buffer line = {0};
	struct json json = json_into(&line);
	json_object(&json, NULL);
	json_string(&json, "path", path);
	json_close_object(&json);
	verb_print_json(&line);
}

// The trace of a session that is recording now.
static bool print_current(const struct landed_question *question, const char *kind, bool as_json) {
	state_array sessions = {0};
	char name[ARTIFACT_NAME_SIZE];
	bool found = false;
	artifact_safe_name(question->test, name);
	if ((kind && strcmp(kind, LANDED_HERE) != 0) || question->variant || question->repro ||
	    operation_list(&sessions))
		return false;
	for (size_t i = 0; i < sessions.count && !found; i++)
		if (strcmp(sessions.items[i].name, name) == 0) {
			print_path(sessions.items[i].artifact, as_json);
			found = true;
		}
	array_free(&sessions);
	return found;
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct artifact_question asked = {0};
	struct landed_question *question = &asked.landed;
	struct settings settings;
	int status = verb_take_settings(argc, argv, verb, take_option, &asked, &settings);
	if (status >= 0)
		return status;
	if (argc - optind < 1 || argc - optind > 2) {
		log_error("artifact needs the name of a test; a kind may follow");
		return verb_bad_usage(verb);
	}
	const char *kind = argc - optind == 2 ? argv[optind + 1] : NULL;
	question->folder = settings.output_dir;
	question->test = argv[optind];
	question->variant = settings.variant;
	status = 0;
	if (!print_current(question, kind, asked.as_json)) {
		CLEANUP_FREE char *path = landed_artifact(question, kind);
		if (path)
			print_path(path, asked.as_json);
		else
			log_error("%s: no artifact '%s' for %s (manifest.jsonl lists them)", question->folder,
				  kind ? kind : LANDED_HERE, question->test);
		status = path ? 0 : EXIT_FOUND;
	}
	settings_free(&settings);
	return status;
}

#define KINDS                                                                                                \
	BY_SYSTEM("perfetto, flame, off-cpu, heap, stacks, core, output, console, spool, etl", "etl, dump")

const struct verb verb_artifact = {
	.name = "artifact",
	.family = FAMILY_RESULTS,
	.ordered = true,
	.settings = OF_ARTIFACT,
	.options = own_options,
	.summary = "print the path of a test's newest artifact",
	.usage = "tracelet artifact [OPTIONS] NAME [KIND]",
	.about = "Prints the path of an artifact of the newest session of test NAME: its trace, or the "
		 "artifact of another KIND that manifest.jsonl lists for it (" KINDS
		 "). If a session of the test is recording "
		 "now, prints where its trace will be.",
	.notes = "Exit status: 0; 1 no such artifact; 2 bad options.\n\n"
		 "Example: " BY_SYSTEM("tracelet flame \"$(tracelet artifact parser)\" -o parser.svg",
				       "tracelet artifact --output-dir C:\\traces parser dump"),
	.run = run,
};
