// In this order: a temporary directory, the kernel, the image, the machine, the agent's hello, the test, the
// artifacts, power off. Whatever fails, the directory and the machine are gone afterwards, and the console's
// output stays.
#include "vm/run.h"
#include "artifact/artifact.h"
#include "artifact/identity.h"
#include "artifact/manifest.h"
#include "artifact/stem.h"
#include "base/file.h"
#include "base/log.h"
#include "guest/host/run.h"
#include "session/finish.h"
#include "session/run.h"
#include "settings/variant.h"
#include "vm/console.h"
#include "vm/image.h"
#include "vm/panic.h"

#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct vm {
	const struct vm_options *options;
	struct settings *settings;
	char name[ARTIFACT_NAME_SIZE];
	char *folder, *socket, *image, *log;
	char *console, *placeholder; // artifacts; the latter reserves the name
	int reserved;                // descriptor of the placeholder, -1 if none
	struct vm_kernel kernel;
	struct machine machine;
	struct console console_copy; // from QEMU into the artifact
	struct timespec started;
	bool connected;      // the agent has answered
	struct buffer words; // why the guest failed, with its NUL; empty if it did not
	struct buffer stack; // of its panic
};

// ---- time limits and signals ----

static volatile sig_atomic_t limit_over, ended_by; // a signal
static volatile pid_t watched;                     // the machine

// When the machine ends, everything else ends too, and cleans up.
static void end_machine(int signal) {
	if (signal == SIGALRM)
		limit_over = 1;
	else
		ended_by = signal;
	if (watched > 0)
		kill(watched, SIGKILL);
}

// While the test runs, signals are its own (guest/host/command.h).
static void watch_signals(void) {
	static const int ends[] = {SIGALRM, SIGINT, SIGTERM, SIGHUP};
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		sigaction(ends[i], &(struct sigaction){.sa_handler = end_machine}, NULL);
}

static void watch_machine(const struct vm *vm) {
	const struct settings *settings = vm->settings;
	watched = vm->machine.pid;
	if (ended_by && watched > 0)
		kill(watched, SIGKILL);
	// The guest enforces the test's own limit; this one is for a guest that hangs.
	double limit = settings->timeout + settings->grace + vm->options->boot_limit;
	if (settings->timeout > 0)
		setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_sec = (time_t)limit + 1}}, NULL);
}

static void unwatch(void) {
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	watched = 0;
}

static bool vm_is_over(void *context) {
	return machine_is_over(&((struct vm *)context)->machine);
}

// ---- preparation ----

static bool make_folder(struct vm *vm) {
	const char *temporary = getenv("TMPDIR");
	vm->folder = memory_format("%s/tracelet-vm.XXXXXX", temporary && *temporary ? temporary : "/tmp");
	if (!mkdtemp(vm->folder)) {
		log_error("cannot create the temporary directory %s: %s", vm->folder, strerror(errno));
		free(vm->folder);
		vm->folder = NULL;
		return false;
	}
	vm->socket = vm->options->socket ? memory_string(vm->options->socket)
					 : memory_format("%s/port", vm->folder);
	vm->image = memory_format("%s/initramfs", vm->folder);
	vm->log = memory_format("%s/log", vm->folder);
	return true;
}

static void remove_folder(struct vm *vm) {
	char *roots[] = {vm->folder, NULL};
	FTS *walk = vm->folder ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
	for (FTSENT *entry; walk && (entry = fts_read(walk));)
		if (entry->fts_info != FTS_D)
			remove(entry->fts_path);
	if (walk)
		fts_close(walk);
}

static int reserve_console(struct vm *vm) {
	const struct settings *settings = vm->settings;
	char *stem = NULL;
	int fd = artifact_make_dir(settings->output_dir);
	if (!fd)
		fd = stem_reserve(settings, vm->name, &stem);
	if (fd < 0) {
		log_error("cannot write to %s: %s (give another directory with --output-dir)",
			  settings->output_dir, strerror(-fd));
		return fd;
	}
	vm->reserved = fd; // locked as long as we are there
	vm->placeholder = memory_format("%s.spool", stem);
	vm->console = memory_format("%s.console.log", stem);
	free(stem);
	return 0;
}

