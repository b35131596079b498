#include "session/stacks.h"
#include "base/file.h"
#include "base/log.h"
#include "format/stuck.h"
#include "process/other_ends.h"
#include "process/user.h"
#include "session/core.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	STACKS_SECONDS = 10,
	MORE_FOR_EACH = 20,
	STACKS_MOST_SECONDS = 60,
	CORE_SECONDS = 60,
	MOST_PROCESSES = 4096
};

// ---- a program beside the test ----

enum aside { ASIDE_DONE, ASIDE_FAILED, ASIDE_TOO_LONG };

static void become(struct test *test, const char *const *command, int output, size_t file_limit) {
	setpgid(0, 0);
	umask(077);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	if (file_limit)
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = file_limit, .rlim_max = file_limit});
	sigprocmask(SIG_SETMASK, &test->mask_before, NULL);
	if (user_become() == 0) // it parses the test's memory
		execvp(command[0], (char **)(uintptr_t)command);
	_exit(127);
}

// Runs it in its own process group, to be killed as a whole.
static enum aside run_aside(struct test *test, const char *const *command, int output, size_t file_limit,
			    double seconds) {
	double deadline = seconds_now() + seconds;
	pid_t child = fork();
	if (child == 0)
		become(test, command, output, file_limit);
	if (child < 0)
		return ASIDE_FAILED;
	setpgid(child, child);
	int status;
	while (waitpid(child, &status, WNOHANG) == 0) {
		double left = deadline - seconds_now();
		if (left <= 0) {
			kill(-child, SIGKILL);
			waitpid(child, &status, 0);
			return ASIDE_TOO_LONG;
		}
		test_wait_signal(test, left);
	}
	return status == 0 ? ASIDE_DONE : ASIDE_FAILED;
}

// ---- stacks ----

// Next to the program in a build directory, in libexec when installed.
char *stacks_program(void) {
	char self[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (size <= 0)
		return NULL;
	self[size] = 0;
	*strrchr(self, '/') = 0;
	const char *const places[] = {"tracelet-stacks", "../libexec/tracelet/tracelet-stacks"};
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char *path = memory_format("%s/%s", self, places[i]);
		if (access(path, X_OK) == 0)
			return path;
		free(path);
	}
	return access(TRACELET_LIBEXEC "/tracelet-stacks", X_OK) == 0
		       ? memory_string(TRACELET_LIBEXEC "/tracelet-stacks")
		       : NULL;
}

static void say_to(int fd, const char *words) {
	file_write_all(fd, words, strlen(words));
}

// ---- what they wait for ----

