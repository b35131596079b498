#include "guest/agent/spawn.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void say(const char *word, const char *what) {
	dprintf(STDERR_FILENO, "tracelet-agent: %s: %s\n", word, what);
}

// "6,1234,5678901,-;text" with continuation lines: a time in seconds and the text.
static void print_record(char *record, size_t size) {
	unsigned long long number, microseconds;
	record[size] = 0;
	char *text = strchr(record, ';');
	if (!text || sscanf(record, "%*u,%llu,%llu", &number, &microseconds) != 2)
		return;
	text[1 + strcspn(text + 1, "\n")] = 0;
	dprintf(STDOUT_FILENO, "[%5llu.%06llu] %s\n", microseconds / 1000000, microseconds % 1000000,
		text + 1);
}

static int print_kernel_log(void) {
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char record[8193];
	if (fd < 0) {
		say("/dev/kmsg", strerror(errno));
		return 1;
	}
	for (;;) {
		ssize_t got = read(fd, record, sizeof(record) - 1);
		if (got > 0)
			print_record(record, (size_t)got);
		else if (got == 0 || (errno != EPIPE && errno != EINTR)) // EPIPE: some were overwritten
			break;
	}
	return 0;
}

static void use_terminal(const char *name) {
	int fd = open(name, O_RDWR);
	if (fd < 0)
		_exit(126);
	ioctl(fd, TIOCSCTTY, 0);
	for (int i = 0; i < 3; i++)
		dup2(fd, i);
	if (fd > 2)
		close(fd);
	if (!getenv("TERM") || strcmp(getenv("TERM"), "dumb") == 0)
		setenv("TERM", "linux", 1);
}

__attribute__((noreturn)) static void become(const struct spawn *spawn) {
	char **words = memory_alloc((spawn->word_count + 2) * sizeof(*words));
	size_t count = 0;
	static const int plain[] = {SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP};
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	// `tracelet-agent &` in a script ignores some signals; the command must not inherit that.
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		signal(plain[i], SIG_DFL);
	if (spawn->kind == REQUEST_KMSG)
		_exit(print_kernel_log());
	if (spawn->kind == REQUEST_VERB) {
		words[count++] = (char *)(uintptr_t) "tracelet";
		if (spawn->folder)
			setenv("TRACELET_OUTPUT_DIR", spawn->folder, 1);
	}
	for (size_t i = 0; i < spawn->word_count; i++)
		words[count++] = (char *)(uintptr_t)spawn->words[i];
	if (!count)
		words[count++] = (char *)(uintptr_t) "/bin/sh";
	if (spawn->kind == REQUEST_VERB)
		execv("/proc/self/exe", words);
	else
		execvp(words[0], words);
	int error = errno;
	say(words[0], error == ENOENT ? "command not found" : strerror(error));
	_exit(error == ENOENT ? 127 : 126);
}

static int do_not_block(int fd) {
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	return fd;
}

static int spawn_on_terminal(struct spawn *spawn) {
	char name[64];
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0 || grantpt(master) || unlockpt(master) || ptsname_r(master, name, sizeof(name))) {
		int error = -errno;
		if (master >= 0)
			close(master);
		return error;
	}
	struct winsize window = {.ws_row = spawn->rows, .ws_col = spawn->columns};
	ioctl(master, TIOCSWINSZ, &window);
	spawn->pid = fork();
	if (spawn->pid == 0) {
		setsid();
		use_terminal(name);
		become(spawn);
	}
	spawn->output = do_not_block(master);
	spawn->input = fcntl(master, F_DUPFD_CLOEXEC, 3);
	spawn->errors = -1;
	return spawn->pid < 0 ? -EAGAIN : 0;
}

int agent_spawn(struct spawn *spawn) {
	int pipes[3][2];
	if (spawn->terminal)
		return spawn_on_terminal(spawn);
	for (int i = 0; i < 3; i++) {
		if (pipe2(pipes[i], O_CLOEXEC) == 0)
			continue;
		int error = -errno;
		while (i--) {
			close(pipes[i][0]);
			close(pipes[i][1]);
		}
		return error;
	}
	spawn->pid = fork();
	if (spawn->pid == 0) {
		setpgid(0, 0);
		dup2(pipes[0][0], STDIN_FILENO);
		dup2(pipes[1][1], STDOUT_FILENO);
		dup2(pipes[2][1], STDERR_FILENO);
		become(spawn);
	}
	close(pipes[0][0]);
	close(pipes[1][1]);
	close(pipes[2][1]);
	spawn->input = do_not_block(pipes[0][1]);
	spawn->output = do_not_block(pipes[1][0]);
	spawn->errors = do_not_block(pipes[2][0]);
	return spawn->pid < 0 ? -EAGAIN : 0;
}
