// What works on this machine, found out by trying it, and the fix for what does
// not.
#include "capture/capture.h"
#include "cli/doctor.h"
#include "session/artifact.h"

#include <errno.h>
#include <fcntl.h>
#include <bpf/bpf.h>
#include <linux/perf_event.h>
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
		doctor_fix(finding, LIMITED, "tracelet is made for Linux 5.15 and later");
}

static void examine_btf(struct finding *finding) {
	if (access("/sys/kernel/btf/vmlinux", R_OK) == 0) {
		snprintf(finding->found, sizeof(finding->found), "the kernel describes its types");
		return;
	}
	snprintf(finding->found, sizeof(finding->found), "/sys/kernel/btf/vmlinux: %s", strerror(errno));
	doctor_fix(finding, MISSING, "use a kernel with CONFIG_DEBUG_INFO_BTF, as distributions build it");
}

static double milliseconds_since(uint64_t begin) {
	return (double)(clock_monotonic_now() - begin) / 1e6;
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
		doctor_fix(finding, MISSING,
			   "run as root, or: setcap cap_bpf,cap_perfmon,cap_sys_admin+ep tracelet");
	else if (error)
		doctor_fix(finding, MISSING, "'tracelet run --verbose -- true' shows what the kernel said");
	if (capture)
		capture_bpf.close(capture);
}

static void examine_statistics(struct finding *finding) {
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (fd >= 0) {
		close(fd);
		snprintf(finding->found, sizeof(finding->found), "the kernel tells what our programs cost");
		return;
	}
	snprintf(finding->found, sizeof(finding->found), "run-time statistics: %s", strerror(errno));
	doctor_fix(finding, LIMITED, "needs CAP_SYS_ADMIN; traces are the same without");
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
		 *folder == '.' ? "the current folder" : "./tracelet-out", strerror(errno));
	doctor_fix(finding, LIMITED, "name another folder with --output-dir");
}

const struct examination doctor_examinations[] = {
	{"kernel", examine_kernel},       {"BTF", examine_btf},          {"BPF", examine_bpf},
	{"BPF cost", examine_statistics}, {"perf events", examine_perf}, {"PMU", examine_pmu},
	{"tracefs", examine_tracefs},     {"output", examine_output},    {0},
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
