// tl_run(): `tracelet run` with the caller's own input and output. What came of it is read from the
// record that the program writes for --json. Record and messages go into memory files, which need
// no reader while the command runs and have no end that a child left behind could keep open.
#include "api/program.h"
#include "base/array.h"
#include "base/json_read.h"
#include "tracelet/tracelet.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum {
	STATUS_USAGE = 2,
	STATUS_NO_TRACE = 125,
	STATUS_SIGNAL = 128,      // plus its number, as shells have it
	STATUS_UNKNOWN = -1,      // something else in the host has reaped the child
	MOST_REPORTED = 64 << 20, // bytes of a record or of messages that are read
};

// Smaller ones could not be freed.
#define SMALLEST_RESULT (offsetof(struct tl_run_result, artifacts) + sizeof(void *))

struct artifact_found {
	size_t kind, path; // offsets into `text`
	uint64_t bytes;
};

// All that a call allocates, so that it can be freed wherever the call failed.
struct work {
	char *const *command;
	const struct tl_run_opts *opts;
	int record_file, log_file;
	ARRAY(char *) arguments;
	ARRAY(char *) environment;
	struct buffer words;         // arguments that are made here
	struct buffer record, log;   // what the program wrote
	struct buffer text;          // strings of the result
	struct tl_run_result result; // in progress: `artifacts` is set at the end
	ARRAY(struct artifact_found) artifacts;
	void *block;
	int wait_status;
};

// ---- before: arguments and environment ----

static void add_option(struct work *work, const char *name, const char *value) {
	if (!value)
		return;
	array_push(&work->arguments, (char *)name);
	array_push(&work->arguments, (char *)value);
}

static void prepare(void *context) {
	struct work *work = context;
	const struct tl_run_opts *opts = work->opts;
	static const char *const always[] = {"tracelet", "run", "--quiet", "--attachments=no"};
	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		array_push(&work->arguments, (char *)always[i]);
	add_option(work, "--name", opts->name);
	add_option(work, "--output-dir", opts->output_dir);
	add_option(work, "--profile", opts->profile);
	add_option(work, "--scope", opts->scope);
	for (char *const *option = opts->options; option && *option; option++)
		array_push(&work->arguments, *option);
	// Pointers into the words stay: there is room for all of them.
	enum { LONGEST_WORD = 64 };
	buffer_room(&work->words, (size_t)3 * LONGEST_WORD);
	char *json = (char *)work->words.data, *timeout = json + LONGEST_WORD, *log = timeout + LONGEST_WORD;
	snprintf(json, LONGEST_WORD, "--json=%d", work->record_file);
	snprintf(timeout, LONGEST_WORD, "--timeout=%.9g", opts->timeout);
	snprintf(log, LONGEST_WORD, "TRACELET_LOG_FD=%d", work->log_file);
	array_push(&work->arguments, json);
	if (opts->timeout > 0)
		array_push(&work->arguments, timeout);
	if (opts->strict)
		array_push(&work->arguments, (char *)"--strict");
	array_push(&work->arguments, (char *)"--");
	for (char *const *word = work->command; *word; word++)
		array_push(&work->arguments, *word);
	array_push(&work->arguments, NULL);
	// Before all others: of several, the first one counts.
	array_push(&work->environment, log);
	for (char **variable = environ; variable && *variable; variable++)
		array_push(&work->environment, *variable);
	array_push(&work->environment, NULL);
}

// ---- after: the record ----

// Appends a string to the result's and returns its offset.
static size_t take_text(struct work *work, struct json_reader *reader) {
	size_t offset = work->text.size;
	if (json_peek(reader) == '"')
		json_read_text(reader, &work->text);
	else
		json_skip(reader);
	buffer_append(&work->text, "", 1);
	return offset;
}