// The test's program: a path on this machine, to be freed. NULL if it is already in the guest.
static char *find_program(const struct vm_options *options, const char *command) {
	if (strchr(command, '/')) {
		CLEANUP_FREE char *inside = options->rootfs ? memory_format("%s/%s", options->rootfs, command)
							    : NULL;
		if ((inside && access(inside, F_OK) == 0) || access(command, F_OK) != 0)
			return NULL;
		CLEANUP_FREE char *here = *command == '/' ? NULL : getcwd(NULL, 0);
		return here ? memory_format("%s/%s", here, command) : memory_string(command);
	}
	if (options->rootfs || options->initrd)
		return NULL;
	CLEANUP_FREE char *path = memory_string(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
	char *rest = path;
	for (char *folder; (folder = strsep(&rest, ":"));) {
		char *file = memory_format("%s/%s", *folder ? folder : ".", command);
		if (*file == '/' && access(file, X_OK) == 0)
			return file;
		free(file);
	}
	return NULL;
}

// Next to this program in the build directory, in libexec when installed.
static char *find_agent(const struct vm_options *options) {
	const char *name = options->arch == machine_arch_here() ? "tracelet-agent"
			   : options->arch == VM_ARM64          ? "tracelet-agent-arm64"
								: "tracelet-agent-x86_64";
	char self[4096] = "";
	if (options->agent)
		return memory_string(options->agent);
	ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash = size > 0 ? strrchr(self, '/') : NULL;
	CLEANUP_FREE char *installed = memory_format("../libexec/tracelet/%s", name);
	const char *const places[] = {
		name, installed, options->arch == VM_ARM64 ? "../build-arm64/tracelet-agent" : installed};
	for (size_t i = 0; slash && i < ARRAY_SIZE(places); i++) {
		char *path = memory_format("%.*s/%s", (int)(slash - self), self, places[i]);
		if (access(path, X_OK) == 0)
			return path;
		free(path);
	}
	log_error("found no %s next to this program or in libexec (give one with --agent)", name);
	return NULL;
}

static int make_image(struct vm *vm, char **program) {
	const struct vm_options *options = vm->options;
	CLEANUP_FREE char *agent = find_agent(options);
	if (!agent)
		return -ENOENT;
	const char *command = vm->settings->command ? vm->settings->command[0] : NULL;
	*program = command ? find_program(options, command) : NULL;
	// It may be among the additions; if not, the guest reports it.
	if (command && !*program && !options->rootfs && !options->initrd && !options->additions[0]) {
		log_error("%s: command not found", command);
		return -ENOENT;
	}
	CLEANUP_FREE char *here = getcwd(NULL, 0);
	int error = vm_kernel_prepare(&vm->kernel, options->kernel, options->arch, vm->folder);
	struct image_options image = {.agent = agent,
				      .initrd = options->initrd,
				      .rootfs = options->rootfs,
				      .program = *program,
				      .additions = options->additions,
				      .variables = options->variables,
				      .folder = here,
				      .kernel = &vm->kernel,
				      .foreign = options->arch != machine_arch_here()};
	return error ? error : image_write(&image, vm->image);
}

// ---- how it ended ----

// The last line of a small file.
static void append_last_line(struct buffer *words, const char *path) {
	struct input input;
	if (input_open(&input, path))
		return;
	size_t end = input.size;
	while (end && (input.data[end - 1] == '\n' || input.data[end - 1] == '\r'))
		end--;
	size_t begin = end;
	if (end)
		buffer_printf(words, ": ");
	while (begin && input.data[begin - 1] != '\n' && end - begin < 200)
		begin--;
	for (size_t i = begin; i < end; i++)
		buffer_append(words,
			      input.data[i] >= ' ' && input.data[i] <= '~' ? &input.data[i]
									   : (const uint8_t *)"?",
			      1);
	input_close(&input);
}

static bool find_panic(struct vm *vm) {
	struct input console;
	struct buffer why = {0};
	if (input_open(&console, vm->console))
		return false;
	bool panicked = panic_find((const char *)console.data, console.size, &why, &vm->stack);
	if (panicked)
		buffer_printf(&vm->words, "kernel panic: %.*s", (int)why.size, (char *)why.data);
	buffer_free(&why);
	input_close(&console);
	return panicked;
}

// Why there is no result, as text for the manifest and for people.
static void explain(struct vm *vm) {
	if (limit_over) {
		buffer_printf(&vm->words, "it hung: still running %g s after the test's time limit",
			      vm->settings->grace + vm->options->boot_limit);
	} else if (!find_panic(vm)) {
		buffer_printf(&vm->words, vm->connected ? "it ended before the test did" : "it did not boot");
		append_last_line(&vm->words, vm->log);
		if (!vm->connected && !vm->kernel.modules.count)
			buffer_printf(&vm->words, ": found no modules for its kernel, so virtio_pci and "
						  "virtio_console must be built in");
	}
	buffer_append(&vm->words, "", 1);
	log_error("the guest failed: %s (%s)", (char *)vm->words.data, vm->console);
	for (size_t at = 0; at < vm->stack.size;) {
		size_t size = strcspn((char *)vm->stack.data + at, "\n");
		fprintf(stderr, "  %.*s\n", (int)size, (char *)vm->stack.data + at);
		at += size + 1;
	}
}

static void put_console(struct manifest_record *record, const struct vm *vm, char digits[65]) {
	struct stat status;
	record->there.artifacts = MANIFEST_THERE;
	if (stat(vm->console, &status))
		return;
	bool summed = artifact_sha256(vm->console, digits) == 0;
	manifest_put_artifact(record, "console", vm->console, (uint64_t)status.st_size,
			      summed ? digits : NULL);
}

static void note_machine(const struct vm *vm, int status) {
	struct manifest_record record = {0};
	struct timespec now;
	char hash[VARIANT_HASH_SIZE], digits[65];
	clock_gettime(CLOCK_REALTIME, &now);
	MANIFEST_PUT(&record, test, vm->name);
	if (vm->settings->command)
		MANIFEST_PUT(&record, name, manifest_keep(&record, session_true_name(vm->settings)));
	MANIFEST_PUT(&record, kind, "machine");
	identity_put(&record, vm->settings);
	MANIFEST_PUT(&record, status,
		     manifest_status_names[vm->words.size ? ENDED_MACHINE_FAILED
					   : status       ? ENDED_FAILED
							  : ENDED_PASSED]);
	MANIFEST_PUT(&record, result,
		     vm->words.size ? "failed: the guest failed"
		     : status       ? "failed"
				    : "passed");
	if (vm->words.size)
		MANIFEST_PUT(&record, guest_failed, (const char *)vm->words.data);
	if (vm->settings->variant) {
		variant_hash(vm->settings->variant, hash);
		MANIFEST_PUT(&record, variant_hash, hash);
	}
	MANIFEST_PUT(&record, started, vm->started);
	MANIFEST_PUT(&record, wall_seconds,
		     (double)(now.tv_sec - vm->started.tv_sec) +
			     (double)(now.tv_nsec - vm->started.tv_nsec) / 1e9);
	MANIFEST_PUT(&record, kernel, vm->options->kernel);
	MANIFEST_PUT(&record, kvm, vm->machine.accelerated);
	put_console(&record, vm, digits);
	int error = manifest_note(vm->settings->output_dir, &record);
	if (error)
		log_warning("%s/manifest.jsonl: %s", vm->settings->output_dir, strerror(-error));
	manifest_record_free(&record);
}

// ---- the run ----

static int run_test(struct vm *vm) {
	CLEANUP_FREE char *address = memory_format("unix:%s", vm->socket);
	struct host_options options = {.address = address,
				       .patience = 30,
				       .connect = vm->options->boot_limit,
				       .is_over = vm_is_over,
				       .context = vm};
	// Live, so that a guest that panics leaves what it recorded until then.
	struct host_run run = {
		.settings = vm->settings, .max_artifact_size = vm->options->max_artifact_size, .live = true};
	struct host host;
	if (host_open(&host, &options))
		return STATUS_GUEST_FAILED;
	vm->connected = true;
	host_run(&host, &run);
	if (!run.guest_failed) {
		struct host_request off = {.kind = REQUEST_POWER_OFF,
					   .input = -1,
					   .output = -1,
					   .errors = -1,
					   .keep_quiet = true};
		host_request(&host, &off);
	}
	host_close(&host);
	int status = run.guest_failed ? -1 : run.status;
	host_run_free(&run);
	return status;
}

static int start_machine(struct vm *vm) {
	const struct vm_options *options = vm->options;
	struct machine_options machine = {.arch = options->arch,
					  .memory = options->memory,
					  .cpus = options->cpus,
					  .kernel = vm->kernel.file,
					  .initrd = vm->image,
					  .socket = vm->socket,
					  .log = vm->log,
					  .append = options->append,
					  .words = options->qemu};
	int error = console_start(&vm->console_copy, vm->console, options->max_console, &machine.console);
	if (error) {
		log_error("cannot write %s: %s", vm->console, strerror(-error));
		return error;
	}
	error = machine_start(&vm->machine, &machine);
	close(machine.console);
	if (error != -ENOENT)
		watch_machine(vm);
	return error;
}

static void end_console(struct vm *vm) {
	enum { MEBIBYTE = 1 << 20 };
	console_end(&vm->console_copy);
	if (vm->console_copy.omitted)
		log_warning("the guest's console exceeded --max-console (%.4g MiB); omitted %" PRIu64
			    " bytes in the middle of %s",
			    (double)vm->options->max_console / MEBIBYTE, vm->console_copy.omitted,
			    vm->console);
}

static int boot_and_run(struct vm *vm) {
	enum { POWER_OFF_SECONDS = 10 };
	int error = start_machine(vm);
	if (error == -ENOENT)
		return STATUS_GUEST_FAILED;
	int status = error || ended_by ? -1 : run_test(vm);
	bool failed = status < 0 || !vm->connected;
	machine_end(&vm->machine, failed ? 2 : POWER_OFF_SECONDS);
	unwatch();
	end_console(vm);
	if (ended_by && failed) {
		unlink(vm->console);
		return 128 + ended_by;
	}
	if (failed)
		explain(vm);
	bool kept = failed || vm->settings->keep == KEEP_ALWAYS ||
		    (status && vm->settings->keep == KEEP_FAILED);
	if (!kept)
		unlink(vm->console);
	note_machine(vm, status);
	return failed ? STATUS_GUEST_FAILED : status;
}

// Meanwhile it serves requests on its socket.
static int boot_and_wait(struct vm *vm) {
	int error = start_machine(vm);
	if (error == -ENOENT)
		return STATUS_GUEST_FAILED;
	if (!error) {
		printf("unix:%s\n", vm->socket);
		fflush(stdout);
	}
	vm->connected = !error;
	while (!machine_is_over(&vm->machine))
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	unwatch();
	end_console(vm);
	if (ended_by)
		return 128 + ended_by;
	if (!error && vm->machine.status == 0 && !find_panic(vm))
		return 0;
	vm->words.size = 0;
	explain(vm);
	return STATUS_GUEST_FAILED;
}

static void vm_free(struct vm *vm) {
	console_end(&vm->console_copy);
	remove_folder(vm);
	if (vm->placeholder)
		unlink(vm->placeholder);
	if (vm->reserved >= 0)
		close(vm->reserved);
	if (vm->machine.pid > 0)
		unlink(vm->socket); // it may be outside the directory
	vm_kernel_free(&vm->kernel);
	char *texts[] = {vm->folder, vm->socket, vm->image, vm->log, vm->console, vm->placeholder};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
	buffer_free(&vm->words);
	buffer_free(&vm->stack);
}

static int run_with(struct vm *vm, int (*boot)(struct vm *vm)) {
	CLEANUP_FREE char *program = NULL;
	if (vm->settings->command)
		session_test_name(vm->settings, vm->name);
	else
		artifact_safe_name(vm->settings->name ? vm->settings->name : "machine", vm->name);
	clock_gettime(CLOCK_REALTIME, &vm->started);
	int status = STATUS_GUEST_FAILED;
	watch_signals();
	if (make_folder(vm) && make_image(vm, &program) == 0 && reserve_console(vm) == 0) {
		if (program)
			vm->settings->command[0] = program;
		// Named after the command as given, not after its path in the guest.
		vm->settings->name = vm->name;
		vm->settings->origins[SETTING_NAME] = FROM_FLAG;
		status = boot(vm);
	}
	vm_free(vm);
	return status;
}

int vm_run(const struct vm_options *options, struct settings *settings) {
	struct vm vm = {.options = options, .settings = settings, .reserved = -1};
	return run_with(&vm, boot_and_run);
}

int vm_start(const struct vm_options *options, struct settings *settings) {
	struct vm vm = {.options = options, .settings = settings, .reserved = -1};
	return run_with(&vm, boot_and_wait);
}
