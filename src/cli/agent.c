// The part inside a guest, as a verb: tracelet-agent is this program, linked statically.
#include "base/log.h"
#include "cli/verb.h"
#include "guest/agent.h"

#include <string.h>
#include <unistd.h>

static int run_as_init(void) {
	struct agent_options options = {.linger = 600, .wait_port = 20};
	init_prepare();
	options.addresses = (const char *const *)init_addresses(&options.address_count);
	agent_main(&options);
	init_power_off();
}

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option options[] = {
		{"listen", required_argument, NULL, 'l'},
		{"linger", required_argument, NULL, 'i'},
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *addresses[LISTENERS_MOST];
	struct agent_options agent = {.addresses = addresses, .linger = 60, .wait_port = 20};
	// What a kernel left over of its command line is not for us; who says where to listen is no kernel.
	if (getpid() == 1 && !(argc > 1 && strncmp(argv[1], "--", 2) == 0))
		return run_as_init();
	for (int option; (option = getopt_long(argc, argv, "vh", options, NULL)) != -1;) {
		if (option == 'h')
			return verb_print_help(verb);
		if (option == 'v')
			log_set_level(LOG_VERBOSE);
		else if (option == 'l' && agent.address_count < LISTENERS_MOST)
			addresses[agent.address_count++] = optarg;
		else if (option != 'i' || !settings_parse_seconds(optarg, &agent.linger))
			return verb_bad_usage(verb);
	}
	if (optind != argc)
		return verb_bad_usage(verb);
	if (!agent.address_count)
		addresses[agent.address_count++] = "port:tracelet";
	return agent_main(&agent);
}

const struct verb verb_agent = {
	.name = "agent",
	.summary = "inside a guest: run and trace what a host asks for",
	.help = "Usage: tracelet agent [OPTIONS]\n\n"
		"Waits for a host's 'tracelet guest', runs what it asks for, and sends back the output and\n"
		"the artifacts. tracelet-agent is the same as one static program; as process 1 of a guest\n"
		"it mounts what is needed, loads /modules/*.ko and takes tracelet.listen=ADDRESS[,ADDRESS]\n"
		"from the kernel's command line. Whoever can connect can run commands.\n\n"
		"  --listen ADDRESS  where; may be repeated (default: port:tracelet)\n"
		"                      port:NAME       a virtio serial port, or a device\n"
		"                      vsock:[PORT]    (default: 21580)\n"
		"                      tcp:HOST:PORT   numbers only\n"
		"                      unix:PATH\n"
		"                      serial:DEVICE\n"
		"                      stdio           ends with it\n"
		"  --linger SECONDS  how long a host whose connection was lost is waited for (default: 60)\n"
		"  --verbose         say more\n"
		"  --help            this text\n\n"
		"Example: tracelet-agent --listen vsock:\n",
	.run = run,
};
