// What other users could use against a traced test on this machine. Each check fills in a line only if
// something is open.
#include "base/text.h"
#include "cli/doctor/doctor.h"
#include "settings/files.h"
#include "settings/ini_file.h"

#include <dirent.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

PRINTF_LIKE(3, 4)
static void open_with(struct doctor_openings *all, const char *name, const char *format, ...) {
	if (all->count == DOCTOR_MOST)
		return;
	struct opening *opening = &all->items[all->count++];
	va_list arguments;
	va_start(arguments, format);
	snprintf(opening->name, sizeof(opening->name), "%s", name);
	vsnprintf(opening->found, sizeof(opening->found), format, arguments);
	va_end(arguments);
}

PRINTF_LIKE(2, 3) static void fix_with(struct doctor_openings *all, const char *format, ...) {
	struct opening *opening = &all->items[all->count - 1];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(opening->fix, sizeof(opening->fix), format, arguments);
	va_end(arguments);
}

// ---- the kernel's settings ----

static bool read_line(const char *path, char *line, int size) {
	FILE *file = fopen(path, "re");
	bool good = file && fgets(line, size, file);
	if (file)
		fclose(file);
	if (good)
		line[strcspn(line, "\n")] = 0;
	return good;
}

static const struct kernel_setting {
	const char *name; // as sysctl has it
	int least, better;
	const char *danger;
} kernel_settings[] = {
	{"fs.protected_symlinks", 1, 1, "links that others plant in /tmp are followed"},
	{"fs.protected_hardlinks", 1, 1, "users can link to files that they cannot write"},
	{"fs.protected_regular", 1, 2, "files that others plant in /tmp are opened for writing"},
	{"fs.protected_fifos", 1, 2, "FIFOs that others plant in /tmp are opened for writing"},
	{"kernel.unprivileged_bpf_disabled", 1, 2, "every user can load BPF programs"},
	{"kernel.perf_event_paranoid", 1, 2, "every user can record what all others do"},
};

static void check_kernel_settings(struct doctor_openings *all) {
	for (size_t i = 0; i < ARRAY_SIZE(kernel_settings); i++) {
		const struct kernel_setting *setting = &kernel_settings[i];
		char path[128], line[64];
		int value;
		snprintf(path, sizeof(path), "/proc/sys/%s", setting->name);
		*strchr(path + sizeof("/proc/sys"), '.') = '/';
		if (!read_line(path, line, sizeof(line)) || sscanf(line, "%d", &value) != 1 ||
		    value >= setting->least)
			continue;
		open_with(all, setting->name, "is %d: %s", value, setting->danger);
		fix_with(all, "sysctl %s=%d", setting->name, setting->better);
	}
}

// Cores of set-user-id programs: readable by their caller (1), or written with root's rights wherever the
// program happens to be (2, and a pattern without a folder).
static void check_cores(struct doctor_openings *all) {
	char dumpable[16], pattern[256];
	if (!read_line("/proc/sys/fs/suid_dumpable", dumpable, sizeof(dumpable)) ||
	    !read_line("/proc/sys/kernel/core_pattern", pattern, sizeof(pattern)))
		return;
	bool relative = *pattern != '|' && *pattern != '/';
	if (dumpable[0] != '1' && !(dumpable[0] == '2' && relative))
		return;
	open_with(all, "fs.suid_dumpable", "is %.1s, and kernel.core_pattern is '%.60s': %s", dumpable,
		  pattern,
		  dumpable[0] == '1' ? "users can read the memory of set-user-id programs that crash"
				     : "such programs write core files as root into any directory");
	fix_with(all, "sysctl fs.suid_dumpable=0");
}

// ---- this program ----

// As the kernel keeps them in the extended attribute; 0 if none.
static uint64_t capabilities_of(const char *path) {
	struct vfs_ns_cap_data data = {0};
	if (getxattr(path, "security.capability", &data, sizeof(data)) < (ssize_t)XATTR_CAPS_SZ_2)
		return 0;
	return (uint64_t)data.data[1].permitted << 32 | data.data[0].permitted;
}

static void check_program(struct doctor_openings *all) {
	const uint64_t needed = UINT64_C(1) << CAP_BPF | UINT64_C(1) << CAP_PERFMON;
	char path[PATH_MAX] = "";
	struct stat file;
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0 || stat(path, &file))
		return;
	uint64_t capabilities = capabilities_of(path);
	if (file.st_mode & (S_ISUID | S_ISGID)) {
		open_with(all, "program", "is set-user-id or set-group-id, which it is not made for");
		fix_with(all, "chmod u-s,g-s %s", path);
	}
	if (capabilities && file.st_mode & S_IXOTH) {
		open_with(all, "program", "has capabilities, and every user can run it");
		fix_with(all, DOCTOR_CAPABILITIES, path, path, path);
	}
	if (capabilities & ~needed) {
		open_with(all, "program", "has more capabilities than it needs");
		fix_with(all, "setcap cap_bpf,cap_perfmon+ep %s", path);
	}
	if (file.st_mode & S_IWOTH) {
		open_with(all, "program", "can be replaced by every user");
		fix_with(all, "chmod o-w %s", path);
	}
}

