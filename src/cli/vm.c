// `tracelet vm run`: a test in a virtual machine booted for it.
#include "base/log.h"
#include "cli/verb.h"
#include "guest/host/run.h"
#include "session/choose_profile.h"
#include "vm/console.h"
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
		log_error("--%s: at most %d are allowed", name, WORDS_MOST);
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

static bool take_size(const char *name, const char *value, size_t least, uint64_t *bytes) {
	size_t size = 0;
	if (settings_parse_size(value, &size) && size >= least) {
		*bytes = size;
		return true;
	}
	if (least > 1)
		log_error("--%s: '%s' is not a size of at least %zuK", name, value, least >> 10);
	else
		log_error("--%s: '%s' is not a size, as in 2G", name, value);
	return false;
}

enum {
	OPTION_KERNEL = LETTERS + 1,
	OPTION_ROOTFS,
	OPTION_INITRD,
	OPTION_ADD,
	OPTION_ENV,
	OPTION_MEM,
	OPTION_CPUS,
	OPTION_ARCH,
	OPTION_AGENT,
	OPTION_APPEND,
	OPTION_QEMU,
	OPTION_BOOT_TIMEOUT,
	OPTION_SOCKET,
	OPTION_MAX_ARTIFACT_SIZE,
	OPTION_MAX_CONSOLE,
};

static const struct verb_option own_options[] = {
	{"kernel", OPTION_KERNEL, "FILE",
	 "the guest's kernel: a vmlinux, bzImage or arm64 Image. Its modules are searched in modules/ next "
	 "to it, ../lib/modules/RELEASE and /lib/modules/RELEASE"},
	{"rootfs", OPTION_ROOTFS, "DIR", "copy this directory into the guest as its root"},
	{"initrd", OPTION_INITRD, "FILE",
	 "boot this initramfs instead (without --rootfs and --initrd the guest has COMMAND, a shell and "
	 "little "
	 "else)"},
	{"add", OPTION_ADD, "FILE[=PATH]",
	 "also copy this file or directory into the guest, with the libraries it needs; may be repeated. "
	 "COMMAND runs in a directory with the same path as the current one"},
	{"env", OPTION_ENV, "NAME[=VALUE]",
	 "set a variable for COMMAND, which inherits none; without VALUE, copy it from here"},
	{"mem", OPTION_MEM, "SIZE", "the guest's memory, as in 2G (default: 512M)"},
	{"cpus", OPTION_CPUS, "N", "the guest's processors (default: 1)"},
	{"arch", OPTION_ARCH, "ARCH", "the guest's architecture, x86_64 or arm64 (default: this machine's)",
	 "x86_64 arm64"},
	{"agent", OPTION_AGENT, "FILE",
	 "the tracelet-agent for the guest, if it is not next to this program"},
	{"append", OPTION_APPEND, "WORDS", "words to add to the kernel's command line"},
	{"qemu", OPTION_QEMU, "WORDS", "words to add to QEMU's command line"},
	{"boot-timeout", OPTION_BOOT_TIMEOUT, "SECONDS", "how long the guest may take to boot (default: 60)"},
	{"socket", OPTION_SOCKET, "PATH", "for start: the socket for reaching the guest"},
	{"max-artifact-size", OPTION_MAX_ARTIFACT_SIZE, "SIZE",
	 "accept no more than this from the guest (default: 8G)"},
	{"max-console", OPTION_MAX_CONSOLE, "SIZE",
	 "keep no more than this of the guest's console: its beginning and its last 64K (default: 64M)"},
	{0},
};

static bool take_option(int option, const char *value, void *context) {
	struct request *request = context;
	struct vm_options *options = &request->options;
	switch (option) {
	case OPTION_KERNEL:
		options->kernel = value;
		return true;
	case OPTION_INITRD:
		options->initrd = value;
		return true;
	case OPTION_ROOTFS:
		options->rootfs = value;
		return true;
	case OPTION_AGENT:
		options->agent = value;
		return true;
	case OPTION_APPEND:
		options->append = value;
		return true;
	case OPTION_CPUS:
		return take_number("cpus", value, 1, CPUS_MOST, &options->cpus);
	case OPTION_MEM:
		return take_memory(value, &options->memory);
	case OPTION_ARCH:
		if (machine_arch(value, &options->arch))
			return true;
		log_error("--arch: '%s' is neither x86_64 nor arm64", value);
		return false;
	case OPTION_MAX_ARTIFACT_SIZE:
		return take_size("max-artifact-size", value, 1, &options->max_artifact_size);
	case OPTION_MAX_CONSOLE:
		return take_size("max-console", value, CONSOLE_LEAST, &options->max_console);
	case OPTION_QEMU:
		options->qemu = value;
		return true;
	case OPTION_SOCKET:
		options->socket = value;
		return true;
	case OPTION_BOOT_TIMEOUT:
		return take_seconds(value, &options->boot_limit);
	case OPTION_ENV:
		return take_variable(&request->variables, value);
	default:
		return list_add(&request->additions, "add", value);
	}
}

// NULL if it can be tried.
static const char *what_is_missing(const struct request *request, bool command) {
	if (!request->options.kernel)
		return request->start ? "vm start needs a kernel: --kernel FILE"
				      : "vm run needs a kernel: --kernel FILE";
	if (request->options.initrd && request->options.rootfs)
		return "--initrd and --rootfs cannot be combined";
	if (request->start && command)
		return "vm start takes no command: 'tracelet guest ADDRESS run -- COMMAND' runs one there";
	if (!request->start && !command)
		return "vm run needs a command: tracelet vm run --kernel FILE -- COMMAND";
	return !request->start && request->options.socket ? "--socket is for 'vm start'" : NULL;
}

static int with_machine(int argc, char **argv, const struct verb *verb) {
	struct request request = {.start = strcmp(argv[0], "start") == 0,
				  .options = {.arch = machine_arch_here(),
					      .memory = 512,
					      .cpus = 1,
					      .boot_limit = 60,
					      .max_artifact_size = 8ull << 30,
					      .max_console = 64ull << 20}};
	struct settings settings;
	int status = verb_take_settings(argc, argv, verb, take_option, &request, &settings);
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
	.family = FAMILY_MACHINES,
	.ordered = true,
	.as_run = true,
	.options = own_options,
	.summary = "trace a test inside a throw-away virtual machine",
	.usage = "tracelet vm run --kernel FILE [OPTIONS] -- COMMAND [ARGUMENTS...]\n"
		 "tracelet vm start --kernel FILE [--socket PATH] [OPTIONS]",
	.about =
		"Boots a guest with QEMU, copies COMMAND and the libraries it needs into it, runs and traces "
		"it "
		"there with our standard input, output, signals and exit status, copies the artifacts here "
		"and discards the guest. The kernel's console is an artifact too (console.log); if the "
		"kernel panics, tracelet reports why and where. Uses KVM where it works, else "
		"emulation.\n'start' boots the same guest for many tests: it prints its address, for "
		"'tracelet guest ADDRESS run', and stays until 'tracelet guest ADDRESS power-off' or Ctrl-C.",
	.notes = "--timeout also ends a guest that hangs.\n\n"
		 "Exit status: COMMAND's; 124 timed out; 125 the guest failed; 2 bad options.\n\n"
		 "Example: tracelet vm run --kernel /boot/vmlinuz-6.1.0-32-cloud-amd64 -- ./unit_tests",
	.run = run,
};
