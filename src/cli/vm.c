// `tracelet vm run`: a test in a machine that is booted for it.
#include "base/log.h"
#include "cli/verb.h"
#include "guest/host_run.h"
#include "session/choose_profile.h"
#include "vm/run.h"

#include <string.h>

enum { WORDS_MOST = 256, CPUS_MOST = 255, MEMORY_LEAST = 64 };

struct list {
	const char *items[WORDS_MOST + 1];
	size_t count;
};

struct request {
	struct vm_options options;
	struct list additions, variables;
	bool start; // no test, and it stays
};

static bool list_add(struct list *list, const char *name, const char *value) {
	if (list->count == WORDS_MOST) {
		log_error("--%s: more than %d are too many", name, WORDS_MOST);
		return false;
	}
	list->items[list->count++] = value;
	return true;
}

// NAME=VALUE, or NAME as it is here.
static bool take_variable(struct list *list, const char *text) {
	if (strchr(text, '=') > text)
		return list_add(list, "env", text);
	const char *value = getenv(text);
	if (!value) {
		log_error("--env: %s is not set here (NAME=VALUE sets it)", text);
		return false;
	}
	return list_add(list, "env", value - strlen(text) - 1); // environ has both in one piece
}

static bool take_seconds(const char *value, double *seconds) {
	char *end;
	*seconds = strtod(value, &end);
	if (end != value && !*end && *seconds > 0 && *seconds <= 86400)
		return true;
	log_error("--boot-timeout: '%s' is not a number of seconds", value);
	return false;
}

static bool take_number(const char *name, const char *value, unsigned least, unsigned most,
			unsigned *number) {
	char *end;
	unsigned long got = strtoul(value, &end, 10);
	*number = (unsigned)got;
	if (*value >= '0' && *value <= '9' && !*end && got >= least && got <= most)
		return true;
	log_error("--%s: '%s' is not a number from %u to %u", name, value, least, most);
	return false;
}

static bool take_memory(const char *value, unsigned *mebibytes) {
	size_t size = 0;
	bool plain = *value && value[strspn(value, "0123456789")] == 0;
	if (plain)
		return take_number("mem", value, MEMORY_LEAST, 1 << 20, mebibytes);
	bool good = settings_parse_size(value, &size) && size >= (size_t)MEMORY_LEAST << 20 &&
		    size <= (size_t)1 << 40;
	*mebibytes = (unsigned)(size >> 20);
	if (!good)
		log_error("--mem: '%s' is not a size from 64M to 1T", value);
	return good;
}

static bool take_option(int option, const char *value, void *context) {
	struct request *request = context;
	struct vm_options *options = &request->options;
	size_t size = 0;
	switch (option) {
	case 'k':
		options->kernel = value;
		return true;
	case 'i':
		options->initrd = value;
		return true;
	case 'r':
		options->rootfs = value;
		return true;
	case 'g':
		options->agent = value;
		return true;
	case 'p':
		options->append = value;
		return true;
	case 'c':
		return take_number("cpus", value, 1, CPUS_MOST, &options->cpus);
	case 'm':
		return take_memory(value, &options->memory);
	case 'a':
		if (machine_arch(value, &options->arch))
			return true;
		log_error("--arch: '%s' is neither x86_64 nor arm64", value);
		return false;
	case 'x':
		if (settings_parse_size(value, &size) && size) {
			options->max_artifact_size = size;
			return true;
		}
		log_error("--max-artifact-size: '%s' is not a size, as in 2G", value);
		return false;
	case 'Q':
		options->qemu = value;
		return true;
	case 'S':
		options->socket = value;
		return true;
	case 'B':
		return take_seconds(value, &options->boot_limit);
	case 'E':
		return take_variable(&request->variables, value);
	default:
		return list_add(&request->additions, "add", value);
	}
}

// NULL: it can be tried.
static const char *what_is_missing(const struct request *request, bool command) {
	if (!request->options.kernel)
		return request->start ? "vm start needs a kernel: --kernel FILE"
				      : "vm run needs a kernel: --kernel FILE";
	if (request->options.initrd && request->options.rootfs)
		return "--initrd and --rootfs: the guest has one of them, not both";
	if (request->start && command)
		return "vm start takes no command: 'tracelet guest ADDRESS run -- COMMAND' runs one there";
	if (!request->start && !command)
		return "vm run needs a command: tracelet vm run --kernel FILE -- COMMAND";
	return !request->start && request->options.socket ? "--socket is for 'vm start'" : NULL;
}

