// What works on this machine, found out by trying it, and the fix for what does
// not.
#include "base/json.h"
#include "base/log.h"
#include "capture/capture.h"
#include "cli/verb.h"
#include "session/artifact.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

enum verdict { WORKS, LIMITED, MISSING };

struct finding {
	enum verdict verdict;
	char found[160];
	char fix[200];
};

static void say_fix(struct finding *finding, enum verdict verdict, const char *fix) {
	finding->verdict = verdict;
	snprintf(finding->fix, sizeof(finding->fix), "%s", fix);
}

// ---- one function per line of the table ----

static void examine_kernel(struct finding *finding) {
	struct utsname name;
	unsigned major = 0, minor = 0;
	uname(&name);
	sscanf(name.release, "%u.%u", &major, &minor);
	snprintf(finding->found, sizeof(finding->found), "Linux %.100s, %.40s", name.release, name.machine);
	if (major < 5 || (major == 5 && minor < 15))
		say_fix(finding, LIMITED, "tracelet is made for Linux 5.15 and later");
}

static void examine_btf(struct finding *finding) {
	if (access("/sys/kernel/btf/vmlinux", R_OK) == 0) {
		snprintf(finding->found, sizeof(finding->found), "the kernel describes its types");
		return;
	}
	snprintf(finding->found, sizeof(finding->found), "/sys/kernel/btf/vmlinux: %s", strerror(errno));
	say_fix(finding, MISSING, "use a kernel with CONFIG_DEBUG_INFO_BTF, as distributions build it");
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
		say_fix(finding, MISSING,
			"run as root, or: setcap cap_bpf,cap_perfmon,cap_sys_admin+ep tracelet");
	else if (error)
		say_fix(finding, MISSING, "'tracelet run --verbose -- true' shows what the kernel said");
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
	say_fix(finding, LIMITED, "needs CAP_SYS_ADMIN; traces are the same without");
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
	say_fix(finding, MISSING, "sysctl kernel.perf_event_paranoid=2");
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
	say_fix(finding, LIMITED,
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
	say_fix(finding, LIMITED,
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
	say_fix(finding, LIMITED, "name another folder with --output-dir");
}

static const struct examination {
	const char *name;
	void (*examine)(struct finding *finding);
} examinations[] = {
	{"kernel", examine_kernel},       {"BTF", examine_btf},          {"BPF", examine_bpf},
	{"BPF cost", examine_statistics}, {"perf events", examine_perf}, {"PMU", examine_pmu},
	{"tracefs", examine_tracefs},     {"output", examine_output},
};

// ---- the table ----

static const char *const verdict_words[] = {"works", "limited", "missing"};

static void print_table(const struct finding *findings) {
	static const char *const colours[] = {"\033[32m", "\033[33m", "\033[31m"};
	bool colour = isatty(STDOUT_FILENO) && log_colours();
	for (size_t i = 0; i < ARRAY_SIZE(examinations); i++) {
		printf("%-12s %s%-8s%s %s\n", examinations[i].name,
		       colour ? colours[findings[i].verdict] : "", verdict_words[findings[i].verdict],
		       colour ? "\033[0m" : "", findings[i].found);
		if (*findings[i].fix)
			printf("%-12s %-8s fix: %s\n", "", "", findings[i].fix);
	}
}

static void print_json(const struct finding *findings, const char *recording) {
	struct buffer out = {0};
	struct json json = json_into(&out);
	json_object(&json, NULL);
	json_string(&json, "tracelet", TRACELET_VERSION);
	json_string(&json, "recording", recording);
	json_array(&json, "checks");
	for (size_t i = 0; i < ARRAY_SIZE(examinations); i++) {
		json_object(&json, NULL);
		json_string(&json, "name", examinations[i].name);
		json_string(&json, "verdict", verdict_words[findings[i].verdict]);
		json_string(&json, "found", findings[i].found);
		json_string(&json, "fix", *findings[i].fix ? findings[i].fix : NULL);
		json_close_object(&json);
	}
	json_close_array(&json);
	json_close_object(&json);
	printf("%.*s\n", (int)out.size, (char *)out.data);
	buffer_free(&out);
}

// Full, reduced or none: which backend a run would get.
static const char *recording(const struct finding *findings) {
	bool bpf = false, perf = false;
	for (size_t i = 0; i < ARRAY_SIZE(examinations); i++) {
		bpf |= examinations[i].examine == examine_bpf && findings[i].verdict == WORKS;
		perf |= examinations[i].examine == examine_perf && findings[i].verdict == WORKS;
	}
	return bpf ? "full" : perf ? "reduced" : "none";
}

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option options[] = {{"json", no_argument, NULL, 'j'},
						{"verbose", no_argument, NULL, 'v'},
						{"help", no_argument, NULL, 'h'},
						{0}};
	bool json = false;
	for (int option; (option = getopt_long(argc, argv, "vh", options, NULL)) != -1;) {
		if (option == 'h')
			return verb_print_help(verb);
		if (option == '?')
			return verb_bad_usage(verb);
		json |= option == 'j';
		if (option == 'v')
			log_set_level(LOG_VERBOSE);
	}
	if (optind < argc) {
		log_error("doctor takes no '%s'", argv[optind]);
		return verb_bad_usage(verb);
	}
	struct finding findings[ARRAY_SIZE(examinations)] = {0};
	for (size_t i = 0; i < ARRAY_SIZE(examinations); i++)
		examinations[i].examine(&findings[i]);
	const char *word = recording(findings);
	if (json)
		print_json(findings, word);
	else
		print_table(findings);
	if (!json && strcmp(word, "full") == 0)
		puts("\nEverything 'tracelet run' records can be recorded here.");
	else if (!json)
		printf("\n%s\n", strcmp(word, "none")
					 ? "'tracelet run' records switches and processes here, but no "
					   "wakeups or interrupts."
					 : "'tracelet run' runs tests here, but records nothing.");
	return strcmp(word, "none") == 0 ? EXIT_FOUND : 0;
}

const struct verb verb_doctor = {
	.name = "doctor",
	.summary = "what works on this machine, and the fix for what does not",
	.help = "Usage: tracelet doctor [--json] [--verbose]\n\n"
		"Tries what tracelet needs on this machine and shows the fix for what is missing.\n\n"
		"  --json     the same as JSON\n"
		"  --verbose  what the kernel says to our programs\n"
		"  --help     this text\n\n"
		"Exit status: 0 when tests can be traced (perhaps in part), 1 when not.\n",
	.run = run,
};
