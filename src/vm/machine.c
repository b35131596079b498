// This command line has not failed in hundreds of boots under emulation. In particular it gives the guest the
// frequency of the time stamp counter, which is the host's: a guest that measures it against an emulated
// timer is sometimes wrong by a factor of several.
#include "vm/machine.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/log.h"
#include "process/words.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROBE_SECONDS = 10, CONSOLE_FD = 3 };

static const struct {
	const char *program, *package, *machine, *console;
	const char *names[3];
} arches[] = {
	[VM_X86_64] =
		{"qemu-system-x86_64", "qemu-system-x86", "q35", "ttyS0", {"x86_64", "amd64", "x86-64"}},
	[VM_ARM64] =
		{"qemu-system-aarch64", "qemu-system-arm", "virt", "ttyAMA0", {"arm64", "aarch64", "armv8"}},
};

bool machine_arch(const char *name, enum vm_arch *arch) {
	for (size_t i = 0; i < ARRAY_SIZE(arches); i++)
		for (size_t k = 0; k < ARRAY_SIZE(arches[i].names); k++)
			if (strcmp(name, arches[i].names[k]) == 0) {
				*arch = (enum vm_arch)i;
				return true;
			}
	return false;
}

enum vm_arch machine_arch_here(void) {
	struct utsname system;
	enum vm_arch arch = VM_X86_64;
	uname(&system);
	machine_arch(system.machine, &arch);
	return arch;
}

