#include "base/file.h"
#include "base/log.h"
#include "cli/import_ktstr.h"
#include "cli/verb.h"
#include "guest/host/run.h"
#include "process/test.h"
#include "process/user.h"
#include "process/words.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct task {
	struct host_options host;
	uint64_t max_artifact_size;
	bool live;
	struct token token;
	int argc; // of the word after the address and what follows it
	char **argv;
	const struct verb *verb;
};

static const struct request_options {
	const char *name;
	unsigned flags;
} operations[] = {
	{"start", REQUEST_OPERATIONS},
	{"stop", REQUEST_OPERATIONS},
	{"cancel", REQUEST_OPERATIONS},
	{"snapshot", REQUEST_OPERATIONS},
};

// ---- run, and verbs that are the same there ----

static int connected_run(struct task *task, struct settings *settings) {
	struct host host;
	struct host_run run = {
		.settings = settings, .max_artifact_size = task->max_artifact_size, .live = task->live};
	if (host_open(&host, &task->host))
		return STATUS_GUEST_FAILED;
	host_run(&host, &run);
	host_close(&host);
	host_run_free(&run);
	return run.status;
}

static const struct verb run_there = {
	.name = "guest",
	.ordered = true,
	.settings = OF_RUN,
	.usage = "tracelet guest [OPTIONS] ADDRESS run [OPTIONS] -- COMMAND [ARGUMENTS...]",
	.about = "Runs and traces COMMAND inside the guest at ADDRESS, with our standard input, output, "
		 "signals and exit status. Its artifacts are copied to the output directory here.",
	.notes = "Exit status: COMMAND's; 125 the guest or the connection to it failed; 2 bad options.",
};

static int guest_run(struct task *task) {
	struct settings settings;
	int status = verb_take_settings(task->argc, task->argv, &run_there, NULL, NULL, &settings);
	if (status >= 0)
		return status;
	if (optind == task->argc) {
		log_error("run needs a command: tracelet guest ADDRESS run -- COMMAND [ARGUMENTS...]");
		status = EXIT_USAGE;
	} else {
		settings.command = task->argv + optind;
		status = user_choose_group(settings.artifact_group) ? connected_run(task, &settings)
								    : EXIT_USAGE;
	}
	settings_free(&settings);
	return status;
}

static int guest_verb(struct task *task) {
	struct settings settings;
	struct host host;
	unsigned flags = 0;
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++)
		if (strcmp(task->argv[0], operations[i].name) == 0)
			flags = operations[i].flags;
	if (!settings_load(&settings, true))
		return EXIT_USAGE;
	int status = STATUS_GUEST_FAILED;
	if (host_open(&host, &task->host) == 0) {
		status = host_verb(&host, (const char *const *)task->argv, (size_t)task->argc, flags,
				   &settings, task->max_artifact_size);
		host_close(&host);
	}
	settings_free(&settings);
	return status;
}

// ---- perf ----

