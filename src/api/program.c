#include "api/program.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int spawn(char *const *arguments, char *const *environment, const posix_spawn_file_actions_t *actions,
		 pid_t *child) {
	const char *program = getenv("TRACELET");
	return -posix_spawnp(child, program && *program ? program : "tracelet", actions, NULL, arguments,
			     environment);
}

static int wait_for(pid_t child, int *status) {
	while (waitpid(child, status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

// ---- asking ----

// The output comes first: its descriptor may be one of those that are replaced.
static int spawn_quietly(char *const *arguments, int output, pid_t *child) {
	posix_spawn_file_actions_t actions;
	int error = -posix_spawn_file_actions_init(&actions);
	if (error)
		return error;
	error = -posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!error)
		error = -posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!error)
		error = -posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (!error)
		error = spawn(arguments, environ, &actions, child);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

struct collection {
	int fd;
	struct buffer *output;
};

static void collect(void *context) {
	const struct collection *collection = context;
	char text[4096];
	ssize_t got;
	while ((got = read(collection->fd, text, sizeof(text))) > 0 || (got < 0 && errno == EINTR))
		if (got > 0)
			buffer_append(collection->output, text, (size_t)got);
}

int program_ask(char *const *arguments, struct buffer *output) {
	int ends[2], status = 0;
	pid_t child;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	int error = spawn_quietly(arguments, ends[1], &child);
	close(ends[1]);
	if (error) {
		close(ends[0]);
		return error;
	}
	int collected = memory_try(collect, &(struct collection){ends[0], output});
	close(ends[0]);
	error = wait_for(child, &status);
	if (collected || error)
		return collected ? collected : error;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

// ---- running ----

int program_run(char *const *arguments, char *const *environment, const int *descriptors, size_t count,
		int *wait_status) {
	pid_t child;
	posix_spawn_file_actions_t actions;
	int error = -posix_spawn_file_actions_init(&actions);
	if (error)
		return error;
	// The same number twice: the child keeps it.
	for (size_t i = 0; i < count && !error; i++)
		error = -posix_spawn_file_actions_adddup2(&actions, descriptors[i], descriptors[i]);
	if (!error)
		error = spawn(arguments, environment, &actions, &child);
	posix_spawn_file_actions_destroy(&actions);
	return error ? error : wait_for(child, wait_status);
}
