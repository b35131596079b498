// Prints what a program can find out about itself and its surroundings, as `key: value`, a line for each fact
// that must be the same with and without tracelet. tests/cli/test_transparent.sh compares the lines. Facts
// that differ between any two runs (process ids, times) are printed as relations, or not at all.
//
//     transparent OUTPUT [ARGUMENTS...]   writes to the file OUTPUT, with the exit status 0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <stdbool.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

extern char **environ;

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static FILE *out;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
	va_list values;
	va_start(values, format);
	vfprintf(out, format, values);
	va_end(values);
	fputc('\n', out);
}

// ---- signals ----

static void say_signals(void) {
	sigset_t blocked, pending;
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	sigpending(&pending);
	for (int number = 1; number < NSIG; number++) {
		struct sigaction action;
		if (sigaction(number, NULL, &action) == 0)
			say("signal %d: %s%s%s, flags %x", number,
			    action.sa_handler == SIG_DFL   ? "default"
			    : action.sa_handler == SIG_IGN ? "ignored"
							   : "handled",
			    sigismember(&blocked, number) > 0 ? ", blocked" : "",
			    sigismember(&pending, number) > 0 ? ", pending" : "", (unsigned)action.sa_flags);
	}
	stack_t stack;
	sigaltstack(NULL, &stack);
	say("signal stack: flags %d", stack.ss_flags);
}

// ---- descriptors ----

static void say_descriptor(int fd) {
	char path[64], target[4096] = "";
	struct stat status;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, target, sizeof(target) - 1) < 0 || fstat(fd, &status))
		return;
	bool numbered = strncmp(target, "pipe:", 5) == 0 || strncmp(target, "socket:", 7) == 0;
	say("descriptor %d: %.*s, type %o, flags %x %x, position %lld", fd,
	    numbered ? (int)strcspn(target, ":") : (int)strlen(target), target, status.st_mode & S_IFMT,
	    (unsigned)fcntl(fd, F_GETFL), (unsigned)fcntl(fd, F_GETFD), (long long)lseek(fd, 0, SEEK_CUR));
}

static void say_descriptors(void) {
	for (int fd = 0; fd < 1024; fd++)
		if (fd != fileno(out) && fcntl(fd, F_GETFD) >= 0)
			say_descriptor(fd);
}

// Everything that comes in, up to its end.
static void say_input(void) {
	char bytes[4096];
	ssize_t got = 0;
	unsigned long long count = 0, sum = 0;
	if (isatty(0))
		return;
	while ((got = read(0, bytes, sizeof(bytes))) > 0)
		for (ssize_t i = 0; i < got; i++, count++)
			sum = sum * 31 + (unsigned char)bytes[i];
	say("input: %llu bytes, sum %llx, %s", count, sum, got < 0 ? strerror(errno) : "end");
}

// ---- the terminal ----

static void say_terminal(void) {
	for (int fd = 0; fd < 3; fd++) {
		struct termios settings;
		struct winsize size = {0};
		if (tcgetattr(fd, &settings)) {
			say("terminal %d: none", fd);
			continue;
		}
		ioctl(fd, TIOCGWINSZ, &size);
		say("terminal %d: %x %x %x %x, %d x %d, foreground %d, own session's %d", fd,
		    settings.c_iflag, settings.c_oflag, settings.c_cflag, settings.c_lflag, size.ws_col,
		    size.ws_row, tcgetpgrp(fd) == getpgrp(), tcgetsid(fd) == getsid(0));
	}
	int controlling = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	say("controlling terminal: %d", controlling >= 0);
	if (controlling >= 0)
		close(controlling);
}

// ---- files of /proc ----