static void take_artifact(struct work *work, struct json_reader *reader) {
	struct artifact_found found = {0};
	struct json_piece key;
	json_enter(reader, '{');
	while (json_member(reader, &key)) {
		if (json_is(&key, "kind"))
			found.kind = take_text(work, reader);
		else if (json_is(&key, "path"))
			found.path = take_text(work, reader);
		else if (json_is(&key, "size"))
			found.bytes = json_read_uint(reader);
		else
			json_skip(reader);
	}
	array_push(&work->artifacts, found);
}

static void take_artifacts(struct work *work, struct json_reader *reader) {
	json_enter(reader, '[');
	while (json_item(reader))
		take_artifact(work, reader);
}

// For each source; null where no trace was made.
static uint64_t take_lost(struct json_reader *reader) {
	struct json_piece key;
	uint64_t lost = 0;
	if (json_peek(reader) != '{') {
		json_skip(reader);
		return 0;
	}
	json_enter(reader, '{');
	while (json_member(reader, &key))
		lost += json_read_uint(reader);
	return lost;
}

static void take_member(struct work *work, struct json_reader *reader, const struct json_piece *key) {
	struct tl_run_result *result = &work->result;
	if (json_is(key, "exit"))
		result->exit_status = (int)json_read_if_number(reader);
	else if (json_is(key, "signal"))
		result->signal = (int)json_read_if_number(reader);
	else if (json_is(key, "timed_out_after"))
		result->timed_out = json_read_if_number(reader) > 0;
	else if (json_is(key, "wall_seconds"))
		result->wall_seconds = json_read_if_number(reader);
	else if (json_is(key, "events"))
		result->events = (uint64_t)json_read_if_number(reader);
	else if (json_is(key, "lost"))
		result->lost = take_lost(reader);
	else if (json_is(key, "artifacts"))
		take_artifacts(work, reader);
	else
		json_skip(reader);
}

static void read_record(struct work *work) {
	struct json_reader reader = json_from(work->record.data, work->record.size);
	struct json_piece key;
	json_enter(&reader, '{');
	while (json_member(&reader, &key))
		take_member(work, &reader, &key);
	work->result.reported = !reader.failed;
}

// ---- after: the result ----

static void read_whole(int fd, struct buffer *out) {
	struct stat status;
	if (fstat(fd, &status) || status.st_size <= 0)
		return;
	size_t size = MIN((size_t)status.st_size, (size_t)MOST_REPORTED);
	uint8_t *room = buffer_room(out, size);
	ssize_t got = pread(fd, room, size, 0);
	out->size = got > 0 ? (size_t)got : 0;
}

// Everything that the result points at is one block, which begins with the pointers to artifacts.
static void pack(struct work *work) {
	size_t count = work->artifacts.count, log = work->text.size;
	buffer_append(&work->text, work->log.data, work->log.size);
	buffer_append(&work->text, "", 1);
	size_t pointers = (count + 1) * sizeof(struct tl_artifact *);
	size_t structs = count * sizeof(struct tl_artifact);
	char *block = work->block = memory_alloc(pointers + structs + work->text.size);
	const struct tl_artifact **list = (const struct tl_artifact **)(void *)block;
	struct tl_artifact *artifacts = (struct tl_artifact *)(void *)(block + pointers);
	char *text = memcpy(block + pointers + structs, work->text.data, work->text.size);
	for (size_t i = 0; i < count; i++) {
		const struct artifact_found *found = &work->artifacts.items[i];
		artifacts[i] = (struct tl_artifact){sizeof(*artifacts), text + found->kind,
						    text + found->path, found->bytes};
		list[i] = &artifacts[i];
		if (!work->result.trace && strcmp(artifacts[i].kind, "perfetto") == 0)
			work->result.trace = artifacts[i].path;
	}
	work->result.artifacts = list;
	work->result.artifact_count = count;
	work->result.messages = text + log;
}

