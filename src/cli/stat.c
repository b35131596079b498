// `tracelet stat`: counts events while a command runs.
#include "session/stat.h"
#include "base/log.h"
#include "cli/stat_list.h"
#include "cli/verb.h"

#include <ctype.h>
#include <getopt.h>
#include <string.h>

enum {
	OPTION_JSON = 1000,
	OPTION_CSV,
	OPTION_PER_CORE,
	OPTION_PER_THREAD,
	OPTION_PER_TEST,
	OPTION_METRIC_FILE,
	OPTION_ASSERT,
	OPTION_BASELINE,
	OPTION_TOLERANCE,
};

struct arguments {
	struct stat_options options;
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
		array_push(&options->assertions, value);
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
			return bad_value("--pid", "the number of a process", value);
		options->pid = (pid_t)number;
		return true;
	case OPTION_TOLERANCE:
		return take_tolerance(value, &options->tolerance) ||
		       bad_value("--tolerance", "a share like 2%", value);
	default:
		return false;
	}
}

static bool take_option(struct arguments *arguments, int option, const char *value) {
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

// What does not go together; NULL: it does.
static const char *contradiction(const struct stat_options *options) {
	if (!options->command && !options->pid && !options->system)
		return "stat needs a command, -p PID or -a: tracelet stat -- COMMAND [ARGUMENTS...]";
	if (options->pid && options->system)
		return "-p and -a do not go together";
	if (options->per_core && options->per_thread)
		return "--per-core and --per-thread do not go together";
	if (options->per_thread && options->system)
		return "--per-thread needs a command or -p PID, not -a";
	if (options->per_thread && !options->pid && (options->timeline || options->cpus))
		return "--per-thread of a command does not go together with -t and -c";
	if (options->per_test && (!options->command || options->pid || options->system))
		return "--per-test needs a test program: tracelet stat --per-test -- TEST_PROGRAM";
	if (options->per_test && (options->timeline || options->per_core || options->per_thread))
		return "--per-test does not go together with -t, --per-core and --per-thread";
	if (options->output && strstr(options->output, "{core}") && !stat_wants_files(options))
		return "{core} in the name of a file needs --per-core and --csv";
	if (options->count && !options->timeline)
		return "-n counts the rows of a timeline: add -t";
	if (options->interval > 0 && !options->timeline)
		return "-i is the time between the rows of a timeline: add -t";
	if (options->tolerance >= 0 && !options->baseline)
		return "--tolerance is that of a baseline: add --baseline FILE";
	return NULL;
}

// 'list [TEXT]', 'detect' and 'man NAME', unless behind "--", where it is a command. -1: none of them.
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
	log_error("it is written 'stat list [TEXT]', 'stat detect' or 'stat man NAME'; a command stands "
		  "behind --");
	return EXIT_USAGE;
}

static const struct option long_options[] = {
	{"event", required_argument, NULL, 'e'},
	{"metric", required_argument, NULL, 'm'},
	{"cpus", required_argument, NULL, 'c'},
	{"timeline", no_argument, NULL, 't'},
	{"interval", required_argument, NULL, 'i'},
	{"count", required_argument, NULL, 'n'},
	{"pid", required_argument, NULL, 'p'},
	{"all-cpus", no_argument, NULL, 'a'},
	{"output", required_argument, NULL, 'o'},
	{"json", no_argument, NULL, OPTION_JSON},
	{"csv", no_argument, NULL, OPTION_CSV},
	{"per-core", no_argument, NULL, OPTION_PER_CORE},
	{"per-thread", no_argument, NULL, OPTION_PER_THREAD},
	{"per-test", no_argument, NULL, OPTION_PER_TEST},
	{"metric-file", required_argument, NULL, OPTION_METRIC_FILE},
	{"assert", required_argument, NULL, OPTION_ASSERT},
	{"baseline", required_argument, NULL, OPTION_BASELINE},
	{"tolerance", required_argument, NULL, OPTION_TOLERANCE},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static int count(struct arguments *arguments, int words, char **argv, const struct verb *verb) {
	for (int option;
	     (option = getopt_long(words, argv, "+e:m:c:ti:n:p:ao:qh", long_options, NULL)) != -1;) {
		if (option == 'h')
			return verb_print_help(verb);
		if (option == '?')
			return verb_bad_usage(verb);
		if (!take_option(arguments, option, optarg))
			return EXIT_USAGE;
	}
	struct stat_options *options = &arguments->options;
	if (optind < words) {
		int status = strcmp(argv[optind - 1], "--") == 0 ? -1
								 : take_word(words - optind, argv + optind);
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
	return session_stat(options);
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct arguments arguments = {.options = {.interval = 0, .tolerance = -1}};
	int status = count(&arguments, argc, argv, verb);
	array_free(&arguments.options.assertions);
	free(arguments.events);
	free(arguments.metrics);
	return status;
}

const struct verb verb_stat = {
	.name = "stat",
	.summary = "count events while a command runs: instructions, misses, switches, faults",
	.help = "Usage: tracelet stat [OPTIONS] -- COMMAND [ARGUMENTS...]\n"
		"       tracelet stat [OPTIONS] -p PID | -a\n"
		"       tracelet stat list [TEXT] | detect | man NAME\n\n"
		"Counts events while COMMAND and all it starts run, for a process or the whole machine.\n"
		"COMMAND has its own input, output and exit status; the table is on stderr. What this\n"
		"machine cannot count is shown as not available, with the reason.\n\n"
		"  -e, --event LIST      what to count: names as in 'list', rNN, pmu/event/, pmu/term=1/,\n"
		"                        sched:sched_switch, {groups}; :u user, :k kernel only\n"
		"  -m, --metric LIST     formulas over events, as ipc\n"
		"      --metric-file FILE  formulas and events of your own, as share/metrics/ has them\n"
		"  -p, --pid PID         a process that runs already\n"
		"  -a, --all-cpus        the whole machine; without COMMAND until Ctrl-C\n"
		"  -c, --cpus LIST       only on these CPUs, as in 0,3-5\n"
		"      --per-core        for each CPU\n"
		"      --per-thread      for each thread of COMMAND, or of PID\n"
		"      --per-test        for each case of a test program, run by itself\n"
		"  -t, --timeline        a row for each interval\n"
		"  -i, --interval TIME   how long that is, as in 100ms (default: 1 s)\n"
		"  -n, --count N         so many rows; without COMMAND the end\n"
		"      --json            as JSON, in the shape of WindowsPerf's\n"
		"      --csv             as CSV\n"
		"  -o, --output FILE     there in place of stderr; {timestamp}, {class} and {core} in its "
		"name\n"
		"                        are filled in, with --per-core --csv a file for each\n"
		"      --assert TEXT     exit with 3 if it does not hold, as in 'instructions<5e6'\n"
		"      --baseline FILE   exit with 3 if more is counted than in this file of --json\n"
		"      --tolerance SHARE by more than this (default: 2%)\n"
		"      --quiet           no table; assertions are checked\n"
		"      --help            this text\n\n"
		"list: events and metrics, and whether they can be counted here, or those that TEXT is part\n"
		"of; detect: the PMUs; man NAME: one event or metric.\n\n"
		"Exit status: COMMAND's; 3 if that is 0 and a check failed; 1 nothing to count\n"
		"(-p, -a); 2 bad options.\n\n"
		"Example: tracelet stat -e instructions:u --assert 'instructions:u<5e6' -- ./unit_tests\n",
	.run = run,
};
