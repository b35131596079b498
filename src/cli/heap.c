// `tracelet heap`: what a process that is running allocates.
#include "base/file.h"
#include "base/log.h"
#include "cli/look.h"
#include "cli/verb.h"
#include "session/find_process.h"
#include "session/heap_attach.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static int take_pid(struct heap_window_options *options, const char *text) {
	char *end;
	long pid = strtol(text, &end, 10);
	if (*end || end == text || pid <= 0 || pid > INT32_MAX) {
		log_error("--pid takes the number of a process, not '%s'", text);
		return EXIT_USAGE;
	}
	options->process = (pid_t)pid;
	return 0;
}

static int take_option(struct heap_window_options *options, const char **name, int option,
		       const char *value) {
	switch (option) {
	case 'p':
		return take_pid(options, value);
	case 'n':
		*name = value;
		return 0;
	case 'd':
		if (parse_time(value, &options->nanoseconds) && options->nanoseconds)
			return 0;
		log_error("--duration takes seconds, as 10 or 0.5, not '%s'", value);
		return EXIT_USAGE;
	case 'o':
		options->output = value;
		return 0;
	case 'r':
		options->reset = true;
		return 0;
	case 'q':
		log_set_level(LOG_QUIET);
		return 0;
	default:
		log_set_level(LOG_VERBOSE);
		return 0;
	}
}

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option known[] = {
		{"pid", required_argument, NULL, 'p'},
		{"name", required_argument, NULL, 'n'},
		{"duration", required_argument, NULL, 'd'},
		{"output", required_argument, NULL, 'o'},
		{"reset", no_argument, NULL, 'r'},
		{"quiet", no_argument, NULL, 'q'},
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct heap_window_options options = {.output = "-"};
	const char *name = NULL;
	for (int option; (option = getopt_long(argc, argv, "p:n:d:o:qvh", known, NULL)) != -1;) {
		if (option == 'h')
			return verb_print_help(verb);
		if (option == '?')
			return verb_bad_usage(verb);
		if (take_option(&options, &name, option, optarg))
			return EXIT_USAGE;
	}
	if (argc > optind || !name == !options.process) {
		log_error("heap needs one process: -p PID or -n NAME");
		return verb_bad_usage(verb);
	}
	if (file_is_terminal(options.output)) {
		log_error("this is a terminal; name a file with -o FILE");
		return EXIT_USAGE;
	}
	if (name && !(options.process = find_process(name)))
		return EXIT_USAGE;
	return heap_attach(&options) ? EXIT_USAGE : 0;
}

const struct verb verb_heap = {
	.name = "heap",
	.summary = "a heap profile of a process that is running",
	.help = "Usage: tracelet heap -p PID | -n NAME [-d SECONDS] [-o FILE]\n\n"
		"Records what a running process allocates from now on, with stacks, and writes a profile\n"
		"in DHAT's format. The process is neither stopped nor restarted; each of its calls of the\n"
		"allocator takes some microseconds longer meanwhile. What it had before is not known.\n\n"
		"  -p, --pid PID           the process\n"
		"  -n, --name NAME         the one that is called so, or whose program is\n"
		"  -d, --duration SECONDS  for so long; else until Ctrl-C, or until the process ends\n"
		"  -o, --output FILE       write to FILE, in place of standard output\n"
		"      --reset             of a process of 'tracelet run --heap': only what came since the "
		"last\n"
		"                          --reset; without it, all since its beginning\n"
		"  -q, --quiet             say nothing but what went wrong\n"
		"  -v, --verbose           say more\n"
		"  -h, --help              this text\n\n"
		"Example:\n"
		"  tracelet heap -n postgres -d 10 -o pg.dhat.json && tracelet top pg.dhat.json\n",
	.run = run,
};
