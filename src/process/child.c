// Signals are blocked and taken one at a time.
#include "process/child.h"
#include "base/log.h"
#include "process/user.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct children {
	sigset_t signals, mask_before;
	struct sigaction pipe_before;
	int signal;          // the last one that asked us to end
	const char *program; // commands that begin with this path are calls of `here`
	child_main *here;
};

struct children *children_begin(void) {
	static const int handled[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct children *children = memory_alloc(sizeof(*children));
	sigemptyset(&children->signals);
	for (size_t i = 0; i < ARRAY_SIZE(handled); i++)
		sigaddset(&children->signals, handled[i]);
	sigprocmask(SIG_BLOCK, &children->signals, &children->mask_before);
	signal(SIGCHLD, SIG_DFL);
	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN},
		  &children->pipe_before); // if our output is not read, the commands still end properly
	return children;
}

bool children_end(struct children *children) {
	sigprocmask(SIG_SETMASK, &children->mask_before, NULL);
	free(children);
	return false; // the tracer is a separate process and finishes on its own
}

unsigned children_usual(void) {
	return (unsigned)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
}

// A fork copies every page of our heap that it touches. So free blocks are merged at once, here, rather than
// by each fork; and large blocks are mapped, which come zeroed, even after we have freed one.
static void tidy_heap(void) {
	enum { MAPPED_FROM = 128 << 10 }; // what the C library begins with
	mallopt(M_MXFAST, 0);
	mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
}

void children_run_here(struct children *children, const char *program, child_main *here) {
	tidy_heap();
	children->program = program;
	children->here = here;
}

// ---- one of them ----

// What the parent had not printed yet was printed before the fork.
static void run_here(child_main *here, char **words) {
	int count = 0;
	while (words[count])
		count++;
	log_reset();
	int status = here(count, words);
	fflush(NULL);
	_exit(status);
}

static void become(const struct children *children, char **words, const char *output) {
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	int in = open("/dev/null", O_RDONLY);
	int out = open(output, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (in < 0 || out < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(out, STDERR_FILENO) < 0)
		_exit(126);
	close_range(3, ~0u, 0);
	sigaction(SIGPIPE, &children->pipe_before, NULL);
	sigprocmask(SIG_SETMASK, &children->mask_before, NULL);
	setenv(CHILD_REPORTED, "1", 1); // we report it once for all
	if (children->here && children->program && strcmp(words[0], children->program) == 0)
		run_here(children->here, words);
	execvp(words[0], words);
	_exit(127);
}

int child_start(struct children *children, struct child *child, char **words, const char *output) {
	fflush(NULL);
	child->pid = fork();
	if (child->pid == 0)
		become(children, words, output);
	if (child->pid < 0)
		return -errno;
	setpgid(child->pid, child->pid);
	return 0;
}

static int shell_status(int status) {
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool child_ended(struct child *child, int *status) {
	if (waitpid(child->pid, status, WNOHANG) != child->pid)
		return false;
	*status = shell_status(*status);
	return true;
}

int children_wait(struct children *children, int milliseconds) {
	struct timespec limit = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L};
	siginfo_t signal;
	int got = milliseconds < 0 ? sigwaitinfo(&children->signals, &signal)
				   : sigtimedwait(&children->signals, &signal, &limit);
	if (got <= 0 || got == SIGCHLD)
		return 0;
	children->signal = got;
	return 128 + got;
}

// The waiter of each `tracelet run` passes it on to its test.
void child_stop(struct children *children, struct child *child, bool at_once) {
	if (at_once)
		kill(-child->pid, SIGKILL);
	else
		kill(child->pid, children->signal);
}

// ---- commands ----

enum { LONGEST_OUTPUT = 64 << 20 };

static int read_all(int fd, struct buffer *text) {
	ssize_t got = 0;
	while (text->size < LONGEST_OUTPUT &&
	       ((got = read(fd, buffer_room(text, 1 << 16), 1 << 16)) > 0 || (got < 0 && errno == EINTR)))
		text->size += got > 0 ? (size_t)got : 0;
	return got < 0 ? -errno : text->size >= LONGEST_OUTPUT ? -EFBIG : 0;
}

// The command belongs to the test, so it runs as the test's user.
static void become_command(char **command, int output, int report) {
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int error = -user_become_test();
	if (!error && null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0 &&
	    dup2(output, STDOUT_FILENO) >= 0)
		execvp(command[0], command);
	error = error ? error : errno;
	_exit(write(report, &error, sizeof(error)) < 0 ? 126 : 127);
}

// Waits until the command is executed: 0, or -errno if it is not. It is reaped later.
static int spawn_command(char **command, int output, pid_t *pid) {
	int report[2], error = 0;
	if (pipe2(report, O_CLOEXEC))
		return -errno;
	*pid = fork();
	if (*pid == 0)
		become_command(command, output, report[1]);
	error = *pid < 0 ? errno : 0;
	close(report[1]);
	while (!error && read(report[0], &error, sizeof(error)) < 0 && errno == EINTR)
		;
	close(report[0]);
	if (error && *pid > 0)
		waitpid(*pid, NULL, 0);
	return -error;
}

int child_output(char **command, struct buffer *text) {
	int ends[2];
	pid_t pid = -1;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	int error = spawn_command(command, ends[1], &pid);
	close(ends[1]);
	if (!error) {
		int status;
		error = read_all(ends[0], text);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (!error)
			error = shell_status(status);
	}
	close(ends[0]);
	buffer_append(text, "", 1); // never NULL
	text->size--;
	return error;
}

// As execvp() would find it.
char *child_find_program(const char *name) {
	if (strchr(name, '/'))
		return memory_string(name);
	const char *path = getenv("PATH");
	CLEANUP_FREE char *copy = memory_string(path ? path : "/bin:/usr/bin");
	char *rest = copy;
	for (char *folder; (folder = strsep(&rest, ":"));) {
		char *program = memory_format("%s/%s", *folder ? folder : ".", name);
		if (access(program, X_OK) == 0)
			return program;
		free(program);
	}
	return memory_string(name);
}

// Quoted so that shells and Python's shlex return the original word.
void child_quote(struct buffer *line, const char *word) {
	buffer_printf(line, "%s'", line->size ? " " : "");
	for (; *word; word++) {
		const char *part = *word == '\'' ? "'\\''" : word;
		buffer_append(line, part, part == word ? 1 : 4);
	}
	buffer_printf(line, "'");
}