// Each line of the file; of a line that begins with one of these words, nothing: it differs between any two
// runs.
static void say_file(const char *path, const char *const *except) {
	char line[8192];
	FILE *file = fopen(path, "re");
	int number = 0;
	while (file && fgets(line, sizeof(line), file)) {
		bool differs = false;
		for (const char *const *word = except; word && *word; word++)
			differs |= strncmp(line, *word, strlen(*word)) == 0;
		line[strcspn(line, "\n")] = 0;
		if (!differs)
			say("%s %d: %s", path, number, line);
		number++;
	}
	if (file)
		fclose(file);
	else
		say("%s: %s", path, strerror(errno));
}

static void say_proc(void) {
	static const char *const differ[] = {
		"Pid:",  "PPid:",  "Tgid:",   "Ngid:",  "NStgid:", "NSpid:", "VmPeak", "VmSize", "VmLck",
		"VmHWM", "VmRSS",  "Rss",     "VmData", "VmStk",   "VmExe",  "VmLib",  "VmPTE",  "VmSwap",
		"vol",   "nonvol", "FDSize:", "SigPnd", "untag",   "SigQ:",  NULL};
	static const char *const files[] = {
		"/proc/self/cgroup",        "/proc/self/oom_score_adj", "/proc/self/coredump_filter",
		"/proc/self/loginuid",      "/proc/self/sessionid",     "/proc/self/uid_map",
		"/proc/self/gid_map",       "/proc/self/setgroups",     "/proc/self/timens_offsets",
		"/proc/self/autogroup",     "/proc/self/comm",          "/proc/self/personality",
		"/proc/self/timerslack_ns", "/proc/self/limits"};
	say_file("/proc/self/status", differ);
	for (size_t i = 0; i < COUNT(files); i++)
		say_file(files[i], NULL);
}

static void say_links(void) {
	static const char *const links[] = {"cwd",
					    "root",
					    "exe",
					    "ns/cgroup",
					    "ns/ipc",
					    "ns/mnt",
					    "ns/net",
					    "ns/pid",
					    "ns/user",
					    "ns/uts",
					    "ns/pid_for_children",
					    "ns/time",
					    "ns/time_for_children"};
	for (size_t i = 0; i < COUNT(links); i++) {
		char path[64], target[4096] = "";
		snprintf(path, sizeof(path), "/proc/self/%s", links[i]);
		if (readlink(path, target, sizeof(target) - 1) < 0)
			snprintf(target, sizeof(target), "%s", strerror(errno));
		say("%s: %s", links[i], target);
	}
}

// ---- what the kernel keeps for a process ----

static void say_limits(void) {
	for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
		struct rlimit limit;
		if (getrlimit((__rlimit_resource_t)resource, &limit) == 0)
			say("limit %d: %llx %llx", resource, (unsigned long long)limit.rlim_cur,
			    (unsigned long long)limit.rlim_max);
	}
}

static void say_prctl(void) {
	static const struct {
		const char *name;
		int option;
		bool into; // a variable, not the result
	} states[] = {{"pdeathsig", PR_GET_PDEATHSIG, true},
		      {"dumpable", PR_GET_DUMPABLE, false},
		      {"keepcaps", PR_GET_KEEPCAPS, false},
		      {"timing", PR_GET_TIMING, false},
		      {"seccomp", PR_GET_SECCOMP, false},
		      {"securebits", PR_GET_SECUREBITS, false},
		      {"timer slack", PR_GET_TIMERSLACK, false},
		      {"child subreaper", PR_GET_CHILD_SUBREAPER, true},
		      {"no new privileges", PR_GET_NO_NEW_PRIVS, false},
		      {"huge pages disabled", PR_GET_THP_DISABLE, false},
		      {"machine check policy", PR_MCE_KILL_GET, false},
		      {"time stamp counter", PR_GET_TSC, true},
		      {"speculation", PR_GET_SPECULATION_CTRL, false},
		      {"io flusher", PR_GET_IO_FLUSHER, false}};
	for (size_t i = 0; i < COUNT(states); i++) {
		int value = 0;
		int result = states[i].into ? prctl(states[i].option, &value, 0, 0, 0)
					    : prctl(states[i].option, 0, 0, 0, 0);
		say("prctl %s: %d %d", states[i].name, result, value);
	}
	for (int capability = 0; capability < 64; capability++) {
		int bounding = prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
		int ambient = prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0);
		if (bounding >= 0)
			say("capability %d: bounding %d, ambient %d", capability, bounding, ambient);
	}
}