static int with_machine(int argc, char **argv, const struct verb *verb) {
	static const struct option own[] = {
		{"kernel", required_argument, NULL, 'k'},
		{"initrd", required_argument, NULL, 'i'},
		{"rootfs", required_argument, NULL, 'r'},
		{"mem", required_argument, NULL, 'm'},
		{"cpus", required_argument, NULL, 'c'},
		{"arch", required_argument, NULL, 'a'},
		{"agent", required_argument, NULL, 'g'},
		{"append", required_argument, NULL, 'p'},
		{"add", required_argument, NULL, 'd'},
		{"env", required_argument, NULL, 'E'},
		{"qemu", required_argument, NULL, 'Q'},
		{"socket", required_argument, NULL, 'S'},
		{"boot-timeout", required_argument, NULL, 'B'},
		{"max-artifact-size", required_argument, NULL, 'x'},
		{0},
	};
	struct request request = {.start = strcmp(argv[0], "start") == 0,
				  .options = {.arch = machine_arch_here(),
					      .memory = 512,
					      .cpus = 1,
					      .boot_limit = 60,
					      .max_artifact_size = 8ull << 30}};
	struct verb_options more = {own, NULL, take_option, &request};
	struct settings settings;
	int status = verb_settings_and(argc, argv, verb, verb_run_flags, verb_run_flag_count, &more,
				       &settings);
	if (status >= 0)
		return status;
	request.options.additions = request.additions.items;
	request.options.variables = request.variables.items;
	settings.command = request.start ? NULL : argv + optind;
	const char *missing = what_is_missing(&request, optind < argc);
	if (missing)
		log_error("%s", missing);
	status = missing         ? EXIT_USAGE
		 : request.start ? vm_start(&request.options, &settings)
				 : vm_run(&request.options, &settings);
	settings_free(&settings);
	return status;
}

static int run(int argc, char **argv, const struct verb *verb) {
	if (argc > 1 && (strcmp(argv[1], "run") == 0 || strcmp(argv[1], "start") == 0))
		return with_machine(argc - 1, argv + 1, verb);
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return verb_print_help(verb);
	log_error("vm takes 'run' or 'start': tracelet vm run --kernel FILE -- COMMAND");
	return verb_bad_usage(verb);
}

const struct verb verb_vm = {
	.name = "vm",
	.summary = "boot a throw-away virtual machine for one test, traced inside",
	.help = "Usage: tracelet vm run --kernel FILE [OPTIONS] -- COMMAND [ARGUMENTS...]\n"
		"       tracelet vm start --kernel FILE [--socket PATH] [OPTIONS]\n\n"
		"Boots a guest with QEMU, takes COMMAND and the libraries it needs along, runs it there\n"
		"traced, with our standard input, output, signals and its exit status, brings the artifacts\n"
		"here and throws the guest away. What its kernel said is an artifact too (console.log); if\n"
		"it panics, why and where is told. With KVM where that works, else in emulation.\n"
		"'start' boots the same guest for many tests: it prints its address, for 'tracelet guest\n"
		"ADDRESS run', and stays until 'tracelet guest ADDRESS power-off' or Ctrl-C.\n\n"
		"  --kernel FILE    a vmlinux, bzImage or arm64 Image; its modules are looked for in\n"
		"                   modules/ beside it, ../lib/modules/RELEASE and /lib/modules/RELEASE\n"
		"  --rootfs DIR     the guest's root is a copy of this folder\n"
		"  --initrd FILE    or this initramfs; without both: COMMAND, a shell and not much else\n"
		"  --add FILE[=PATH]  take this file or folder along, too, with what it needs; may be\n"
		"                   repeated. COMMAND runs in the folder that has the name of ours\n"
		"  --env NAME[=VALUE]  a variable for COMMAND, which gets none of ours by itself\n"
		"  --mem SIZE       of the guest, as in 2G (default: 512M)\n"
		"  --cpus N         its processors (default: 1)\n"
		"  --arch ARCH      x86_64 or arm64 (default: this machine's)\n"
		"  --agent FILE     tracelet-agent for that\n"
		"  --append WORDS   to the kernel's command line\n"
		"  --qemu WORDS     to QEMU's\n"
		"  --boot-timeout SECONDS  for the guest to come up (default: 60)\n"
		"  --socket PATH    start: where the guest is reached\n"
		"  --max-artifact-size SIZE  more is not taken from the guest (default: 8G)\n"
		"  --timeout SECONDS  for COMMAND, as in 'run'; a guest that hangs is ended, too\n"
		"  --help           this text\n\n"
		"All options of 'tracelet run' are taken too.\n\n"
		"Exit status: COMMAND's; 124 timed out; 125 the guest failed; 2 bad options.\n\n"
		"Example: tracelet vm run --kernel /boot/vmlinuz-6.1.0-32-cloud-amd64 -- ./unit_tests\n",
	.run = run,
};
