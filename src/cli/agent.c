// The part inside a guest, as a verb: tracelet-agent is this program, linked statically.
#include "base/log.h"
#include "cli/verb.h"
#include "format/collector_wire.h"
#include "guest/agent/agent.h"

#include <string.h>
#include <unistd.h>

static int run_as_init(void) {
	struct agent_options options = {.linger = 600, .wait_port = 20};
	init_prepare();
	options.token_file = init_word("tracelet.token-file=");
	options.collector_group = init_word("tracelet.collector=");
	options.addresses = (const char *const *)init_addresses(&options.address_count);
	agent_main(&options);
	init_power_off();
}

enum { OPTION_LISTEN = LETTERS + 1, OPTION_LINGER, OPTION_TOKEN, OPTION_COLLECTOR, OPTION_SOCKET };

static const struct verb_option own_options[] = {
	{"listen", OPTION_LISTEN, "ADDRESS",
	 "where to listen: port:NAME (a virtio serial port or a device), vsock:[PORT] (21580), tcp:HOST:PORT "
	 "(numbers only), unix:PATH, serial:DEVICE, or stdio (the agent ends when it closes); may be "
	 "repeated (default: port:tracelet)",
	 "port:tracelet vsock: tcp: unix: serial: stdio"},
	{"linger", OPTION_LINGER, "SECONDS", "how long to wait for a host to reconnect (default: 60)"},
	{"token-file", OPTION_TOKEN, "FILE",
	 "a secret that hosts must know on TCP, which needs one, and on vsock; without one vsock is for "
	 "the host (CID 2) only"},
	{"collector", OPTION_COLLECTOR, "GROUP",
	 "also start a collector, with which the group's members trace their own tests inside the guest; it "
	 "ends with the agent"},
	{"collector-socket", OPTION_SOCKET, "PATH", "where it listens (default: " COLLECTOR_SOCKET ")"},
	{"verbose", 'v', NULL, "print more details"},
	{0},
};

struct request {
	struct agent_options options;
	const char *addresses[LISTENERS_MOST];
};

static bool take_option(int option, const char *value, void *context) {
	struct request *request = context;
	if (option == 'v') {
		log_set_level(LOG_VERBOSE);
		return true;
	}
	if (option == OPTION_TOKEN) {
		request->options.token_file = value;
		return true;
	}
	if (option == OPTION_COLLECTOR || option == OPTION_SOCKET) {
		*(option == OPTION_SOCKET ? &request->options.collector_socket
					  : &request->options.collector_group) = value;
		return true;
	}
	if (option == OPTION_LINGER && settings_parse_seconds(value, &request->options.linger))
		return true;
	if (option == OPTION_LISTEN && request->options.address_count < LISTENERS_MOST) {
		request->addresses[request->options.address_count++] = value;
		return true;
	}
	verb_bad_usage(&verb_agent);
	return false;
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct request request = {.options = {.linger = 60, .wait_port = 20}};
	// As process 1 the words are what the kernel left of its command line, unless they are options.
	if (getpid() == 1 && !(argc > 1 && strncmp(argv[1], "--", 2) == 0))
		return run_as_init();
	int status = verb_take(argc, argv, verb, take_option, &request);
	if (status >= 0)
		return status;
	if (optind != argc)
		return verb_bad_usage(verb);
	if (!request.options.address_count)
		request.addresses[request.options.address_count++] = "port:tracelet";
	request.options.addresses = request.addresses;
	return agent_main(&request.options);
}

const struct verb verb_agent = {
	.name = "agent",
	.family = FAMILY_MACHINES,
	.options = own_options,
	.summary = "inside a guest: run and trace what a host asks for",
	.usage = "tracelet agent [OPTIONS]",
	.about = "Waits for a host's 'tracelet guest', runs what it asks for, and sends back the output and "
		 "the artifacts. tracelet-agent is the same as one static program; as process 1 of a guest "
		 "it mounts what it needs, loads /modules/*.ko and takes tracelet.listen=ADDRESS[,ADDRESS], "
		 "tracelet.token-file=FILE and tracelet.collector=GROUP from the kernel's command line. "
		 "Anyone who can connect, and "
		 "knows the token if there is one, can run commands.",
	.notes = "Example: tracelet-agent --listen vsock:",
	.run = run,
};
