// `tracelet stat`: counts events while a command runs.
#include "base/log.h"
#include "cli/stat_list.h"
#include "cli/verb.h"
#include "stat/stat.h"

#include <ctype.h>
#include <string.h>

enum {
	OPTION_JSON = LETTERS + 1,
	OPTION_CSV,
	OPTION_PER_CORE,
	OPTION_PER_THREAD,
	OPTION_PER_TEST,
	OPTION_METRIC_FILE,
	OPTION_ASSERT,
	OPTION_ASSERT_IF_AVAILABLE,
	OPTION_BASELINE,
	OPTION_TOLERANCE,
};

static const struct verb_option own_options[] = {
	{"event", 'e', "LIST",
	 "what to count: names from 'list', rNN, pmu/event/, pmu/term=1/, sched:sched_switch, {groups}; :u "
	 "counts only user code, :k only the kernel"},
	{"metric", 'm', "LIST", "formulas over events, such as ipc"},
	{"metric-file", OPTION_METRIC_FILE, "FILE",
	 "more formulas and events, in the format of share/metrics/"},
	{"pid", 'p', "PID", "count for a process that is already running"},
	{"all-cpus", 'a', NULL, "count for the whole machine; without COMMAND, until Ctrl-C"},
	{"cpus", 'c', "LIST", "only on these CPUs, as in 0,3-5"},
	{"per-core", OPTION_PER_CORE, NULL, "also show each CPU"},
	{"per-thread", OPTION_PER_THREAD, NULL, "also show each thread of COMMAND or PID"},
	{"per-test", OPTION_PER_TEST, NULL, "count each case of a test program separately"},
	{"timeline", 't', NULL, "print a row for each interval"},
	{"interval", 'i', "TIME", "length of an interval, as in 100ms (default: 1s)"},
	{"count", 'n', "N", "print this many rows; without COMMAND, then stop"},
	{"json", OPTION_JSON, NULL, "print JSON, in the format of WindowsPerf"},
	{"csv", OPTION_CSV, NULL, "print CSV"},
	{"output", 'o', "FILE",
	 "write to FILE instead of stderr; {timestamp}, {class} and {core} in its name are replaced, and "
	 "--per-core --csv writes a file for each CPU"},
	{"assert", OPTION_ASSERT, "TEXT",
	 "exit with 3 if this does not hold, as in 'instructions<5e6', or cannot be counted here"},
	{"assert-if-available", OPTION_ASSERT_IF_AVAILABLE, "TEXT",
	 "as --assert, but only warn if it cannot be counted here"},
	{"baseline", OPTION_BASELINE, "FILE",
	 "exit with 3 if more is counted than in this file, made with --json"},
	{"tolerance", OPTION_TOLERANCE, "SHARE", "allow this much more than the baseline (default: 2%)"},
	{"quiet", 'q', NULL, "print no table; assertions are still checked"},
	{0},
};

struct arguments {
	struct stat_options options;
	struct settings settings;
	char *events, *metrics; // all that were given
};

static void add_to_list(char **list, const char *more) {
	char *longer = *list ? memory_format("%s,%s", *list, more) : memory_string(more);
	free(*list);
	*list = longer;
}

static bool take_number(const char *value, long limit, long *number) {
	char *end;
	*number = strtol(value, &end, 10);
	return isdigit((unsigned char)*value) && !*end && *number > 0 && *number <= limit;
}

static bool take_tolerance(const char *value, double *tolerance) {
	char *end;
	*tolerance = strtod(value, &end);
	if (*end == '%') {
		*tolerance /= 100;
		end++;
	}
	return end != value && !*end && *tolerance >= 0 && *tolerance <= 1000;
}

static bool bad_value(const char *option, const char *wanted, const char *value) {
	log_error("%s takes %s, not '%s'", option, wanted, value);
	return false;
}

// Those that take a value.
static bool take_value(struct arguments *arguments, int option, const char *value) {
	struct stat_options *options = &arguments->options;
	long number;
	switch (option) {
	case 'e':
		add_to_list(&arguments->events, value);
		return true;
	case 'm':
		add_to_list(&arguments->metrics, value);
		return true;
	case 'c':
		options->cpus = value;
		return true;
	case 'o':
		options->output = value;
		return true;
	case OPTION_METRIC_FILE:
		options->metric_file = value;
		return true;
	case OPTION_BASELINE:
		options->baseline = value;
		return true;
	case OPTION_ASSERT:
	case OPTION_ASSERT_IF_AVAILABLE:
		array_push(&options->assertions,
			   (struct stat_wanted){value, option == OPTION_ASSERT_IF_AVAILABLE});
		return true;
	case 'i':
		return (settings_parse_seconds(value, &options->interval) && options->interval >= 0.001) ||
		       bad_value("--interval", "a time of at least 1ms", value);
	case 'n':
		if (!take_number(value, 1000000000, &number))
			return bad_value("--count", "a number", value);
		options->count = (unsigned)number;
		return true;
	case 'p':
		if (!take_number(value, 1 << 22, &number))
			return bad_value("--pid", "a process id", value);
		options->pid = (pid_t)number;
		return true;
	case OPTION_TOLERANCE:
		return take_tolerance(value, &options->tolerance) ||
		       bad_value("--tolerance", "a share like 2%", value);
	default:
		return false;
	}
}