static double seconds_of(clockid_t clock) {
	struct timespec time;
	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// In kHz; 0 if this machine has no time stamp counter, or not the guest's kind.
static unsigned counter_frequency(enum vm_arch arch) {
#ifdef __x86_64__
	if (arch != VM_X86_64)
		return 0;
	double begin = seconds_of(CLOCK_MONOTONIC_RAW), seconds;
	unsigned long long ticks = __builtin_ia32_rdtsc();
	do
		seconds = seconds_of(CLOCK_MONOTONIC_RAW) - begin;
	while (seconds < 0.05);
	return (unsigned)((double)(__builtin_ia32_rdtsc() - ticks) / seconds / 1e3);
#else
	return 0;
#endif
}

// QEMU separates options with commas; a doubled comma stands for one.
static char *escaped(const char *path) {
	char *text = memory_alloc(2 * strlen(path) + 1), *at = text;
	for (; *path; path++) {
		*at++ = *path;
		if (*path == ',')
			*at++ = ',';
	}
	return text;
}

static void add_kernel_words(struct words *words, const struct machine_options *options, bool accelerated) {
	unsigned frequency = accelerated ? 0 : counter_frequency(options->arch);
	struct buffer line = {0};
	buffer_printf(&line, "console=%s quiet panic=-1 cryptomgr.notests rdinit=/tracelet/tracelet-agent",
		      arches[options->arch].console);
	if (frequency)
		buffer_printf(&line, " tsc=reliable tsc_early_khz=%u", frequency);
	if (options->append)
		buffer_printf(&line, " %s", options->append);
	words_add(words, "-kernel");
	words_add(words, "%s", options->kernel);
	words_add(words, "-initrd");
	words_add(words, "%s", options->initrd);
	words_add(words, "-append");
	words_add(words, "%.*s", (int)line.size, (char *)line.data);
	buffer_free(&line);
}

// A guest that takes over QEMU, which is often root's, gets no further. The caller's own -sandbox counts.
static void add_sandbox(struct words *words, const struct machine_options *options) {
	if (options->words && strstr(options->words, "-sandbox"))
		return;
	words_add(words, "-sandbox");
	words_add(words, "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny");
}

static void machine_words(struct words *words, const struct machine_options *options,
			  const struct machine *machine) {
	bool accelerated = machine->accelerated;
	CLEANUP_FREE char *socket = escaped(options->socket);
	words_add(words, "%s", arches[options->arch].program);
	words_add(words, "-accel");
	// With a thread for each of several CPUs, QEMU 7.2 may keep a breakpoint that the guest's kernel has
	// removed from its code meanwhile, as it does when tracing begins and ends: the guest hangs.
	words_add(words, "%s", accelerated ? "kvm" : options->cpus > 1 ? "tcg,thread=single" : "tcg");
	words_add(words, "-M");
	words_add(words, "%s", arches[options->arch].machine);
	words_add(words, "-cpu");
	// QEMU 7.2 gets a 16-byte compare-and-exchange wrong now and then. Without ERMS the kernel copies and
	// clears by eight bytes, not by one: an emulated guest moves data three times as fast.
	words_add(words, "%s", accelerated ? "host" : options->arch == VM_X86_64 ? "max,-cx16,-erms" : "max");
	words_add(words, "-smp");
	words_add(words, "%u", options->cpus);
	words_add(words, "-m");
	words_add(words, "%u", options->memory);
	static char *const fixed[] = {(char *)"-nodefaults",
				      (char *)"-display",
				      (char *)"none",
				      (char *)"-no-reboot",
				      (char *)"-device",
				      (char *)"virtio-serial-pci",
				      NULL};
	words_add_all(words, fixed);
	words_add(words, "-chardev");
	words_add(words, "socket,id=tracelet,path=%s,server=on,wait=off", socket);
	words_add(words, "-device");
	words_add(words, "virtserialport,chardev=tracelet,name=tracelet");
	words_add(words, "-serial");
	words_add(words, "file:/proc/self/fd/%d", CONSOLE_FD);
	if (machine->sandboxed)
		add_sandbox(words, options);
	add_kernel_words(words, options, accelerated);
	CLEANUP_FREE char *more = memory_string(options->words ? options->words : "");
	char *rest = more;
	for (char *word; (word = strtok_r(rest, " \t\n", &rest));)
		words_add(words, "%s", word);
}

static void become_machine(char **words, const struct machine_options *options) {
	const char *log = options->log;
	setsid(); // Ctrl-C is for the test
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	int null = open("/dev/null", O_RDONLY);
	int out = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (null < 0 || out < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(out, STDERR_FILENO) < 0 ||
	    (options->console == CONSOLE_FD ? fcntl(CONSOLE_FD, F_SETFD, 0)
					    : dup2(options->console, CONSOLE_FD)) < 0)
		_exit(126);
	close_range(CONSOLE_FD + 1, ~0u, 0);
	execvp(words[0], words);
	_exit(errno == ENOENT ? 127 : 126);
}

// KVM may run code and still lack what QEMU needs, which then exits at once. So ask QEMU, with a machine that
// is never started.
static bool accelerates(enum vm_arch arch) {
	if (arch != machine_arch_here() || !machine_kvm_works())
		return false;
	CLEANUP_FREE char *command = memory_format(
		"echo quit | %s -accel kvm -M %s -cpu host -m 64 -nodefaults -display none -S -monitor stdio",
		arches[arch].program, arches[arch].machine);
	pid_t child = fork();
	if (child == 0) {
		int null = open("/dev/null", O_RDWR);
		alarm(PROBE_SECONDS);
		if (null < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
			_exit(126);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	int status = -1;
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0;
}

// The socket's name appears some time before it accepts connections; trying would count as a connection.
static bool is_listening(const char *path) {
	unsigned flags, listening = 1 << 16;
	bool found = false;
	char line[512];
	FILE *list = fopen("/proc/net/unix", "re");
	while (list && !found && fgets(line, sizeof(line), list)) {
		line[strcspn(line, "\n")] = 0;
		const char *name = strchr(line, '/');
		found = name && strcmp(name, path) == 0 && sscanf(line, "%*s %*s %*s %x", &flags) == 1 &&
			flags & listening;
	}
	if (list)
		fclose(list);
	return found || (!list && access(path, F_OK) == 0);
}

static int start_once(struct machine *machine, const struct machine_options *options) {
	struct words words = {0};
	machine_words(&words, options, machine);
	machine->over = false;
	machine->pid = fork();
	if (machine->pid == 0)
		become_machine(words.items, options);
	int error = machine->pid < 0 ? -errno : 0;
	words_free(&words);
	if (error)
		log_error("cannot start %s: %s", arches[options->arch].program, strerror(-error));
	// The socket appears when QEMU is up: soon, or never.
	while (!error && !is_listening(options->socket)) {
		error = machine_is_over(machine) ? -ECHILD : 0;
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
	return error;
}

// QEMU may be built without seccomp, or the kernel lack it.
static bool log_blames_sandbox(const char *path) {
	struct input log;
	if (input_open(&log, path))
		return false;
	bool found = memmem(log.data, log.size, "sandbox", 7) || memmem(log.data, log.size, "seccomp", 7);
	input_close(&log);
	return found;
}

int machine_start(struct machine *machine, const struct machine_options *options) {
	*machine = (struct machine){.accelerated = accelerates(options->arch), .sandboxed = true};
	int error = start_once(machine, options);
	if (error == -ECHILD && log_blames_sandbox(options->log)) {
		log_verbose("this QEMU has no sandbox; starting it without");
		machine->sandboxed = false;
		error = start_once(machine, options);
	}
	if (error == -ECHILD && WIFEXITED(machine->status) && WEXITSTATUS(machine->status) == 127) {
		error = -ENOENT;
		log_error("%s is not installed (Debian package %s)", arches[options->arch].program,
			  arches[options->arch].package);
	}
	return error;
}

bool machine_is_over(struct machine *machine) {
	if (!machine->over && machine->pid > 0 &&
	    waitpid(machine->pid, &machine->status, WNOHANG) == machine->pid)
		machine->over = true;
	return machine->over;
}

void machine_end(struct machine *machine, double patience) {
	double deadline = seconds_of(CLOCK_MONOTONIC) + patience;
	while (machine->pid > 0 && !machine_is_over(machine) && seconds_of(CLOCK_MONOTONIC) < deadline)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	if (machine->pid <= 0 || machine->over)
		return;
	kill(machine->pid, SIGKILL);
	while (waitpid(machine->pid, &machine->status, 0) < 0 && errno == EINTR)
		;
	machine->over = true;
}
