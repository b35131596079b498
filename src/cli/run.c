#include "base/log.h"
#include "cli/verb.h"
#include "session/check_settings.h"
#include "session/choose_profile.h"
#include "session/run.h"

#include <stdlib.h>

const enum setting_id verb_run_flags[] = {
	SETTING_ENABLED,
	SETTING_NAME,
	SETTING_VARIANT,
	SETTING_OUTPUT_DIR,
	SETTING_PROFILE,
	SETTING_SCOPE,
	SETTING_TYPE,
	SETTING_RING_SIZE,
	SETTING_RING_SECONDS,
	SETTING_SAMPLE,
	SETTING_OFF_CPU,
	SETTING_HEAP,
	SETTING_HEAP_CHILDREN,
	SETTING_HEAP_SAMPLE,
	SETTING_HEAP_USABLE,
	SETTING_HEAP_LEAKS,
	SETTING_HEAP_SUPPRESSIONS,
	SETTING_FAIL_ON_LEAK,
	SETTING_CALL_GRAPH,
	SETTING_DURATION,
	SETTING_MAX_SIZE,
	SETTING_WAIT_TREE,
	SETTING_TIMEOUT,
	SETTING_GRACE,
	SETTING_TIMEOUT_STATUS,
	SETTING_CORE,
	SETTING_CORE_LIMIT,
	SETTING_KEEP,
	SETTING_MAX_TOTAL_SIZE,
	SETTING_MAX_AGE,
	SETTING_BUFFER_SIZE,
	SETTING_JSON,
	SETTING_ATTACHMENTS,
	SETTING_CASES,
	SETTING_KEEP_SPOOL,
	SETTING_STRICT,
	SETTING_QUIET,
	SETTING_VERBOSE,
	SETTING_COUNTERS,
	SETTING_COUNTER_TIME,
	SETTING_COUNTER_SLICES,
	SETTING_REPRO,
};

const size_t verb_run_flag_count = sizeof(verb_run_flags) / sizeof(*verb_run_flags);

static int run(int argc, char **argv, const struct verb *verb) {
	struct settings settings;
	int status = verb_settings(argc, argv, verb, verb_run_flags, verb_run_flag_count, &settings);
	if (status >= 0)
		return status;
	if (optind == argc) {
		log_error("run needs a command: tracelet run -- COMMAND [ARGUMENTS...]");
		settings_free(&settings);
		return EXIT_USAGE;
	}
	settings.command = argv + optind;
	if (settings_enabled(&settings) && !check_settings(&settings)) {
		settings_free(&settings);
		return EXIT_USAGE;
	}
	bool profiled = !settings_enabled(&settings) || choose_profile(&settings);
	status = profiled ? session_run(&settings) : EXIT_NO_TRACE;
	settings_free(&settings);
	return status;
}

#ifdef _WIN32
#define HELP                                                                                                 \
	"Usage: tracelet run [OPTIONS] -- COMMAND [ARGUMENTS...]\n\n"                                        \
	"Runs COMMAND with its own input, output, console and exit code, and leaves an .etl file\n"          \
	"of what the machine did meanwhile, recorded by Windows Performance Recorder (WPR). That\n"          \
	"needs an elevated prompt; without one COMMAND is run all the same, and a line says so.\n\n"         \
	"  --enabled WHEN      yes (default), no: only run COMMAND; auto: if the environment says so\n"      \
	"  --name NAME         name of the test, and of the artifacts (default: COMMAND's)\n"                \
	"  --variant KEY=VALUE which variant of the test this is, may be repeated: their hash is\n"          \
	"                      part of the artifacts' names\n"                                               \
	"  --output-dir DIR    where artifacts go (default: .\\tracelet-out)\n"                              \
	"  --profile NAME      what to record: see 'tracelet profile list' (default: embedded), or\n"        \
	"                      FILE.wprp[!PROFILE]; may be repeated\n"                                       \
	"  --type TYPE         file (default), or memory: WPR's ring buffers, saved if COMMAND fails\n"      \
	"  --wait-tree[=SECS]  record until the whole process tree has ended (at most SECS)\n"               \
	"  --timeout SECONDS   then save a minidump of each process, end COMMAND and all it\n"               \
	"                      started: exit 124\n"                                                          \
	"  --timeout-status N  exit with N instead of 124\n"                                                 \
	"  --core              dumps of all memory then, not of stacks only\n"                               \
	"  --core-limit SIZE   of processes of at most this size (default: 1G)\n"                            \
	"  --keep WHEN         always (default), failed (default where CI is set) or never\n"                \
	"  --max-total-size SIZE  delete old artifacts of DIR beyond this, failed tests' last\n"             \
	"  --max-age TIME      delete those that are older, as in 7d\n"                                      \
	"  --json FD|FILE      the summary as JSON there\n"                                                  \
	"  --attachments WHEN  tell the CI of artifacts: yes, no, auto (default): where it listens\n"        \
	"  --strict            without a trace do not run COMMAND: exit 125\n"                               \
	"  --quiet             no summary; warnings stay\n"                                                  \
	"  --verbose           say more, as each command that wpr.exe is given\n"                            \
	"  --help              this text\n\n"                                                                \
	"Each option may also be given as a variable (TRACELET_OUTPUT_DIR) or in tracelet.ini;\n"            \
	"'tracelet settings' shows what is in force. TRACELET_WPR names another wpr.exe.\n\n"                \
	"Exit status: COMMAND's, all 32 bits; 124 timed out; 127 not found; 126 not executable;\n"           \
	"2 bad options.\n\n"                                                                                 \
	"Example: tracelet run --name parser -- unit_tests.exe parser\n"