static bool take_option(int option, const char *value, void *context) {
	struct arguments *arguments = context;
	struct stat_options *options = &arguments->options;
	if (value)
		return take_value(arguments, option, value);
	switch (option) {
	case 't':
		options->timeline = true;
		break;
	case 'a':
		options->system = true;
		break;
	case 'q':
		options->quiet = true;
		break;
	case OPTION_JSON:
		options->format = STAT_JSON;
		break;
	case OPTION_CSV:
		options->format = STAT_CSV;
		break;
	case OPTION_PER_CORE:
		options->per_core = true;
		break;
	case OPTION_PER_THREAD:
		options->per_thread = true;
		break;
	case OPTION_PER_TEST:
		options->per_test = true;
		break;
	}
	return true;
}

// What does not go together, or NULL.
static const char *contradiction(const struct stat_options *options) {
	if (!options->command && !options->pid && !options->system)
		return "stat needs a command, -p PID or -a: tracelet stat -- COMMAND [ARGUMENTS...]";
	if (options->pid && options->system)
		return "-p and -a cannot be combined";
	if (options->per_core && options->per_thread)
		return "--per-core and --per-thread cannot be combined";
	if (options->per_thread && options->system)
		return "--per-thread needs a command or -p PID, not -a";
	if (options->per_thread && !options->pid && (options->timeline || options->cpus))
		return "--per-thread with a command cannot be combined with -t or -c";
	if (options->per_test && (!options->command || options->pid || options->system))
		return "--per-test needs a test program: tracelet stat --per-test -- TEST_PROGRAM";
	if (options->per_test && (options->timeline || options->per_core || options->per_thread))
		return "--per-test cannot be combined with -t, --per-core or --per-thread";
	if (options->output && strstr(options->output, "{core}") && !stat_wants_files(options))
		return "{core} in a file name needs --per-core and --csv";
	if (options->count && !options->timeline)
		return "-n limits the rows of a timeline: add -t";
	if (options->interval > 0 && !options->timeline)
		return "-i sets the time between the rows of a timeline: add -t";
	if (options->tolerance >= 0 && !options->baseline)
		return "--tolerance applies to a baseline: add --baseline FILE";
	return NULL;
}

// 'list [TEXT]', 'detect' and 'man NAME', unless after "--", where it is a command. -1 if none of them.
static int take_word(int count, char **words) {
	bool list = strcmp(words[0], "list") == 0, detect = strcmp(words[0], "detect") == 0,
	     man = strcmp(words[0], "man") == 0;
	if (list && count <= 2)
		return stat_list(words[1]);
	if (detect && count == 1)
		return stat_detect();
	if (man && count == 2)
		return stat_man(words[1]);
	if (!list && !detect && !man)
		return -1;
	log_error("use 'stat list [TEXT]', 'stat detect' or 'stat man NAME'; a command comes after --");
	return EXIT_USAGE;
}

static int count(struct arguments *arguments, int words, char **argv) {
	int status = -1;
	struct stat_options *options = &arguments->options;
	if (optind < words) {
		status = strcmp(argv[optind - 1], "--") == 0 ? -1 : take_word(words - optind, argv + optind);
		if (status >= 0)
			return status;
		options->command = argv + optind;
	}
	options->events = arguments->events;
	options->metrics = arguments->metrics;
	const char *why = contradiction(options);
	if (why) {
		log_error("%s", why);
		return EXIT_USAGE;
	}
	if (options->interval <= 0)
		options->interval = 1;
	if (options->tolerance < 0)
		options->tolerance = 0.02;
	options->settings = &arguments->settings;
	return session_stat(options);
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct arguments arguments = {.options = {.interval = 0, .tolerance = -1}};
	int status = verb_take_settings(argc, argv, verb, take_option, &arguments, &arguments.settings);
	if (status < 0) {
		status = count(&arguments, argc, argv);
		settings_free(&arguments.settings);
	}
	array_free(&arguments.options.assertions);
	free(arguments.events);
	free(arguments.metrics);
	return status;
}

const struct verb verb_stat = {
	.name = "stat",
	.family = FAMILY_RECORD,
	.ordered = true,
	.settings = OF_NUMBERS | OF_STAT,
	.options = own_options,
	.summary = "count events while a command runs: instructions, misses, switches, faults",
	.usage = "tracelet stat [OPTIONS] -- COMMAND [ARGUMENTS...]\n"
		 "tracelet stat [OPTIONS] -p PID | -a\n"
		 "tracelet stat list [TEXT] | detect | man NAME",
	.about = "Counts events while COMMAND and everything it starts run, for a process or for the whole "
		 "machine. "
		 "COMMAND has its own input, output and exit status; the table goes to stderr. Events that "
		 "this "
		 "machine cannot count are shown as not available, with the reason.",
	.notes = "list: the events and metrics, or those that contain TEXT, and whether they can be counted "
		 "here; "
		 "detect: the PMUs; man NAME: details of one event or metric.\n\n"
		 "With COMMAND, the counts are also a line of the output directory's manifest, for 'tracelet "
		 "history'.\n\n"
		 "Exit status: COMMAND's; 3 if that is 0 and a check failed; 1 nothing to count (-p, -a); 2 "
		 "bad "
		 "options.\n\n"
		 "Example: tracelet stat -e instructions:u --assert 'instructions:u<5e6' -- ./unit_tests",
	.run = run,
};
