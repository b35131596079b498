// `tracelet artifact`: paths are asked for, never put together.
#include "base/log.h"
#include "cli/verb.h"
#include "session/landed.h"
#include "session/operation.h"

#include <stdio.h>
#include <string.h>

static const enum setting_id flags[] = {SETTING_OUTPUT_DIR, SETTING_VARIANT};

static bool take_option(int option, const char *value, void *context) {
	((struct landed_question *)context)->repro = true;
	return true;
}

// The trace of a session that is recording now.
static bool print_current(const struct landed_question *question, const char *kind) {
	state_array sessions = {0};
	char name[ARTIFACT_NAME_SIZE];
	bool found = false;
	artifact_safe_name(question->test, name);
	if ((kind && strcmp(kind, LANDED_HERE) != 0) || question->variant || question->repro ||
	    operation_list(&sessions))
		return false;
	for (size_t i = 0; i < sessions.count && !found; i++)
		if (strcmp(sessions.items[i].name, name) == 0)
			found = printf("%s\n", sessions.items[i].artifact) > 0;
	array_free(&sessions);
	return found;
}

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option own[] = {{"repro", no_argument, NULL, 'r'}, {0}};
	struct landed_question question = {0};
	struct verb_options more = {own, NULL, take_option, &question};
	struct settings settings;
	int status = verb_settings_and(argc, argv, verb, flags, ARRAY_SIZE(flags), &more, &settings);
	if (status >= 0)
		return status;
	if (argc - optind < 1 || argc - optind > 2) {
		log_error("artifact needs the name of a test, and may have a kind");
		return verb_bad_usage(verb);
	}
	const char *kind = argc - optind == 2 ? argv[optind + 1] : NULL;
	question.folder = settings.output_dir;
	question.test = argv[optind];
	question.variant = settings.variant;
	status = 0;
	if (!print_current(&question, kind)) {
		CLEANUP_FREE char *path = landed_artifact(&question, kind);
		if (path)
			printf("%s\n", path);
		else
			log_error("%s: there is no artifact '%s' of %s (manifest.jsonl lists them)",
				  question.folder, kind ? kind : LANDED_HERE, question.test);
		status = path ? 0 : EXIT_FOUND;
	}
	settings_free(&settings);
	return status;
}

#ifdef _WIN32
#define KINDS   "etl, dump"
#define EXAMPLE "tracelet artifact --output-dir C:\\traces parser dump\n"
#else
#define KINDS   "perfetto, flame, off-cpu,\nheap, stacks, core, output, console, spool, etl"
#define EXAMPLE "tracelet flame \"$(tracelet artifact parser)\" -o parser.svg\n"
#endif

const struct verb verb_artifact = {
	.name = "artifact",
	.summary = "print the path of a test's newest artifact",
	.help = "Usage: tracelet artifact [OPTIONS] NAME [KIND]\n\n"
		"Prints the path of an artifact of the newest session of test NAME: its trace, or KIND,\n"
		"which is one of those that manifest.jsonl has for it: " KINDS ".\n"
		"Of a session that is recording now, where its trace will be.\n\n"
		"  --output-dir DIR     the folder (default: ./tracelet-out)\n"
		"  --variant KEY=VALUE  which variant of the test; may be repeated\n"
		"  --repro              of the run after a failed one\n"
		"  --help               this text\n\n"
		"Exit status: 0; 1 there is none; 2 bad options.\n\nExample: " EXAMPLE,
	.run = run,
};
