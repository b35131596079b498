// The resident collector as a verb.
#include "base/log.h"
#include "cli/verb.h"
#include "collector/collector.h"
#include "format/collector_wire.h"

#include <unistd.h>

enum { OPTION_LISTEN = LETTERS + 1, OPTION_GROUP, OPTION_ADMINS, OPTION_IDLE, OPTION_CONFIG };

#define CONFIG_FILE "/etc/tracelet/collector.conf"

static const struct verb_option own_options[] = {
	{"listen", OPTION_LISTEN, "PATH",
	 "the socket for clients (default: " COLLECTOR_SOCKET ", or the one that systemd passes)"},
	{"group", OPTION_GROUP, "GROUP", "the group that may connect (default: tracelet, if there is one)"},
	{"admin-group", OPTION_ADMINS, "GROUP",
	 "the group that sees all users (default: tracelet-admin, if there is one)"},
	{"idle-exit", OPTION_IDLE, "SECONDS", "end after this time without a connection (default: never)"},
	{"config", OPTION_CONFIG, "FILE",
	 "limits (default: " CONFIG_FILE ", if it is there); must be root's"},
	{"verbose", 'v', NULL, "print more details"},
	{0},
};

struct request {
	struct collector_options options;
	const char *config;
};

static bool take_option(int option, const char *value, void *context) {
	struct request *request = context;
	switch (option) {
	case 'v':
		log_set_level(LOG_VERBOSE);
		return true;
	case OPTION_LISTEN:
		request->options.socket = value;
		return true;
	case OPTION_GROUP:
		request->options.group = value;
		return true;
	case OPTION_ADMINS:
		request->options.admins = value;
		return true;
	case OPTION_CONFIG:
		request->config = value;
		return true;
	default:
		if (settings_parse_seconds(value, &request->options.idle_exit))
			return true;
		log_error("--idle-exit takes seconds, as in 60, not '%s'", value);
		return false;
	}
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct request request = {.options = COLLECTOR_OPTIONS_DEFAULT};
	int status = verb_take(argc, argv, verb, take_option, &request);
	if (status >= 0)
		return status;
	if (optind != argc) {
		log_error("collector takes no argument '%s'", argv[optind]);
		return verb_bad_usage(verb);
	}
	if (!request.config && access(CONFIG_FILE, F_OK) == 0)
		request.config = CONFIG_FILE;
	if (request.config && !collector_configure(&request.options, request.config))
		return EXIT_USAGE;
	return collector_main(&request.options);
}

const struct verb verb_collector = {
	.name = "collector",
	.family = FAMILY_SET_UP,
	.options = own_options,
	.summary = "record for all users of this machine, each its own tests",
	.usage = "tracelet collector [OPTIONS]",
	.about =
		"Loads the BPF programs once and records for everybody in the group, so that a session "
		"begins "
		"in a millisecond, many cost no more than one, and tests need no root. A user gets the "
		"events "
		"of processes that run with exactly that user's rights, and of no others. 'tracelet run' and "
		"'each' use it where they find its socket (--collector). Needs root, or CAP_BPF and "
		"CAP_PERFMON; systemd can start it when the first client connects "
		"(tracelet-collector.socket).",
	.notes = "SIGTERM ends it; tests that are being traced go on, and keep what was recorded.\n"
		 "Example: tracelet collector --group testers",
	.run = run,
};