// Waits until the time is over (0 for no limit) or a signal arrives.
static void wait_for(double seconds, const sigset_t *signals) {
	struct timespec time = {.tv_sec = (time_t)seconds,
				.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
	if (seconds > 0)
		sigtimedwait(signals, NULL, &time);
	else
		sigwaitinfo(signals, NULL);
}

// A recording of the whole guest with samples, begun there and ended there, as 'start' and 'stop' would.
static int sampled(struct task *task, const struct words *begin, double seconds) {
	static const char *const end[] = {"stop", "perf"};
	struct settings settings;
	struct host host;
	sigset_t signals, before;
	int status = STATUS_GUEST_FAILED;
	if (!settings_load(&settings, true))
		return EXIT_USAGE;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	if (host_open(&host, &task->host) == 0) {
		sigprocmask(SIG_BLOCK, &signals, &before);
		status = host_verb(&host, (const char *const *)begin->items, begin->count,
				   REQUEST_OPERATIONS | HOST_KEEP_SIGNALS, &settings,
				   task->max_artifact_size);
		if (!status) {
			wait_for(seconds, &signals);
			status = host_verb(&host, end, ARRAY_SIZE(end), REQUEST_OPERATIONS, &settings,
					   task->max_artifact_size);
		}
		sigprocmask(SIG_SETMASK, &before, NULL);
		host_close(&host);
	}
	settings_free(&settings);
	return status;
}

struct perf_options {
	const char *frequency, *pid;
	double seconds;
};

static const struct verb verb_guest_perf = {
	.name = "guest",
	.options =
		(const struct verb_option[]){
			{"duration", 'd', "SECONDS", "stop after this time (default: on Ctrl-C)"},
			{"frequency", 'F', "HZ", "samples per second (default: 999)"},
			{"pid", 'p', "PID", "sample only this process and its children"},
			{0},
		},
	.usage = "tracelet guest [OPTIONS] ADDRESS perf [-d SECONDS] [-F HZ] [-p PID]",
	.about = "Samples everything that runs in the guest, or one process, and leaves a trace and a flame "
		 "graph "
		 "here.",
};

static bool take_perf_option(int option, const char *value, void *context) {
	struct perf_options *options = context;
	if (option == 'F')
		options->frequency = value;
	if (option == 'p')
		options->pid = value;
	if (option != 'd' || (settings_parse_seconds(value, &options->seconds) && options->seconds > 0))
		return true;
	log_error("--duration: '%s' is not a time in seconds", value);
	return false;
}

static int guest_perf(struct task *task) {
	struct perf_options options = {.frequency = "999"};
	int status = verb_take(task->argc, task->argv, &verb_guest_perf, take_perf_option, &options);
	if (status >= 0)
		return status;
	if (optind != task->argc) {
		log_error("perf records everything that runs in the guest and takes no command; use 'run "
			  "--sample'");
		return EXIT_USAGE;
	}
	struct words begin = {0};
	words_add(&begin, "start");
	words_add(&begin, "--quiet");
	words_add(&begin, "--sample=%s", options.frequency);
	if (options.pid)
		words_add(&begin, "--pid=%s", options.pid);
	else
		words_add(&begin, "--scope=system");
	words_add(&begin, "perf");
	status = sampled(task, &begin, options.seconds);
	words_free(&begin);
	return status;
}

// ---- what is no verb of ours ----

static int simple(struct task *task, struct host_request *request) {
	struct host host;
	if (host_open(&host, &task->host))
		return STATUS_GUEST_FAILED;
	int error = host_request(&host, request);
	host_close(&host);
	if (!error && *request->why)
		log_error("in the guest: %s", request->why);
	bool failed = error || (request->receiver && request->receiver->error);
	return failed ? STATUS_GUEST_FAILED : test_shell_status(request->status);
}

static const struct verb verb_guest_file = {
	.name = "guest",
	.options =
		(const struct verb_option[]){
			{"output", 'o', "FILE", "write to FILE instead of standard output"},
			{0},
		},
	.usage = "tracelet guest [OPTIONS] ADDRESS file [-o FILE] PATH",
	.about = "Fetches a file from the guest.",
};

static bool take_file_option(int option, const char *value, void *context) {
	((struct receiver *)context)->single = value;
	return true;
}

static int guest_file(struct task *task) {
	struct receiver receiver = {.single = "-", .most = task->max_artifact_size};
	int status = verb_take(task->argc, task->argv, &verb_guest_file, take_file_option, &receiver);
	if (status >= 0)
		return status;
	if (task->argc - optind != 1) {
		log_error("file needs one PATH in the guest");
		return verb_bad_usage(task->verb);
	}
	struct host_request request = {.kind = REQUEST_FILE,
				       .words = (const char *const *)task->argv + optind,
				       .word_count = 1,
				       .input = -1,
				       .output = -1,
				       .errors = -1,
				       .receiver = &receiver};
	status = simple(task, &request);
	for (size_t i = 0; i < receiver.files.count; i++)
		if (receiver.files.items[i].partial)
			log_warning("received only a part: %s", receiver.files.items[i].path);
	receiver_free(&receiver);
	return status;
}

static int guest_kmsg(struct task *task) {
	struct host_request request = {
		.kind = REQUEST_KMSG, .input = -1, .output = STDOUT_FILENO, .errors = STDERR_FILENO};
	return simple(task, &request);
}

// A terminal if we have one; a command may follow.
static int guest_shell(struct task *task) {
	int first = task->argc > 1 && strcmp(task->argv[1], "--") == 0 ? 2 : 1;
	struct host_request request = {
		.kind = REQUEST_COMMAND,
		.flags = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) ? REQUEST_TERMINAL : 0,
		.words = (const char *const *)task->argv + first,
		.word_count = (size_t)(task->argc - first),
		.input = STDIN_FILENO,
		.output = STDOUT_FILENO,
		.errors = STDERR_FILENO,
		.signals = true};
	return simple(task, &request);
}

static int guest_power_off(struct task *task) {
	struct host_request request = {.kind = REQUEST_POWER_OFF, .input = -1, .output = -1, .errors = -1};
	return simple(task, &request);
}

// ---- the verb ----

static const struct {
	const char *name;
	int (*run)(struct task *task);
} words[] = {
	{"run", guest_run},     {"file", guest_file},           {"kmsg", guest_kmsg},
	{"shell", guest_shell}, {"power-off", guest_power_off}, {"perf", guest_perf},
};

enum {
	OPTION_PATIENCE = LETTERS + 1,
	OPTION_MAX_ARTIFACT_SIZE,
	OPTION_COMPRESS,
	OPTION_NO_LIVE,
	OPTION_TOKEN,
};

