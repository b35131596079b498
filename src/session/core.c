#include "session/core.h"
#include "artifact/artifact.h"
#include "artifact/stem.h"
#include "base/file.h"
#include "base/log.h"
#include "event/crash.h"
#include "process/user.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

char *session_stem(const struct settings *settings, const char *name, const struct tracer *tracer,
		   const char *what, char **placeholder) {
	static const char extension[] = ".spool";
	size_t length = strlen(tracer->spool);
	*placeholder = NULL;
	if (length > sizeof(extension))
		return memory_format("%.*s", (int)(length - sizeof(extension) + 1), tracer->spool);
	char *stem = NULL;
	int fd = user_make_folder(settings->output_dir);
	if (!fd)
		fd = stem_reserve(settings, name, &stem);
	if (fd < 0) {
		log_warning("no %s: cannot write to %s: %s", what, settings->output_dir, strerror(-fd));
		return NULL;
	}
	close(fd);
	*placeholder = memory_format("%s%s", stem, extension);
	return stem;
}

// ---- whole or not ----

static bool read_at(int fd, void *data, size_t size, uint64_t offset) {
	return offset <= INT64_MAX && pread(fd, data, size, (off_t)offset) == (ssize_t)size;
}

bool core_is_whole(int fd) {
	Elf64_Ehdr header;
	struct stat status;
	if (fstat(fd, &status) || !read_at(fd, &header, sizeof(header), 0) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_CORE)
		return false;
	if (header.e_ident[EI_CLASS] != ELFCLASS64)
		return true; // of a 32-bit program
	uint64_t size = (uint64_t)status.st_size, count = header.e_phnum;
	Elf64_Shdr first;
	if (count == PN_XNUM && read_at(fd, &first, sizeof(first), header.e_shoff))
		count = first.sh_info;
	for (uint64_t i = 0; i < count; i++) {
		Elf64_Phdr segment;
		if (!read_at(fd, &segment, sizeof(segment), header.e_phoff + i * sizeof(segment)) ||
		    segment.p_filesz > size || segment.p_offset > size - segment.p_filesz)
			return false;
	}
	return true;
}

// ---- limits ----

static struct rlimit limit_before;

void core_allow(const struct settings *settings) {
	if (!settings->core || getrlimit(RLIMIT_CORE, &limit_before))
		return;
	user_keep_core_limit();
	rlim_t most = MIN(settings->core_limit, limit_before.rlim_max);
	setrlimit(RLIMIT_CORE, &(struct rlimit){.rlim_cur = MAX(limit_before.rlim_cur, most),
						.rlim_max = limit_before.rlim_max});
}

void core_allow_end(const struct settings *settings) {
	if (settings->core)
		setrlimit(RLIMIT_CORE, &limit_before);
}

// ---- where the kernel puts it ----

static void read_setting(const char *path, char *text, size_t size) {
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, text, size - 1);
	if (fd >= 0)
		close(fd);
	text[MAX(got, 0)] = 0;
	text[strcspn(text, "\n")] = 0;
}

// Turns the kernel's pattern into one for glob(): placeholders such as the time match anything.
// `pid`: 0 if unknown.
static char *glob_pattern(const char *pattern, pid_t pid) {
	char with_pid[8];
	struct buffer text = {0};
	bool has_pid = strstr(pattern, "%p");
	for (const char *at = pattern; *at; at++)
		if (*at == '%' && at[1]) {
			at++;
			if (*at == 'p' && pid)
				buffer_printf(&text, "%d", (int)pid);
			else
				buffer_append(&text, *at == '%' ? "%" : "*", 1);
		} else {
			if (strchr("*?[\\", *at))
				buffer_append(&text, "\\", 1);
			buffer_append(&text, at, 1);
		}
	read_setting("/proc/sys/kernel/core_uses_pid", with_pid, sizeof(with_pid));
	if (!has_pid && *with_pid == '1')
		buffer_printf(&text, pid ? ".%d" : ".*", (int)pid);
	buffer_append(&text, "", 1);
	return (char *)text.data;
}

