// The session half of the public API (include/tracelet/tracelet.h). A tracer
// must not be forked off a process with threads of its own, and its privileges are
// the program's, not the caller's: so each call runs the program `tracelet`, which
// the variable TRACELET or the PATH names.
#include "base/buffer.h"
#include "tracelet/tracelet.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST_ARGUMENTS = 16 };

static int spawn(char **arguments, int output, pid_t *child) {
	const char *program = getenv("TRACELET");
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	int error = posix_spawnp(child, program && *program ? program : "tracelet", &actions, NULL, arguments,
				 environ);
	posix_spawn_file_actions_destroy(&actions);
	return -error;
}

// Runs the program; what it prints is added to `output`. 0 or -errno: `nothing` if it says
// that there is none (status 1).
static int run(char **arguments, struct buffer *output, int nothing) {
	int ends[2], status = 0;
	pid_t child;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	int error = spawn(arguments, ends[1], &child);
	close(ends[1]);
	char text[4096];
	ssize_t got;
	while (!error && ((got = read(ends[0], text, sizeof(text))) > 0 || (got < 0 && errno == EINTR)))
		buffer_append(output, text, got > 0 ? (size_t)got : 0);
	close(ends[0]);
	while (!error && waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (error)
		return error;
	if (!WIFEXITED(status))
		return -EIO;
	return WEXITSTATUS(status) == 0 ? 0 : WEXITSTATUS(status) == 1 ? nothing : -EINVAL;
}

// "PATH (1.23 MB)" or "PATH", up to its end.
static int take_path(const struct buffer *output, char *path, size_t size) {
	size_t length = output->size;
	while (length && output->data[length - 1] == '\n')
		length--;
	if (length && output->data[length - 1] == ')')
		while (length && output->data[--length] != '(')
			;
	while (length && output->data[length - 1] == ' ')
		length--;
	if (!path)
		return 0;
	if (length >= size)
		return -ENAMETOOLONG;
	memcpy(path, output->data, length);
	path[length] = 0;
	return 0;
}

static int run_for_path(char **arguments, char *path, size_t size) {
	struct buffer output = {0};
	int error = run(arguments, &output, -ENOENT);
	if (!error)
		error = take_path(&output, path, size);
	buffer_free(&output);
	return error;
}

int tl_session_start(const char *name, const struct tl_session_opts *opts) {
	struct tl_session_opts known = {0};
	char pid[32], *arguments[MOST_ARGUMENTS] = {(char *)"tracelet", (char *)"start", (char *)"--quiet"};
	if (!name || !*name || (opts && opts->size < sizeof(opts->size)))
		return -EINVAL;
	if (opts)
		memcpy(&known, opts, opts->size < sizeof(known) ? opts->size : sizeof(known));
	snprintf(pid, sizeof(pid), "--pid=%d", (int)getpid());
	const char *options[][2] = {
		{"--output-dir", known.output_dir}, {"--scope", known.scope}, {"--type", known.type}};
	size_t count = 3;
	arguments[count++] = pid;
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (options[i][1]) {
			arguments[count++] = (char *)options[i][0];
			arguments[count++] = (char *)options[i][1];
		}
	arguments[count++] = (char *)"--";
	arguments[count++] = (char *)name;
	struct buffer output = {0};
	int error = run(arguments, &output, -ENODATA);
	buffer_free(&output);
	return error;
}

int tl_session_stop(const char *name, char *path, size_t size) {
	return run_for_path((char *[]){(char *)"tracelet", (char *)"stop", (char *)"--", (char *)name, NULL},
			    path, size);
}

int tl_session_stop_all(void) {
	return run_for_path((char *[]){(char *)"tracelet", (char *)"stop", (char *)"--all", NULL}, NULL, 0);
}

int tl_session_current_file(const char *name, char *path, size_t size) {
	return run_for_path(
		(char *[]){(char *)"tracelet", (char *)"current", (char *)"--", (char *)name, NULL}, path,
		size);
}

int tl_artifact_path(const char *session, const char *kind, char *path, size_t size) {
	if (!session || !*session || !kind || !*kind)
		return -EINVAL;
	return run_for_path((char *[]){(char *)"tracelet", (char *)"artifact", (char *)"--", (char *)session,
				       (char *)kind, NULL},
			    path, size);
}

bool tl_session_active(const char *name) {
	int error = tl_session_current_file(name, NULL, 0);
	return error == 0 || error == -EINVAL; // there may be several
}
