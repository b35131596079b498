// What works on this machine, determined by trying it, and how to fix what does not.
#include "capture/collector_wire.h"
#include "cli/doctor/doctor.h"
#include "artifact/artifact.h"
#include "capture/bpf/heap.h"
#include "capture/capture.h"
#include "symbol/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <string.h>
#include <stdlib.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

// ---- one function per line of the table ----

static void examine_kernel(struct finding *finding) {
	struct utsname name;
	unsigned major = 0, minor = 0;
	uname(&name);
	sscanf(name.release, "%u.%u", &major, &minor);
	snprintf(finding->found, sizeof(finding->found), "Linux %.100s, %.40s", name.release, name.machine);
	if (major < 5 || (major == 5 && minor < 15))
		doctor_fix(finding, LIMITED, "tracelet needs Linux 5.15 or later");
}

static void examine_btf(struct finding *finding) {
	if (access("/sys/kernel/btf/vmlinux", R_OK) == 0) {
		snprintf(finding->found, sizeof(finding->found), "the kernel has type information (BTF)");
		return;
	}
	snprintf(finding->found, sizeof(finding->found), "/sys/kernel/btf/vmlinux: %s", strerror(errno));
	doctor_fix(finding, MISSING,
		   access("/sys/kernel", F_OK) == 0
			   ? "use a kernel with CONFIG_DEBUG_INFO_BTF, as distributions build it"
			   : "mount /sys (mount -t sysfs sysfs /sys)");
}

static double milliseconds_since(uint64_t begin) {
	return (double)(clock_monotonic_now() - begin) / 1e6;
}

// Docker, podman and Kubernetes each leave one of these.
static bool in_container(void) {
	const char *kind = getenv("container");
	return (kind && *kind) || access("/.dockerenv", F_OK) == 0 ||
	       access("/run/.containerenv", F_OK) == 0 || getenv("KUBERNETES_SERVICE_HOST");
}

static void advise_capabilities(struct finding *finding) {
	// Root there has what the container was started with; other users need root first, as everywhere.
	if (geteuid() == 0 && in_container()) {
		doctor_fix(finding, MISSING,
			   "this is a container: start it with --cap-add BPF,PERFMON "
			   "(docker: --cap-add BPF --cap-add PERFMON)");
		return;
	}
	char path[128] = "";
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0 || strlen(path) + 1 == sizeof(path))
		snprintf(path, sizeof(path), "tracelet");
	CLEANUP_FREE char *advice = memory_format("run as root, or once: " DOCTOR_CAPABILITIES, path, path,
						  path);
	doctor_fix(finding, MISSING, advice);
}

static void examine_bpf(struct finding *finding) {
	struct capture_options options = {.scope = SCOPE_TREE, .sources = {true, true, true}};
	struct capture *capture = NULL;
	char why[256] = "";
	uint64_t begin = clock_monotonic_now();
	int error = capture_bpf.open(&options, &capture, why);
	if (!error)
		error = capture_bpf.start(capture, why);
	if (!error)
		snprintf(finding->found, sizeof(finding->found), "programs load and attach in %.0f ms",
			 milliseconds_since(begin));
	else
		snprintf(finding->found, sizeof(finding->found), "%.150s", why);
	if (error == -EPERM || error == -EACCES)
		advise_capabilities(finding);
	else if (error)
		doctor_fix(finding, MISSING, "'tracelet run --verbose -- true' shows the kernel's messages");
	if (capture)
		capture_bpf.close(capture);
}

static void examine_heap(struct finding *finding) {
	char why[HEAP_WHY_SIZE] = "";
	int error = heap_probes_check(why);
	snprintf(finding->found, sizeof(finding->found), "%.150s",
		 error ? why : "running processes can be watched");
	if (error == -EPERM || error == -EACCES)
		doctor_fix(finding, LIMITED, "run as root; 'tracelet run --heap' needs no privileges");
	else if (error)
		doctor_fix(finding, LIMITED,
			   "'tracelet heap -p PID' does not work here; use 'tracelet run --heap'");
}

static void examine_statistics(struct finding *finding) {
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (fd >= 0) {
		close(fd);
		snprintf(finding->found, sizeof(finding->found),
			 "the kernel measures the cost of BPF programs");
		return;
	}
	snprintf(finding->found, sizeof(finding->found), "run-time statistics: %s", strerror(errno));
	doctor_fix(finding, LIMITED, "needs CAP_SYS_ADMIN; traces are the same without it");
}

static int paranoid_level(void) {
	int level = -100;
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	if (file && fscanf(file, "%d", &level) != 1)
		level = -100;
	if (file)
		fclose(file);
	return level;
}

static void examine_perf(struct finding *finding) {
	struct capture_options options = {.scope = SCOPE_TREE};
	struct capture *capture = NULL;
	char why[256] = "";
	int level = paranoid_level();
	if (capture_perf.open(&options, &capture, why) == 0) {
		capture_perf.close(capture);
		snprintf(finding->found, sizeof(finding->found), "available to the test's user (paranoid %d)",
			 level);
		return;
	}
	snprintf(finding->found, sizeof(finding->found), "%.120s; it is %d", why, level);
	doctor_fix(finding, MISSING, "sysctl kernel.perf_event_paranoid=2");
}

