// `tracelet heap`: what a running process allocates.
#include "base/file.h"
#include "base/log.h"
#include "cli/parse_option.h"
#include "cli/verb.h"
#include "heap/attach.h"
#include "heap/find_process.h"
#include "session/recording_facts.h"

#include <stdlib.h>
#include <string.h>

enum { OPTION_RESET = LETTERS + 1 };

static const struct verb_option own_options[] = {
	{"pid", 'p', "PID", "attach to this process"},
	{"name", 'n', "NAME", "attach to the process with this name (command or executable)"},
	{"duration", 'd', "SECONDS", "stop after this time (default: on Ctrl-C, or when the process ends)"},
	{"output", 'o', "FILE", "write to FILE instead of standard output"},
	{"reset", OPTION_RESET, NULL,
	 "for a process started by 'tracelet run --heap': only allocations since the last --reset, instead "
	 "of "
	 "everything"},
	{"quiet", 'q', NULL, "print only errors"},
	{"verbose", 'v', NULL, "print more details"},
	{0},
};

struct request {
	struct heap_window_options options;
	const char *name;
	enum log_level level;
};

static bool take_pid(struct heap_window_options *options, const char *text) {
	char *end;
	long pid = strtol(text, &end, 10);
	options->process = (pid_t)pid;
	if (!*end && end != text && pid > 0 && pid <= INT32_MAX)
		return true;
	log_error("--pid takes a process id, not '%s'", text);
	return false;
}

static bool take_option(int option, const char *value, void *context) {
	struct request *request = context;
	struct heap_window_options *options = &request->options;
	switch (option) {
	case 'p':
		return take_pid(options, value);
	case 'n':
		request->name = value;
		return true;
	case 'd':
		if (parse_time(value, &options->nanoseconds) && options->nanoseconds)
			return true;
		log_error("--duration takes seconds, as in 10 or 0.5, not '%s'", value);
		return false;
	case 'o':
		options->output = value;
		return true;
	case OPTION_RESET:
		options->reset = true;
		return true;
	default:
		request->level = option == 'q' ? LOG_QUIET : LOG_VERBOSE;
		return true;
	}
}

// The line of the manifest: the name is the process's, or the one that was asked for.
static void note(const struct request *request, const char *name, const struct settings *settings,
		 const struct timespec *started) {
	struct measured measured = {.kind = "heap",
				    .name = name,
				    .end = {.operation = true, .started = *started},
				    .heap = request->options.sums};
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	measured.end.wall_seconds = (double)(now.tv_sec - started->tv_sec) +
				    (double)(now.tv_nsec - started->tv_nsec) / 1e9;
	facts_note_measured(settings, &measured);
}

static int watch(struct request *request, const struct settings *settings) {
	struct heap_window_options *options = &request->options;
	struct heap_sums sums = {0};
	struct timespec started;
	char name[64];
	if (request->name && !(options->process = find_process(request->name)))
		return EXIT_USAGE;
	bool known = process_name(options->process, name, sizeof(name)); // it may be gone at the end
	clock_gettime(CLOCK_REALTIME, &started);
	options->sums = &sums;
	if (heap_attach(options))
		return EXIT_USAGE;
	if (known && sums.blocks)
		note(request, request->name ? request->name : name, settings, &started);
	return 0;
}

// -1 if it can be done.
static int check(const struct request *request, int argc, const struct verb *verb) {
	if (argc > optind || !request->name == !request->options.process) {
		log_error("heap needs one process: -p PID or -n NAME");
		return verb_bad_usage(verb);
	}
	if (file_is_terminal(request->options.output)) {
		log_error("refusing to write a profile to a terminal; give a file with -o FILE");
		return EXIT_USAGE;
	}
	return -1;
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct request request = {.options = {.output = "-"}, .level = LOG_NORMAL};
	struct settings settings;
	int status = verb_take_settings(argc, argv, verb, take_option, &request, &settings);
	if (status >= 0)
		return status;
	log_set_level(request.level);
	status = check(&request, argc, verb);
	if (status < 0)
		status = watch(&request, &settings);
	settings_free(&settings);
	return status;
}

const struct verb verb_heap = {
	.name = "heap",
	.family = FAMILY_RECORD,
	.settings = OF_NUMBERS,
	.options = own_options,
	.summary = "profile the heap of a running process",
	.usage = "tracelet heap -p PID | -n NAME [OPTIONS]",
	.about = "Records what a running process allocates from now on, with stacks, and writes a profile in "
		 "DHAT's "
		 "format. The process is neither stopped nor restarted; while tracelet watches it, each call "
		 "of its allocator takes a few microseconds longer. Blocks that it allocated before are not "
		 "known.",
	.notes = "How much it was is also a line of the output directory's manifest, for 'tracelet "
		 "history'.\n\n"
		 "Example:\n"
		 "  tracelet heap -n postgres -d 10 -o pg.dhat.json && tracelet top pg.dhat.json",
	.run = run,
};
