#include "base/file.h"
#include "base/log.h"
#include "cli/import_ktstr.h"
#include "cli/verb.h"
#include "guest/host_run.h"
#include "session/test.h"
#include "session/words.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct task {
	struct host_options host;
	uint64_t max_artifact_size;
	bool live;
	int argc; // of the word behind the address and what follows it
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

static int guest_run(struct task *task) {
	struct settings settings;
	optind = 0; // getopt begins anew
	int status = verb_settings(task->argc, task->argv, task->verb, verb_run_flags, verb_run_flag_count,
				   &settings);
	if (status >= 0)
		return status;
	if (optind == task->argc) {
		log_error("run needs a command: tracelet guest ADDRESS run -- COMMAND [ARGUMENTS...]");
		status = EXIT_USAGE;
	} else {
		settings.command = task->argv + optind;
		status = connected_run(task, &settings);
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
	if (!settings_load(&settings))
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

// Until the time is over (0: there is none) or somebody says that it is enough.
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
	if (!settings_load(&settings))
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

static int guest_perf(struct task *task) {
	static const struct option options[] = {{"duration", required_argument, NULL, 'd'},
						{"frequency", required_argument, NULL, 'F'},
						{"pid", required_argument, NULL, 'p'},
						{"help", no_argument, NULL, 'h'},
						{0}};
	const char *frequency = "999", *pid = NULL;
	double seconds = 0;
	optind = 0;
	for (int option; (option = getopt_long(task->argc, task->argv, "d:F:p:h", options, NULL)) != -1;) {
		if (option == 'F')
			frequency = optarg;
		else if (option == 'p')
			pid = optarg;
		else if (option != 'd')
			return option == 'h' ? verb_print_help(task->verb) : verb_bad_usage(task->verb);
		else if (!settings_parse_seconds(optarg, &seconds) || seconds <= 0) {
			log_error("--duration: '%s' is not a time in seconds", optarg);
			return EXIT_USAGE;
		}
	}
	if (optind != task->argc) {
		log_error("perf records all that runs in the guest, and takes no command: that is 'run "
			  "--sample'");
		return EXIT_USAGE;
	}
	struct words begin = {0};
	words_add(&begin, "start");
	words_add(&begin, "--quiet");
	words_add(&begin, "--sample=%s", frequency);
	if (pid)
		words_add(&begin, "--pid=%s", pid);
	else
		words_add(&begin, "--scope=system");
	words_add(&begin, "perf");
	int status = sampled(task, &begin, seconds);
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

static int guest_file(struct task *task) {
	static const struct option options[] = {
		{"output", required_argument, NULL, 'o'}, {"help", no_argument, NULL, 'h'}, {0}};
	struct receiver receiver = {.single = "-", .most = task->max_artifact_size};
	optind = 0;
	for (int option; (option = getopt_long(task->argc, task->argv, "o:h", options, NULL)) != -1;) {
		if (option != 'o')
			return option == 'h' ? verb_print_help(task->verb) : verb_bad_usage(task->verb);
		receiver.single = optarg;
	}
	if (task->argc - optind != 1) {
		log_error("file needs the path of one file in the guest");
		return verb_bad_usage(task->verb);
	}
	struct host_request request = {.kind = REQUEST_FILE,
				       .words = (const char *const *)task->argv + optind,
				       .word_count = 1,
				       .input = -1,
				       .output = -1,
				       .errors = -1,
				       .receiver = &receiver};
	int status = simple(task, &request);
	for (size_t i = 0; i < receiver.files.count; i++)
		if (receiver.files.items[i].partial)
			log_warning("what arrived: %s", receiver.files.items[i].path);
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

static bool take_options(int argc, char **argv, struct task *task, int *status) {
	static const struct option options[] = {
		{"patience", required_argument, NULL, 'p'},
		{"max-artifact-size", required_argument, NULL, 'm'},
		{"compress", no_argument, NULL, 'c'},
		{"no-live", no_argument, NULL, 'n'},
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	for (int option; (option = getopt_long(argc, argv, "+vh", options, NULL)) != -1;) {
		bool good = true;
		size_t size = 0;
		if (option == 'p') {
			good = settings_parse_seconds(optarg, &task->host.patience) &&
			       task->host.patience > 0;
		} else if (option == 'm') {
			good = settings_parse_size(optarg, &size) && size;
			task->max_artifact_size = size;
		} else if (option == 'c') {
			task->host.compress = true;
		} else if (option == 'n') {
			task->live = false;
		} else if (option == 'v') {
			log_set_level(LOG_VERBOSE);
		} else {
			*status = option == 'h' ? verb_print_help(task->verb) : verb_bad_usage(task->verb);
			return false;
		}
		if (good)
			continue;
		log_error("--%s: '%s' is not %s", option == 'p' ? "patience" : "max-artifact-size", optarg,
			  option == 'p' ? "a time in seconds" : "a size, as in 2G");
		*status = EXIT_USAGE;
		return false;
	}
	return true;
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct task task = {
		.host = {.patience = 30}, .max_artifact_size = 8ull << 30, .live = true, .verb = verb};
	int status;
	if (!take_options(argc, argv, &task, &status))
		return status;
	if (optind < argc && strcmp(argv[optind], "import-ktstr") == 0)
		return import_ktstr(argc - optind, argv + optind);
	if (argc - optind < 2) {
		log_error("guest needs an address and what to do there");
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
	.summary = "run and trace a test inside a virtual machine, artifacts here",
	.help = "Usage: tracelet guest [OPTIONS] ADDRESS run [OPTIONS OF run] -- COMMAND [ARGUMENTS...]\n"
		"       tracelet guest [OPTIONS] ADDRESS WHAT [ARGUMENTS...]\n"
		"       tracelet guest import-ktstr [--chunk-type N] STREAM -o TRACE\n\n"
		"Talks to tracelet-agent inside a guest. 'run' runs COMMAND there with our standard input,\n"
		"output, signals and exit status, traced there; its artifacts come to the output folder "
		"here.\n\n"
		"ADDRESS is unix:PATH (a virtio serial port's socket), vsock:CID[:PORT], vsock:PATH[:PORT],\n"
		"tcp:HOST:PORT, serial:DEVICE or exec:COMMAND (its standard input and output).\n\n"
		"WHAT is one of\n"
		"  file [-o FILE] PATH  a file of the guest, to standard output or FILE\n"
		"  kmsg                 its kernel's log\n"
		"  shell [COMMAND...]   a shell, or a command that is not traced\n"
		"  power-off            ends the guest, or the agent\n"
		"  perf [-d SECONDS] [-F HZ] [-p PID]  samples of all that runs there, or of one process, "
		"for\n"
		"                       so long or until Ctrl-C: a trace and a flame graph here\n"
		"  heap -p PID | -n NAME [-d SECONDS]  a heap profile of a process there, to standard "
		"output\n"
		"  start, stop, status, snapshot, stat, ...  that verb of tracelet in the guest, with what "
		"it\n"
		"                       prints and its artifacts here\n\n"
		"  --patience SECONDS        for a silent guest or a lost connection (default: 30)\n"
		"  --max-artifact-size SIZE  more is not taken from the guest in one go (default: 8G)\n"
		"  --compress                with zstd, on the way (default for serial)\n"
		"  --no-live                 the recording does not come while it is made, so a guest that\n"
		"                            dies leaves nothing\n"
		"  --verbose                 say more\n"
		"  --help                    this text\n\n"
		"import-ktstr takes the trace out of a stream that a guest of ktstr has sent, by its rules;\n"
		"chunks are frames of type WPR? or of the type that --chunk-type names.\n\n"
		"Exit status: COMMAND's; 125 the guest failed, or the way to it; 2 bad options.\n\n"
		"Example: tracelet guest unix:/run/vm1.sock run --name parser -- /tests/parser\n",
	.run = run,
};
