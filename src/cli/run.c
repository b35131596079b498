#include "base/log.h"
#include "cli/verb.h"
#include "session/descriptors.h"
#include "session/run.h"

#include <fcntl.h>
#include <getopt.h>
#include <string.h>

// "64M": bytes with an optional K, M or G. False: not such a thing.
static bool parse_size(const char *text, size_t *size) {
	static const char units[] = "KMG";
	char *end;
	unsigned long long value = strtoull(text, &end, 10);
	const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
	if (end == text || *text == '-' || (*end && (!unit || !*unit || end[1])))
		return false;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
	*size = (size_t)value << shift;
	return *size >> shift == value && *size >= 4096 && *size <= (size_t)1 << 30;
}

static bool parse_seconds(const char *text, double *seconds) {
	char *end;
	*seconds = strtod(text, &end);
	return end != text && (!*end || strcmp(end, "s") == 0) && *seconds >= 0 && *seconds < 1e9;
}

static bool descriptor_is_closed(const char *name) {
	int fd = descriptor_named(name);
	return fd >= 0 && fcntl(fd, F_GETFD) < 0;
}

enum {
	OPTION_NAME = 256,
	OPTION_OUTPUT_DIR,
	OPTION_SCOPE,
	OPTION_DURATION,
	OPTION_WAIT_TREE,
	OPTION_STRICT,
	OPTION_JSON,
	OPTION_BUFFER_SIZE,
	OPTION_KEEP_SPOOL,
};

static const struct option options[] = {
	{"name", required_argument, NULL, OPTION_NAME},
	{"output-dir", required_argument, NULL, OPTION_OUTPUT_DIR},
	{"scope", required_argument, NULL, OPTION_SCOPE},
	{"duration", required_argument, NULL, OPTION_DURATION},
	{"wait-tree", optional_argument, NULL, OPTION_WAIT_TREE},
	{"strict", no_argument, NULL, OPTION_STRICT},
	{"json", required_argument, NULL, OPTION_JSON},
	{"buffer-size", required_argument, NULL, OPTION_BUFFER_SIZE},
	{"keep-spool", no_argument, NULL, OPTION_KEEP_SPOOL},
	{"quiet", no_argument, NULL, 'q'},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

// False: the value is bad, and this was said.
static bool take_option(int option, const char *value, struct settings *settings) {
	const char *wanted = NULL;
	switch (option) {
	case OPTION_NAME:
		settings->name = value;
		break;
	case OPTION_OUTPUT_DIR:
		settings->output_dir = value;
		wanted = *value ? NULL : "a folder";
		break;
	case OPTION_SCOPE:
		settings->scope = strcmp(value, "system") == 0 ? SCOPE_SYSTEM : SCOPE_TREE;
		wanted = strcmp(value, "system") && strcmp(value, "tree") ? "'tree' or 'system'" : NULL;
		break;
	case OPTION_DURATION:
		wanted = parse_seconds(value, &settings->duration) ? NULL : "seconds";
		break;
	case OPTION_WAIT_TREE:
		settings->wait_tree = 0;
		wanted = !value || parse_seconds(value, &settings->wait_tree) ? NULL : "seconds";
		break;
	case OPTION_STRICT:
		settings->strict = true;
		break;
	case OPTION_JSON:
		settings->json = value;
		wanted = !*value                       ? "a descriptor or a file"
			 : descriptor_is_closed(value) ? "an open descriptor"
						       : NULL;
		break;
	case OPTION_BUFFER_SIZE:
		wanted = parse_size(value, &settings->buffer_size) ? NULL : "a size from 4K to 1G";
		break;
	case OPTION_KEEP_SPOOL:
		settings->keep_spool = true;
		break;
	case 'q':
		settings->quiet = true;
		log_set_level(LOG_QUIET);
		break;
	case 'v':
		settings->verbose = true;
		log_set_level(LOG_VERBOSE);
		break;
	}
	if (wanted)
		log_error("--%s: '%s' is not %s", options[option - OPTION_NAME].name, value, wanted);
	return !wanted;
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct settings settings = {.output_dir = "tracelet-out", .scope = SCOPE_TREE, .wait_tree = -1};
	// The "+": what follows the command's name is the command's.
	for (int option; (option = getopt_long(argc, argv, "+qvh", options, NULL)) != -1;) {
		if (option == 'h')
			return verb_print_help(verb);
		if (option == '?')
			return verb_bad_usage(verb);
		if (!take_option(option, optarg, &settings))
			return EXIT_USAGE;
	}
	if (optind == argc) {
		log_error("run needs a command: tracelet run -- COMMAND [ARGUMENTS...]");
		return EXIT_USAGE;
	}
	settings.command = argv + optind;
	return session_run(&settings);
}

const struct verb verb_run = {
	.name = "run",
	.summary = "run a test and trace exactly that",
	.help = "Usage: tracelet run [OPTIONS] -- COMMAND [ARGUMENTS...]\n\n"
		"Runs COMMAND with its own input, output, terminal and exit status, and leaves a\n"
		"Perfetto trace of what the machine did for it.\n\n"
		"  --name NAME         name of the test, and of the artifacts (default: COMMAND's)\n"
		"  --output-dir DIR    where artifacts go (default: ./tracelet-out)\n"
		"  --scope SCOPE       tree: COMMAND and all it starts (default); system: everything\n"
		"  --duration SECONDS  stop recording then; COMMAND goes on\n"
		"  --wait-tree[=SECS]  record until the whole process tree has ended (at most SECS)\n"
		"  --buffer-size SIZE  bytes between kernel and tracer, as in 64M (default: by CPUs)\n"
		"  --json FD|FILE      the summary as JSON there\n"
		"  --keep-spool        keep the raw recording beside the trace\n"
		"  --strict            without a trace do not run COMMAND: exit 125\n"
		"  --quiet             no summary; warnings stay\n"
		"  --verbose           say more\n"
		"  --help              this text\n\n"
		"Exit status: COMMAND's; 128+N if signal N ended it; 127 not found; 126 not\n"
		"executable; 2 bad options.\n\n"
		"Example: tracelet run --name parser -- ./unit_tests --filter parser\n",
	.run = run,
};