// The beginning of a file with saved stacks, with a zero at its end.
static void read_saved(const char *path, struct buffer *text) {
	enum { MOST = 1 << 20 };
	int fd = file_open_regular(path, O_RDONLY | O_NOFOLLOW);
	ssize_t got = 1;
	while (fd >= 0 && got > 0 && text->size < MOST) {
		got = read(fd, buffer_room(text, 1 << 14), 1 << 14);
		text->size += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		close(fd);
	buffer_append(text, "", 1);
}

struct descriptors {
	struct other_ends *ends;
	struct buffer words; // the section that says what they are
};

static void take_descriptor(void *context, uint32_t pid, const char *target) {
	enum { MOST = 64 << 10 };
	struct descriptors *descriptors = context;
	struct buffer words = {0};
	if (!descriptors->ends)
		descriptors->ends = other_ends_new();
	if (descriptors->words.size < MOST &&
	    other_ends_describe(descriptors->ends, (pid_t)pid, target, &words))
		buffer_printf(&descriptors->words, "  %s: %.*s\n", target, (int)words.size,
			      (const char *)words.data);
	buffer_free(&words);
}

// Adds what is at the other ends of pipes and sockets that threads wait for.
static void add_other_ends(int fd, const char *path) {
	struct buffer text = {0};
	struct descriptors descriptors = {0};
	read_saved(path, &text);
	stuck_descriptors((const char *)text.data, take_descriptor, &descriptors);
	if (descriptors.words.size) {
		say_to(fd, STUCK_DESCRIPTORS_TITLE);
		file_write_all(fd, descriptors.words.data, descriptors.words.size);
	}
	other_ends_free(descriptors.ends);
	buffer_free(&descriptors.words);
	buffer_free(&text);
}

void stacks_stuck(const char *path, struct buffer *fact) {
	struct buffer text = {0};
	read_saved(path, &text);
	stuck_from_stacks((const char *)text.data, fact);
	buffer_free(&text);
}

// ---- saving ----

bool stacks_save(struct test *test, const struct processes *processes, const char *title, const char *path) {
	CLEANUP_FREE char *program = stacks_program();
	if (!program) {
		log_warning("no stacks: tracelet-stacks is not installed next to tracelet");
		return false;
	}
	int fd = file_create_private(path, O_WRONLY | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_APPEND);
	if (fd < 0) {
		log_warning("no stacks: %s: %s", path, strerror(errno));
		return false;
	}
	say_to(fd, title);
	size_t count = MIN(processes->list.count, (size_t)MOST_PROCESSES);
	char seconds[16], (*numbers)[16] = memory_alloc((count + 1) * sizeof(*numbers));
	const char **command = memory_alloc((count + 3) * sizeof(*command));
	int limit = MIN(STACKS_SECONDS + (int)count / MORE_FOR_EACH, (int)STACKS_MOST_SECONDS);
	snprintf(seconds, sizeof(seconds), "%d", limit);
	command[0] = program;
	command[1] = seconds;
	for (size_t i = 0; i < count; i++) {
		snprintf(numbers[i], sizeof(numbers[i]), "%d", (int)processes->list.items[i].pid);
		command[2 + i] = numbers[i];
	}
	enum aside result = run_aside(test, command, fd, 0, limit + 5);
	if (result == ASIDE_TOO_LONG)
		say_to(fd, "\nReading stacks took too long: the rest is missing.\n");
	else if (result == ASIDE_FAILED)
		say_to(fd, "\ntracelet-stacks failed: the rest is missing.\n");
	if (processes->list.count > count)
		say_to(fd, "\nThere were more processes; their stacks are missing.\n");
	free(numbers);
	free(command);
	add_other_ends(fd, path);
	close(fd);
	return true;
}

// ---- core ----

bool stacks_save_core(struct test *test, size_t limit, const char *path) {
	char number[16];
	CLEANUP_FREE char *made = memory_format("%s.%d", path, (int)test->pid); // as gcore names it
	struct stat status;
	if (lstat(made, &status) == 0 || lstat(path, &status) == 0) {
		log_warning("no core: %s already exists", path);
		return false;
	}
	snprintf(number, sizeof(number), "%d", (int)test->pid);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	enum aside result = run_aside(test, (const char *const[]){"gcore", "-o", path, number, NULL}, null,
				      limit, CORE_SECONDS);
	close(null);
	bool there = lstat(made, &status) == 0 && S_ISREG(status.st_mode);
	int core = there ? file_open_regular(made, O_RDONLY | O_NOFOLLOW) : -1;
	bool cut = there && ((size_t)status.st_size >= limit || !core_is_whole(core)); // gdb ignores that
	bool good = result == ASIDE_DONE && there && !cut && rename(made, path) == 0;
	if (good)
		file_share(core);
	if (core >= 0)
		close(core);
	if (good)
		return true;
	if (there)
		unlink(made);
	if (cut)
		log_warning("no core: it would be larger than --core-limit or the disk allows");
	else if (result == ASIDE_TOO_LONG)
		log_warning("no core: it took longer than %d seconds", (int)CORE_SECONDS);
	else
		log_warning("no core: gcore failed (it comes with gdb)");
	return false;
}