#else
#define HELP                                                                                                 \
	"Usage: tracelet run [OPTIONS] -- COMMAND [ARGUMENTS...]\n\n"                                        \
	"Runs COMMAND with its own input, output, terminal and exit status, and leaves a\n"                  \
	"Perfetto trace of what the machine did for it.\n\n"                                                 \
	"  --enabled WHEN      yes (default), no: only run COMMAND; auto: if the environment says "          \
	"so\n"                                                                                               \
	"  --name NAME         name of the test, and of the artifacts (default: COMMAND's)\n"                \
	"  --variant KEY=VALUE which variant of the test this is, may be repeated: their hash is "           \
	"put\n"                                                                                              \
	"                      behind the name\n"                                                            \
	"  --output-dir DIR    where artifacts go (default: ./tracelet-out)\n"                               \
	"  --profile NAME      what to record (see 'tracelet profile list'); may be repeated\n"              \
	"  --scope SCOPE       tree: COMMAND and all it starts (default); system: everything\n"              \
	"  --type TYPE         file (default), or memory: a flight recorder of the newest events,\n"         \
	"                      saved when COMMAND fails or on 'tracelet snapshot'\n"                         \
	"  --ring-size SIZE    how much a flight recorder holds (default: 16M)\n"                            \
	"  --ring-seconds SECS and for how long (default: as long as there is room)\n"                       \
	"  --sample[=HZ]       CPU samples with stacks (999 a second), and a flame graph of them\n"          \
	"  --sample=EVENT@N    or at every Nth of an event, as cache-misses@10000; @Nhz: N a second\n"       \
	"  --off-cpu           where threads wait and for how long, and a flame graph of that\n"             \
	"  --counters EVENTS   counters in the trace, of each CPU and of COMMAND: names as in\n"             \
	"                      'tracelet stat list'\n"                                                       \
	"  --counters-interval TIME  how often they are read between switches (10ms)\n"                      \
	"  --counters-per-slice  and what each stay of a thread on a CPU has counted\n"                      \
	"  --heap              what COMMAND itself allocates, and where: a heap profile for DHAT's "         \
	"viewer\n"                                                                                           \
	"  --heap-children     also what its children allocate: a profile for each process\n"                \
	"  --heap-sample SIZE  not each block: one in SIZE bytes, for estimates (as in 512K)\n"              \
	"  --heap-usable       sizes as the allocator rounds them up\n"                                      \
	"  --heap-leaks        what is still allocated at the end, with stacks\n"                            \
	"  --heap-suppressions FILE  leaks that are not told: patterns of functions and files\n"             \
	"  --fail-on-leak      exit 4 if there are others and COMMAND has passed\n"                          \
	"  --call-graph HOW    how stacks are walked: auto (default), fp or dwarf\n"                         \
	"  --duration SECONDS  stop recording then; COMMAND goes on\n"                                       \
	"  --max-size SIZE     and when there is so much of it (default: as the profile says)\n"             \
	"  --wait-tree[=SECS]  record until the whole process tree has ended (at most SECS)\n"               \
	"  --timeout SECONDS   then save all stacks, end COMMAND and all it started: exit 124\n"             \
	"  --grace SECONDS     from SIGTERM to SIGKILL then (default: 5)\n"                                  \
	"  --timeout-status N  exit with N instead of 124\n"                                                 \
	"  --core              save a core then, too\n"                                                      \
	"  --core-limit SIZE   of at most this size (default: 1G)\n"                                         \
	"  --cases yes|no      a trace also for each case that COMMAND tells of by tl_test_begin()\n"        \
	"                      (default: yes)\n"                                                             \
	"  --keep WHEN         always (default), failed (default where CI is set) or never\n"                \
	"  --max-total-size SIZE  delete old artifacts of DIR beyond this, failed tests' last\n"             \
	"  --max-age TIME      delete those that are older, as in 7d\n"                                      \
	"  --buffer-size SIZE  bytes between kernel and tracer, as in 64M (default: by CPUs)\n"              \
	"  --json FD|FILE      the summary as JSON there\n"                                                  \
	"  --attachments WHEN  tell the CI of artifacts: yes, no, auto (default): where it listens\n"        \
	"  --keep-spool        keep the raw recording beside the trace\n"                                    \
	"  --repro             run COMMAND once more if it fails, with samples, waits and heap; its\n"       \
	"                      artifacts have .repro before the extension\n"                                 \
	"  --strict            without a trace do not run COMMAND: exit 125\n"                               \
	"  --quiet             no summary; warnings stay\n"                                                  \
	"  --verbose           say more\n"                                                                   \
	"  --help              this text\n\n"                                                                \
	"Each option may also be given as a variable (TRACELET_OUTPUT_DIR) or in tracelet.ini;\n"            \
	"'tracelet settings' shows what is in force.\n\n"                                                    \
	"Exit status: COMMAND's; 4 leaks (--fail-on-leak); 128+N if signal N ended it; 124 timed "           \
	"out; 127 not found;\n"                                                                              \
	"126 not executable; 2 bad options.\n\n"                                                             \
	"Example: tracelet run --name parser -- ./unit_tests parser\n"
#endif

const struct verb verb_run = {
	.name = "run",
	.summary = "run a test and trace exactly that",
	.help = HELP,
	.run = run,
};