static void say_scheduling(void) {
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
		uint32_t least, most;
	} attributes = {.size = sizeof(attributes)};
	cpu_set_t processors;
	CPU_ZERO(&processors);
	sched_getaffinity(0, sizeof(processors), &processors);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &processors))
			say("processor %zu: allowed", cpu);
	syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0);
	say("scheduling: policy %u, flags %llx, nice %d, priority %u, utilization %u %u", attributes.policy,
	    (unsigned long long)attributes.flags, attributes.nice, attributes.priority, attributes.least,
	    attributes.most);
	say("nice: %d %d %d", getpriority(PRIO_PROCESS, 0), getpriority(PRIO_PGRP, 0),
	    getpriority(PRIO_PROCESS, 0));
	say("io priority: %ld", syscall(SYS_ioprio_get, 1, 0));
	int policy = -1;
	syscall(SYS_get_mempolicy, &policy, NULL, 0, NULL, 0);
	say("memory policy: %d", policy);
}

static void say_timers(void) {
	static const int timers[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
	for (size_t i = 0; i < COUNT(timers); i++) {
		struct itimerval left;
		getitimer((__itimer_which_t)timers[i], &left);
		say("timer %d: %s", timers[i],
		    left.it_value.tv_sec || left.it_value.tv_usec ? "runs" : "off");
	}
}

static void say_process(int argc, char **argv) {
	uid_t users[3];
	gid_t groups[1024];
	mode_t mask = umask(0);
	umask(mask);
	for (int i = 2; i < argc; i++)
		say("argument %d: %s", i, argv[i]);
	say("arguments: %d, %s", argc, argv[0]);
	for (char **variable = environ; *variable; variable++)
		say("environment %.*s: %s", (int)strcspn(*variable, "="), *variable, *variable);
	getresuid(&users[0], &users[1], &users[2]);
	say("users: %u %u %u", users[0], users[1], users[2]);
	getresgid(&users[0], &users[1], &users[2]);
	say("groups: %u %u %u", users[0], users[1], users[2]);
	int count = getgroups((int)COUNT(groups), groups);
	for (int i = 0; i < count; i++)
		say("group %d: %u", i, groups[i]);
	say("umask: %03o", (unsigned)mask);
	say("personality: %x", (unsigned)personality(0xffffffff));
	say("secure: %lu, executed as %s", getauxval(AT_SECURE), (const char *)getauxval(AT_EXECFN));
	say("process group: %d", (int)getpgrp());
	say("session: %d", (int)getsid(0));
	say("leader: of the group %d, of the session %d", getpgrp() == getpid(), getsid(0) == getpid());
	say("parent: in our group %d, in our session %d", getpgid(getppid()) == getpgrp(),
	    getsid(getppid()) == getsid(0));
}

static void say_children(void) {
	struct rusage used;
	int status;
	getrusage(RUSAGE_CHILDREN, &used);
	say("children: %s, used %ld", waitpid(-1, &status, WNOHANG) < 0 ? strerror(errno) : "some",
	    used.ru_maxrss);
	say("session keyring: %d", syscall(SYS_keyctl, 0, -3, 0) > 0);
}

int main(int argc, char **argv) {
	if (argc < 2 || !(out = fopen(argv[1], "we")))
		return 2;
	say_process(argc, argv);
	say_signals();
	say_descriptors();
	say_terminal();
	say_proc();
	say_links();
	say_limits();
	say_prctl();
	say_scheduling();
	say_timers();
	say_children();
	say_input();
	return fclose(out) != 0;
}
