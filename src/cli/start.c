#include "base/log.h"
#include "cli/verb.h"
#include "session/check_settings.h"
#include "session/choose_profile.h"
#include "session/operation.h"

#include <errno.h>
#include <stdio.h>

static const enum setting_id flags[] = {
	SETTING_VARIANT,     SETTING_OUTPUT_DIR,   SETTING_PROFILE,        SETTING_SCOPE,
	SETTING_TYPE,        SETTING_RING_SIZE,    SETTING_RING_SECONDS,   SETTING_SAMPLE,
	SETTING_OFF_CPU,     SETTING_CALL_GRAPH,   SETTING_DURATION,       SETTING_MAX_SIZE,
	SETTING_BUFFER_SIZE, SETTING_PID,          SETTING_QUIET,          SETTING_VERBOSE,
	SETTING_COUNTERS,    SETTING_COUNTER_TIME, SETTING_COUNTER_SLICES,
};

static int run(int argc, char **argv, const struct verb *verb) {
	struct settings settings;
	char name[ARTIFACT_NAME_SIZE], artifact[4096];
	int status = verb_settings(argc, argv, verb, flags, ARRAY_SIZE(flags), &settings);
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
	if (!check_settings(&settings)) {
		settings_free(&settings);
		return EXIT_USAGE;
	}
	artifact_safe_name(argv[optind], name);
	// Whoever calls us is what the operation is about: a script and all it starts.
	int error = choose_profile(&settings) ? 0 : -EINVAL;
	if (!error)
		error = operation_start(&settings, name, settings.pid, artifact);
	if (!error && !settings.quiet)
		fprintf(stderr, "tracelet: recording %s; 'tracelet stop %s' makes %s\n", name, name,
			artifact);
	settings_free(&settings);
	return error ? EXIT_FOUND : 0;
}

#ifdef _WIN32
#define HELP                                                                                                 \
	"Usage: tracelet start [OPTIONS] NAME\n\n"                                                           \
	"Begins to record the machine with Windows Performance Recorder, until 'tracelet stop\n"             \
	"NAME'. No process of ours is there in between. A recording of that name is stopped and\n"           \
	"saved first.\n\n"                                                                                   \
	"  --variant KEY=VALUE which variant of the operation this is; may be repeated\n"                    \
	"  --output-dir DIR    where artifacts go (default: .\\tracelet-out)\n"                              \
	"  --profile NAME      what to record: see 'tracelet profile list' (default: embedded), or\n"        \
	"                      FILE.wprp[!PROFILE]; may be repeated\n"                                       \
	"  --type TYPE         file (default), or memory: WPR's ring buffers\n"                              \
	"  --quiet             say nothing; warnings stay\n"                                                 \
	"  --verbose           say more, as each command that wpr.exe is given\n"                            \
	"  --help              this text\n\n"                                                                \
	"Exit status: 0; 1 nothing can be recorded; 2 bad options.\n"
#else
#define HELP                                                                                                 \
	"Usage: tracelet start [OPTIONS] NAME\n\n"                                                           \
	"Begins to record the script or shell that calls it, and all that this starts from\n"                \
	"now on, until 'tracelet stop NAME'. A recording of that name is stopped and saved\n"                \
	"first.\n\n"                                                                                         \
	"  --variant KEY=VALUE which variant of the operation this is; may be repeated\n"                    \
	"  --output-dir DIR    where artifacts go (default: ./tracelet-out)\n"                               \
	"  --profile NAME      what to record (see 'tracelet profile list'); may be repeated\n"              \
	"  --scope SCOPE       tree: the caller and all it starts (default); system: everything\n"           \
	"  --type TYPE         file (default), or memory: a flight recorder of the newest events\n"          \
	"  --ring-size SIZE    how much a flight recorder holds (default: 16M)\n"                            \
	"  --ring-seconds SECS and for how long (default: as long as there is room)\n"                       \
	"  --sample[=HZ]       CPU samples with stacks (999 a second), and a flame graph of them\n"          \
	"  --counters EVENTS   counters in the trace: names as in 'tracelet stat list'\n"                    \
	"  --counters-interval TIME  how often they are read between switches (10ms)\n"                      \
	"  --counters-per-slice  and what each stay of a thread on a CPU has counted\n"                      \
	"  --off-cpu           also where threads wait, and a flame graph of that\n"                         \
	"  --call-graph HOW    how stacks are walked: auto (default), fp or dwarf\n"                         \
	"  --duration SECONDS  stop recording then\n"                                                        \
	"  --max-size SIZE     and when there is so much of it (default: as the profile says)\n"             \
	"  --buffer-size SIZE  bytes between kernel and tracer, as in 64M (default: by CPUs)\n"              \
	"  --pid PID           record this process instead of the caller\n"                                  \
	"  --quiet             say nothing; warnings stay\n"                                                 \
	"  --verbose           say more\n"                                                                   \
	"  --help              this text\n\n"                                                                \
	"Exit status: 0; 1 nothing can be recorded; 2 bad options.\n"
#endif

const struct verb verb_start = {
	.name = "start",
	.summary = "begin to record an operation",
	.help = HELP,
	.run = run,
};