static void examine_pmu(struct finding *finding) {
	struct perf_event_attr attribute = {.type = PERF_TYPE_HARDWARE,
					    .size = sizeof(attribute),
					    .config = PERF_COUNT_HW_INSTRUCTIONS,
					    .exclude_kernel = 1,
					    .exclude_hv = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attribute, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		snprintf(finding->found, sizeof(finding->found), "instructions can be counted");
		return;
	}
	bool none = errno == ENOENT || errno == EOPNOTSUPP || errno == ENODEV;
	snprintf(finding->found, sizeof(finding->found), "%s",
		 none ? "this machine has none" : strerror(errno));
	doctor_fix(finding, LIMITED,
		   none ? "usual in virtual machines; 'tracelet stat' then counts only what the kernel counts"
			: "sysctl kernel.perf_event_paranoid=2");
}

static void examine_tracefs(struct finding *finding) {
	if (access("/sys/kernel/tracing/events", R_OK) == 0) {
		snprintf(finding->found, sizeof(finding->found), "mounted at /sys/kernel/tracing");
		return;
	}
	bool denied = errno == EACCES;
	snprintf(finding->found, sizeof(finding->found), "%s",
		 denied ? "not readable by this user" : "not mounted at /sys/kernel/tracing");
	doctor_fix(finding, LIMITED,
		   denied ? "run as root (nothing recorded today needs it)"
			  : "mount -t tracefs nodev /sys/kernel/tracing (nothing recorded today needs it)");
}

static void examine_output(struct finding *finding) {
	const char *folder = access("tracelet-out", F_OK) == 0 ? "tracelet-out/." : ".";
	if (access(folder, W_OK | X_OK) == 0) {
		snprintf(finding->found, sizeof(finding->found), "artifacts can go to ./tracelet-out");
		return;
	}
	snprintf(finding->found, sizeof(finding->found), "%s: %s",
		 *folder == '.' ? "the current directory" : "./tracelet-out", strerror(errno));
	doctor_fix(finding, LIMITED, "choose another directory with --output-dir");
}

static void examine_symbols(struct finding *finding) {
	int open = reader_check();
	if (open < 0) {
		snprintf(finding->found, sizeof(finding->found),
			 "cannot start the reader of symbol files: %s", strerror(-open));
		doctor_fix(finding, LIMITED, "functions have addresses in place of names");
		return;
	}
	snprintf(finding->found, sizeof(finding->found), "read by a process without rights%s%s%s",
		 open & READER_HAS_NO_FILTER ? ", but the kernel has no system call filter" : "",
		 open & READER_HAS_NO_USER ? ", but it keeps its user" : "",
		 open & READER_HAS_NO_LIMITS ? ", but without some limits" : "");
	if (open)
		doctor_fix(finding, LIMITED,
			   "use a kernel with CONFIG_SECCOMP_FILTER, outside of restricted containers");
}

// None is no flaw: a tracer records as well.
static void examine_collector(struct finding *finding) {
	const char *path = getenv("TRACELET_COLLECTOR_SOCKET");
	path = path && *path ? path : COLLECTOR_SOCKET;
	int socket = collector_connect(path);
	finding->verdict = WORKS;
	if (socket >= 0)
		snprintf(finding->found, sizeof(finding->found),
			 "'run', 'each' and 'start' record through %s", path);
	else if (socket == -ENOENT || socket == -ECONNREFUSED)
		snprintf(finding->found, sizeof(finding->found), "none; each test has a tracer of its own");
	else {
		snprintf(finding->found, sizeof(finding->found), "%s: %s", path, strerror(-socket));
		doctor_fix(finding, LIMITED,
			   socket == -EACCES ? "become a member of the group that the socket belongs to"
					     : "find out which process listens there (ss -xlp)");
	}
	if (socket >= 0)
		close(socket);
}

const struct examination doctor_examinations[] = {
	{"kernel", examine_kernel},   {"BTF", examine_btf},
	{"BPF", examine_bpf},         {"BPF cost", examine_statistics},
	{"heap -p", examine_heap},    {"perf events", examine_perf},
	{"PMU", examine_pmu},         {"tracefs", examine_tracefs},
	{"symbols", examine_symbols}, {"collector", examine_collector},
	{"output", examine_output},   {0},
};

// Which backend a run would get.
const struct doctor_recording *doctor_recording(const struct finding *findings) {
	static const struct doctor_recording full = {"full", "Everything 'tracelet run' records can be "
							     "recorded here."},
					     reduced = {"reduced", "'tracelet run' records switches and "
								   "processes here, but no wakeups or "
								   "interrupts."},
					     none = {"none", "'tracelet run' runs tests here, but records "
							     "nothing."};
	bool bpf = false, perf = false;
	for (size_t i = 0; doctor_examinations[i].name; i++) {
		bpf |= doctor_examinations[i].examine == examine_bpf && findings[i].verdict == WORKS;
		perf |= doctor_examinations[i].examine == examine_perf && findings[i].verdict == WORKS;
	}
	return bpf ? &full : perf ? &reduced : &none;
}
