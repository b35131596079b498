#include "base/log.h"
#include "base/text.h"
#include "cli/verb.h"
#include "session/check_settings.h"
#include "session/choose_profile.h"
#include "session/operation.h"

#include <errno.h>
#include <stdio.h>

static int run(int argc, char **argv, const struct verb *verb) {
	struct settings settings;
	char name[ARTIFACT_NAME_SIZE], artifact[4096];
	int status = verb_take_settings(argc, argv, verb, NULL, NULL, &settings);
	if (status >= 0)
		return status;
	if (argc - optind != 1) {
		log_error("start needs one name");
		return verb_bad_usage(verb);
	}
	if (!settings_enabled(&settings)) {
		settings_free(&settings);
		return 0;
	}
	if (!check_user(&settings) || !check_settings(&settings)) {
		settings_free(&settings);
		return EXIT_USAGE;
	}
	artifact_safe_name(argv[optind], name);
	// The operation is about the caller: a script and everything it starts.
	int error = choose_profile(&settings) ? 0 : -EINVAL;
	if (!error)
		error = operation_start(&settings, name, settings.pid, artifact);
	if (!error && !settings.quiet)
		text_line(stderr, "tracelet: recording %s; 'tracelet stop %s' writes %s", name, name,
			  artifact);
	settings_free(&settings);
	return error ? EXIT_FOUND : 0;
}

const struct verb verb_start = {
	.name = "start",
	.family = FAMILY_RECORD,
	.settings = OF_START,
	.summary = "start recording an operation: any number of commands",
	.usage = "tracelet start [OPTIONS] NAME",
	.about = BY_SYSTEM(
		"Starts recording the script or shell that calls it, and everything that it starts from now "
		"on, until 'tracelet stop NAME'. If that shell ends before, as that of a CI step does, the "
		"process above it is followed.",
		"Starts recording the machine with Windows Performance Recorder, until 'tracelet stop "
		"NAME'. No tracelet process runs in between.") " An earlier recording of the same name is "
							       "stopped and saved first.",
	.notes = "Exit status: 0; 1 nothing can be recorded; 2 bad options.",
	.run = run,
};