static bool earlier(const struct timespec *a, const struct timespec *b) {
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

// The path of the newest core written since then, to be freed, or NULL. The kernel's file
// timestamps are coarse.
static char *find_core(const char *pattern, pid_t pid, struct timespec since) {
	enum { COARSE_NS = 20000000 };
	CLEANUP_FREE char *wanted = glob_pattern(pattern, pid);
	uid_t owner = (uid_t)setfsuid((uid_t)-1);
	char *newest = NULL;
	glob_t found = {0};
	since.tv_sec -= since.tv_nsec < COARSE_NS;
	since.tv_nsec += since.tv_nsec < COARSE_NS ? 1000000000 - COARSE_NS : -COARSE_NS;
	if (glob(wanted, GLOB_NOSORT, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++) {
			struct stat status;
			if (lstat(found.gl_pathv[i], &status) || !S_ISREG(status.st_mode) ||
			    status.st_uid != owner || status.st_nlink != 1 ||
			    earlier(&status.st_mtim, &since))
				continue;
			since = status.st_mtim;
			free(newest);
			newest = memory_string(found.gl_pathv[i]);
		}
	globfree(&found);
	return newest;
}

// ---- taking it ----

static int copy(int from, const char *to) {
	int fd = file_create_private(to, O_WRONLY | O_EXCL | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t got;
	while ((got = sendfile(fd, from, NULL, 1 << 30)) > 0)
		;
	int error = got < 0 ? -errno : 0;
	close(fd);
	if (error)
		unlink(to);
	return error;
}

static void take_core(const char *found, const char *path, bool keep, struct test_end *end) {
	int fd = file_open_regular(found, O_RDONLY | O_NOFOLLOW);
	int error = fd < 0 ? fd : core_is_whole(fd) ? copy(fd, path) : -EFBIG;
	if (fd >= 0)
		close(fd);
	if (!keep && (!error || error == -EFBIG))
		unlink(found);
	if (error == -EFBIG)
		log_warning("no core: it would be larger than --core-limit or the hard limit (ulimit -H -c) "
			    "allows");
	else if (error)
		log_warning("no core: %s: %s", found, strerror(-error));
	else
		snprintf(end->core, sizeof(end->core), "%s", path);
}

static void say_why_none(const char *pattern, bool dumped) {
	if (*pattern == '|')
		log_warning("no core: the kernel passes cores to %.*s (/proc/sys/kernel/core_pattern)",
			    (int)strcspn(pattern + 1, " "), pattern + 1);
	else if (!limit_before.rlim_max)
		log_warning("no core: the hard limit for cores is 0 (ulimit -H -c)");
	else
		log_warning(dumped ? "no core: it is not where /proc/sys/kernel/core_pattern says (%s)"
				   : "no core: the kernel could not write it (%s)",
			    pattern);
}

void core_save(const struct settings *settings, const char *name, pid_t pid, const struct tracer *tracer,
	       struct test_end *end) {
	char pattern[512];
	bool crashed = WIFSIGNALED(end->status) && crash_signal_name((uint32_t)WTERMSIG(end->status));
	if (!settings->core || end->timed_out || !end->status || settings->keep == KEEP_NEVER)
		return;
	read_setting("/proc/sys/kernel/core_pattern", pattern, sizeof(pattern));
	user_files_begin();
	CLEANUP_FREE char *found = *pattern == '|' ? NULL
						   : find_core(pattern, crashed ? pid : 0, end->started);
	CLEANUP_FREE char *placeholder = NULL, *stem = NULL;
	if (found)
		stem = session_stem(settings, name, tracer, "core", &placeholder);
	else if (crashed)
		say_why_none(pattern, WCOREDUMP(end->status));
	if (stem) {
		CLEANUP_FREE char *path = memory_format("%s.core", stem);
		take_core(found, path, limit_before.rlim_cur > 0, end);
	}
	if (placeholder)
		unlink(placeholder);
	user_files_end();
}