static const struct verb_option own_options[] = {
	{"patience", OPTION_PATIENCE, "SECONDS",
	 "how long to wait for a silent guest or a lost connection (default: 30)"},
	{"max-artifact-size", OPTION_MAX_ARTIFACT_SIZE, "SIZE",
	 "accept no more than this from the guest for one command (default: 8G)"},
	{"token-file", OPTION_TOKEN, "FILE",
	 "the secret that the agent was started with; it must know it too, on TCP and vsock"},
	{"compress", OPTION_COMPRESS, NULL, "compress what is sent with zstd (default for serial)"},
	{"no-live", OPTION_NO_LIVE, NULL,
	 "do not fetch the recording while the test runs; if the guest dies, nothing is left"},
	{"verbose", 'v', NULL, "print more details"},
	{0},
};

static bool refuse(const char *option, const char *value, const char *wanted) {
	log_error("--%s: '%s' is not %s", option, value, wanted);
	return false;
}

static bool take_option(int option, const char *value, void *context) {
	struct task *task = context;
	size_t size = 0;
	switch (option) {
	case OPTION_PATIENCE:
		return (settings_parse_seconds(value, &task->host.patience) && task->host.patience > 0) ||
		       refuse("patience", value, "a time in seconds");
	case OPTION_MAX_ARTIFACT_SIZE:
		if (!settings_parse_size(value, &size) || !size)
			return refuse("max-artifact-size", value, "a size, as in 2G");
		task->max_artifact_size = size;
		return true;
	case OPTION_TOKEN:
		task->host.token = &task->token;
		return token_read(&task->token, value);
	case OPTION_COMPRESS:
		task->host.compress = true;
		return true;
	case OPTION_NO_LIVE:
		task->live = false;
		return true;
	default:
		log_set_level(LOG_VERBOSE);
		return true;
	}
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct task task = {
		.host = {.patience = 30}, .max_artifact_size = 8ull << 30, .live = true, .verb = verb};
	int status = verb_take(argc, argv, verb, take_option, &task);
	if (status >= 0)
		return status;
	if (optind < argc && strcmp(argv[optind], "import-ktstr") == 0)
		return import_ktstr(argc - optind, argv + optind);
	if (argc - optind < 2) {
		log_error("guest needs an ADDRESS and what to do there");
		return verb_bad_usage(verb);
	}
	task.host.address = argv[optind];
	task.host.compress |= strncmp(task.host.address, "serial:", 7) == 0;
	task.argc = argc - optind - 1;
	task.argv = argv + optind + 1;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i].name, task.argv[0]) == 0)
			return words[i].run(&task);
	return guest_verb(&task);
}

const struct verb verb_guest = {
	.name = "guest",
	.family = FAMILY_MACHINES,
	.ordered = true,
	.options = own_options,
	.summary = "run and trace a test inside a running virtual machine",
	.usage = "tracelet guest [OPTIONS] ADDRESS run [RUN_OPTIONS] -- COMMAND [ARGUMENTS...]\n"
		 "tracelet guest [OPTIONS] ADDRESS WHAT [ARGUMENTS...]\n"
		 "tracelet guest import-ktstr [--chunk-type N] STREAM -o TRACE",
	.about = "Talks to tracelet-agent inside a guest. 'run' runs and traces COMMAND there, with our "
		 "standard input, output, signals and exit status, and with all options of 'tracelet run'; "
		 "its artifacts are copied to the output directory here.\n\n"
		 "ADDRESS is unix:PATH (a virtio serial port's socket), vsock:CID[:PORT], vsock:PATH[:PORT], "
		 "tcp:HOST:PORT, serial:DEVICE or exec:COMMAND (its standard input and output).\n\n"
		 "WHAT is one of\n"
		 "  file [-o FILE] PATH  copies a file from the guest to standard output or FILE\n"
		 "  kmsg                 prints the kernel log\n"
		 "  shell [COMMAND...]   runs a shell, or an untraced command\n"
		 "  power-off            ends the guest, or the agent\n"
		 "  perf [-d SECONDS] [-F HZ] [-p PID]\n"
		 "                       samples everything that runs there, or one process, for this\n"
		 "                       time or until Ctrl-C; leaves a trace and a flame graph here\n"
		 "  heap -p PID | -n NAME [-d SECONDS]\n"
		 "                       writes a heap profile of a process there to standard output\n"
		 "  start, stop, status, snapshot, stat, ...\n"
		 "                       runs this verb in the guest, with its output and artifacts here",
	.notes = "import-ktstr extracts the trace from a stream sent by a ktstr guest; the trace is in "
		 "packets whose type begins with WPR, or has the number --chunk-type.\n\n"
		 "Exit status: COMMAND's; 125 the guest or the connection to it failed; 2 bad options.\n\n"
		 "Example: tracelet guest unix:/run/vm1.sock run --name parser -- /tests/parser",
	.run = run,
};
