#include "suite/confirm.h"
#include "artifact/manifest.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// What makes its sessions those of the same test on the same machines.
enum { NAME, SUITE, PROJECT, MACHINE_CLASS, IDENTITY };
static const char *const identity_options[IDENTITY] = {
	[NAME] = "--name", [SUITE] = "--suite", [PROJECT] = "--project", [MACHINE_CLASS] = "--machine-class"};

struct command {
	uint64_t test;
	char *identity[IDENTITY]; // NULL where the line has none
	ARRAY(char *) words;
};

struct looking {
	const struct history_question *question;
	const char *run;
	ARRAY(struct command) commands;
};

static void command_free(struct command *command) {
	for (size_t i = 0; i < command->words.count; i++)
		free(command->words.items[i]);
	array_free(&command->words);
	for (size_t i = 0; i < IDENTITY; i++)
		free(command->identity[i]);
}

static bool is_suspect(const struct history_question *question, uint64_t test) {
	for (size_t i = 0; i < question->suspects.count; i++)
		if (question->suspects.items[i] == test)
			return true;
	return false;
}

// The newest line of a test in this run has the command. Lines of other runs may be from elsewhere: CI keeps
// manifests from job to job.
static void take_record(void *context, const struct manifest_record *record) {
	struct looking *looking = context;
	static struct history_fact fact; // large
	if (!record->command.count || !record->kind || strcmp(record->kind, "test") != 0 ||
	    record->variant_hash || !history_fact_of(record, "", 0, &fact))
		return;
	uint64_t test = fact.test;
	bool its = strcmp(fact.run, looking->run) == 0;
	history_fact_free(&fact);
	if (!its || !is_suspect(looking->question, test))
		return;
	size_t at = 0;
	while (at < looking->commands.count && looking->commands.items[at].test != test)
		at++;
	if (at == looking->commands.count)
		array_push(&looking->commands, (struct command){.test = test});
	struct command *command = &looking->commands.items[at];
	command_free(command);
	*command = (struct command){.test = test};
	const char *identity[IDENTITY] = {[NAME] = record->name ? record->name : record->test,
					  [SUITE] = record->suite,
					  [PROJECT] = record->project,
					  [MACHINE_CLASS] = record->machine_class};
	for (size_t i = 0; i < IDENTITY; i++)
		command->identity[i] = identity[i] ? memory_string(identity[i]) : NULL;
	for (size_t i = 0; i < record->command.count; i++)
		array_push(&command->words, memory_string(record->command.items[i]));
}

// Its output is not the caller's answer: it goes to standard error.
static int run_once(const char *program, const char *folder, const char *run, const struct command *command) {
	ARRAY(char *) words = {0};
	const char *const begin[] = {program, "run", "--quiet", "--run", run, "--output-dir", folder};
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status = 0;
	for (size_t i = 0; i < ARRAY_SIZE(begin); i++)
		array_push(&words, (char *)begin[i]);
	for (size_t i = 0; i < IDENTITY; i++)
		if (command->identity[i]) {
			array_push(&words, (char *)identity_options[i]);
			array_push(&words, command->identity[i]);
		}
	array_push(&words, (char *)"--");
	for (size_t i = 0; i < command->words.count; i++)
		array_push(&words, command->words.items[i]);
	array_push(&words, NULL);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	int error = -posix_spawn(&pid, program, &actions, NULL, words.items, environ);
	posix_spawn_file_actions_destroy(&actions);
	array_free(&words);
	while (!error && waitpid(pid, &status, 0) < 0)
		error = errno == EINTR ? 0 : -errno;
	return error;
}

// Commands are run only from a file that nobody else could have written: with --user, the manifest belongs to
// the user whose test it is, and the test can put any line there.
static int open_own(const char *folder) {
	CLEANUP_FREE char *path = memory_format("%s/manifest.jsonl", folder);
	struct stat status;
	int fd = file_open_regular(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fd;
	if (fstat(fd, &status) == 0 && status.st_uid == geteuid() && status.st_nlink == 1 &&
	    !(status.st_mode & 022))
		return fd;
	close(fd);
	log_error("--confirm: %s belongs to another user, or others can write it: its commands are not run",
		  path);
	return -EPERM;
}

static int find_commands(struct looking *looking, const char *folder) {
	struct input input;
	int fd = open_own(folder);
	if (fd < 0)
		return fd;
	CLEANUP_FREE char *opened = memory_format("/proc/self/fd/%d", fd);
	int error = input_open(&input, opened);
	if (!error) {
		manifest_walk_text((const char *)input.data, input.size, take_record, looking);
		input_close(&input);
	}
	close(fd);
	return error;
}

int confirm_suspects(const char *program, const char *folder, struct history_question *question,
		     const char *run, unsigned times) {
	struct looking looking = {.question = question, .run = run};
	int error = find_commands(&looking, folder);
	for (size_t i = 0; i < looking.commands.count; i++) {
		struct command *command = &looking.commands.items[i];
		CLEANUP_FREE char *plain = text_plain_copy(command->identity[NAME]);
		log_verbose("running %s %u more times", plain, times);
		for (unsigned k = 0; k < times && !error; k++)
			error = run_once(program, folder, run, command);
		command_free(command);
	}
	array_free(&looking.commands);
	if (error && error != -EPERM)
		log_error("%s: cannot run the suspects again: %s", folder, strerror(-error));
	return error;
}