// Where the record says nothing about the command, the program's own end does: with tracing off the
// command takes its place.
static void take_end(struct work *work) {
	struct tl_run_result *result = &work->result;
	int status = work->wait_status;
	if (!result->reported && status != STATUS_UNKNOWN) {
		result->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	}
	result->status = status != STATUS_UNKNOWN && WIFEXITED(status) ? WEXITSTATUS(status)
			 : result->signal                              ? STATUS_SIGNAL + result->signal
								       : result->exit_status;
}

static void read_result(void *context) {
	struct work *work = context;
	buffer_append(&work->text, "", 1); // what a record leaves out is ""
	read_whole(work->record_file, &work->record);
	read_whole(work->log_file, &work->log);
	if (work->record.size)
		read_record(work);
	take_end(work);
	pack(work);
}

// Numbers are written and read as in the C locale, whatever the caller's is.
static int try_plainly(void (*part)(void *context), struct work *work) {
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	locale_t before = uselocale(plain);
	int error = memory_try(part, work);
	uselocale(before);
	if (plain)
		freelocale(plain);
	return error;
}

// The program refused to run the command.
static int refusal(const struct work *work) {
	if (work->result.reported)
		return 0;
	if (work->wait_status == STATUS_UNKNOWN)
		return -ECHILD;
	if (work->result.status == STATUS_USAGE && work->log.size)
		return -EINVAL;
	return work->result.status == STATUS_NO_TRACE && work->opts->strict ? -ENODATA : 0;
}

static int finish(struct work *work) {
	int error = try_plainly(read_result, work);
	if (!error)
		error = refusal(work);
	if (error) {
		work->result.status = 0;
		work->result.exit_status = -1;
	}
	return error;
}

// ---- the call ----

// A memory file whose number is none of the standard ones, which the command needs.
static int memory_file(const char *name) {
	int fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	int high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int error = -errno;
	close(fd);
	return high < 0 ? error : high;
}

static int run(struct work *work) {
	int error = try_plainly(prepare, work);
	if (error)
		return error;
	int files[] = {work->record_file, work->log_file};
	error = program_run(work->arguments.items, work->environment.items, files, ARRAY_SIZE(files),
			    &work->wait_status);
	if (error == -ECHILD)
		work->wait_status = STATUS_UNKNOWN;
	else if (error)
		return error;
	return finish(work);
}

static int run_with_files(struct work *work) {
	work->record_file = memory_file("tracelet-record");
	if (work->record_file < 0)
		return work->record_file;
	work->log_file = memory_file("tracelet-log");
	int error = work->log_file < 0 ? work->log_file : run(work);
	if (work->log_file >= 0)
		close(work->log_file);
	close(work->record_file);
	return error;
}

static void free_work(struct work *work) {
	array_free(&work->arguments);
	array_free(&work->environment);
	array_free(&work->artifacts);
	buffer_free(&work->words);
	buffer_free(&work->record);
	buffer_free(&work->log);
	buffer_free(&work->text);
}

int tl_run(char *const argv[], const struct tl_run_opts *opts, struct tl_run_result *result) {
	struct tl_run_opts known = {0};
	struct work work = {.command = argv, .opts = &known, .result = {.exit_status = -1}};
	if (!argv || !argv[0] || !result || result->size < SMALLEST_RESULT ||
	    (opts && opts->size < sizeof(opts->size)))
		return -EINVAL;
	if (opts)
		memcpy(&known, opts, MIN(opts->size, sizeof(known)));
	int error = run_with_files(&work);
	free_work(&work);
	size_t size = work.result.size = result->size;
	memset(result, 0, size);
	memcpy(result, &work.result, MIN(size, sizeof(work.result)));
	return error;
}

void tl_run_free(struct tl_run_result *result) {
	if (!result || result->size < SMALLEST_RESULT)
		return;
	free((void *)(uintptr_t)result->artifacts);
	size_t size = result->size;
	memset(result, 0, MIN(size, sizeof(*result)));
	result->size = size;
}