static void check_libelf(struct doctor_openings *all) {
	enum { OLDEST = 188 }; // 0.188, of Debian 12
	unsigned major = 0, minor = 0;
	const char *version = dwfl_version(NULL);
	if (!version || sscanf(version, "%u.%u", &major, &minor) != 2 || major || minor >= OLDEST)
		return;
	open_with(all, "libelf", "is version %s, which crashes on damaged programs", version);
	fix_with(all, "install elfutils 0.%d or later, and build tracelet with it", OLDEST);
}

// ---- files ----

static void check_output(struct doctor_openings *all) {
	struct stat folder;
	if (lstat("tracelet-out", &folder))
		return;
	if (S_ISLNK(folder.st_mode) || (folder.st_uid != geteuid() && folder.st_uid != 0)) {
		open_with(all, "output", "./tracelet-out is a link, or belongs to another user (uid %u)",
			  (unsigned)folder.st_uid);
		fix_with(all, "choose another directory with --output-dir");
	} else if (folder.st_mode & S_IWOTH) {
		open_with(all, "output", "every user can replace the artifacts in ./tracelet-out");
		fix_with(all, "chmod o-w tracelet-out");
	}
}

static int take_nothing(void *context, const char *section, const char *key, const char *value) {
	return 1;
}

static void check_project_file(struct doctor_openings *all) {
	char why[INI_FILE_WHY] = "";
	CLEANUP_FREE char *path = settings_project_file();
	if (!path || ini_file_read(path, INI_FILE_OF_PROJECT, take_nothing, NULL, why) != INI_FILE_UNTRUSTED)
		return;
	open_with(all, "tracelet.ini", "%.120s is ignored: %s", path, why);
	fix_with(all, "make the file and its directory yours alone, or remove it");
}

// ---- agents ----

static const char *base_name(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

// Whether a command line, whose words end with NUL, is that of an agent that every user of its host can
// command. On TCP an agent always has a token.
static bool is_open_agent(const char *words, size_t size) {
	bool agent = strcmp(base_name(words), "tracelet-agent") == 0, listens = false, token = false;
	const char *end = words + size;
	for (const char *word = words; word < end; word += strlen(word) + 1) {
		if (word != words && strcmp(word, "agent") == 0 && strcmp(base_name(words), "tracelet") == 0)
			agent = true;
		listens |= strstr(word, "vsock:") != NULL;
		token |= strncmp(word, "--token-file", 12) == 0;
	}
	return agent && listens && !token;
}

// The same for process 1, which takes its options from the kernel command line. As that has no "agent", its
// program must have the name of an agent, or of what the kernel starts from an initramfs.
static bool is_open_first(void) {
	static const char *const names[] = {"init", "tracelet", "tracelet-agent"};
	char line[4096], program[PATH_MAX] = "";
	bool agent = false;
	if (!read_line("/proc/cmdline", line, sizeof(line)) ||
	    readlink("/proc/1/exe", program, sizeof(program) - 1) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		agent |= strcmp(base_name(program), names[i]) == 0;
	const char *listens = strstr(line, "tracelet.listen=");
	size_t length = listens ? strcspn(listens, " ") : 0;
	return agent && listens && memmem(listens, length, "vsock:", 6) &&
	       !strstr(line, "tracelet.token-file=");
}

static bool is_open_process(const char *id) {
	char path[300], words[4096];
	if (strcmp(id, "1") == 0 && is_open_first())
		return true;
	snprintf(path, sizeof(path), "/proc/%s/cmdline", id);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, words, sizeof(words) - 1);
	if (fd >= 0)
		close(fd);
	words[MAX(size, 0)] = 0;
	return size > 0 && is_open_agent(words, (size_t)size);
}

static void check_agents(struct doctor_openings *all) {
	DIR *processes = opendir("/proc");
	for (struct dirent *entry; processes && (entry = readdir(processes));) {
		if (*entry->d_name < '1' || *entry->d_name > '9' || !is_open_process(entry->d_name))
			continue;
		open_with(all, "agent", "(process %.10s) takes orders from every user of its host",
			  entry->d_name);
		fix_with(all, strcmp(entry->d_name, "1") == 0
				      ? "put tracelet.token-file=FILE on the kernel command line"
				      : "start it with --token-file");
	}
	if (processes)
		closedir(processes);
}

void doctor_open(struct doctor_openings *all) {
	static void (*const checks[])(struct doctor_openings *) = {
		check_kernel_settings, check_cores,        check_program, check_libelf,
		check_output,          check_project_file, check_agents};
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		checks[i](all);
}
