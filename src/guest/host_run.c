#include "guest/host_run.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "guest/settle.h"
#include "session/ci.h"
#include "session/manifest.h"
#include "session/manifest_line.h"
#include "session/run.h"
#include "session/test.h"
#include "session/words.h"

#include <string.h>
#include <unistd.h>

// Ours: where artifacts go, whom they are told to, how long they stay, what is said about them.
static bool is_ours(enum setting_id id) {
	return id == SETTING_OUTPUT_DIR || id == SETTING_JSON || id == SETTING_ATTACHMENTS ||
	       id == SETTING_MAX_TOTAL_SIZE || id == SETTING_MAX_AGE || id == SETTING_QUIET ||
	       id == SETTING_ENABLED || id == SETTING_KEEP;
}

// Settings that someone made here, wherever, are flags there.
static void run_words(const struct settings *settings, struct words *words) {
	struct buffer value = {0};
	words_add(words, "run");
	words_add(words, "--quiet");
	words_add(words, "--enabled=%s", settings_enabled(settings) ? "yes" : "no");
	for (enum setting_id id = 0; id < SETTING_COUNT; id++) {
		if (is_ours(id) && id != SETTING_KEEP)
			continue;
		if (settings->origins[id] == FROM_DEFAULT && id != SETTING_KEEP)
			continue;
		value.size = 0;
		setting_value(settings, id, &value);
		words_add(words, "--%s=%.*s", setting_name(id), (int)value.size, (char *)value.data);
	}
	words_add(words, "--");
	words_add_all(words, settings->command);
	buffer_free(&value);
}

// ---- what is said at the end ----

static void print_files(const struct receiver *receiver) {
	char size[16];
	for (size_t i = 0; i < receiver->files.count; i++) {
		const struct received *file = &receiver->files.items[i];
		if (!file->partial)
			fprintf(stderr, "  %s  %s\n", file->path, file_size_words(file->size, size));
	}
}

// These print where the trace is: there, which is of no use here.
static bool tells_paths(const char *const *words, size_t count) {
	for (size_t i = 1; i < count; i++)
		if (strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0)
			return false;
	return count && (strcmp(words[0], "stop") == 0 || strcmp(words[0], "snapshot") == 0);
}

static void print_paths(const struct receiver *receiver) {
	char size[16];
	for (size_t i = 0; i < receiver->files.count; i++)
		if (!receiver->files.items[i].partial)
			printf("%s (%s)\n", receiver->files.items[i].path,
			       file_size_words(receiver->files.items[i].size, size));
}

// What a guest calls things is shown on a terminal.
static const char *plain(char *text) {
	for (char *at = text; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
	return text;
}

// The test, and its second run if it had one.
static void print_summary(const struct host *host, const struct receiver *receiver) {
	const char *text = (const char *)receiver->manifest.data;
	bool told[2] = {false, false};
	for (size_t left = receiver->manifest.size, size; left; left -= size, text += size) {
		const char *end = memchr(text, '\n', left);
		struct manifest_line line;
		size = end ? (size_t)(end - text) + 1 : left;
		if (!manifest_line_parse(text, size, &line))
			continue;
		if (!told[line.repro] && line.repro)
			fprintf(stderr, "tracelet: %s was run once more: %s\n", plain(line.test),
				plain(line.result));
		else if (!told[line.repro])
			fprintf(stderr, "tracelet: %s in %s: %s, %.3g s; clock known to %.0f us\n",
				plain(line.test), host->options.address, plain(line.result), line.seconds,
				(double)guest_clock_bound(&host->clock) / 1e3);
		told[line.repro] = true;
		manifest_line_free(&line);
	}
	print_files(receiver);
}

// As `run` here would tell the CI.
static void publish(const struct settings *settings, const struct receiver *receiver, int status) {
	struct ci_artifact artifacts[64];
	size_t count = 0;
	for (size_t i = 0; i < receiver->files.count && count < ARRAY_SIZE(artifacts); i++)
		if (!receiver->files.items[i].partial)
			artifacts[count++] = (struct ci_artifact){receiver->files.items[i].path,
								  receiver->files.items[i].size};
	struct ci_test test = {.name = settings->name      ? settings->name
				       : settings->command ? settings->command[0]
							   : "guest",
			       .result = status ? "failed" : "passed",
			       .passed = !status,
			       .artifacts = artifacts,
			       .artifact_count = count};
	if (count)
		ci_publish(settings, &test, STDOUT_FILENO, STDERR_FILENO);
}

static void json_partial(struct json *json, const struct receiver *receiver) {
	for (size_t i = 0; i < receiver->files.count; i++) {
		const struct received *file = &receiver->files.items[i];
		CLEANUP_FREE char *absolute = realpath(file->path, NULL);
		json_object(json, NULL);
		json_string(json, "kind", file->partial ? "partial" : "file");
		json_string(json, "path", absolute ? absolute : file->path);
		json_uint(json, "size", file->size);
		json_close_object(json);
	}
}

// The guest ended before the test did: its own line never came, and nobody shall take that for a test that
// left no trace.
static void write_failure(const struct host *host, const struct settings *settings,
			  const struct receiver *receiver, const struct receiver *live) {
	struct buffer line = {0};
	struct json json = json_into(&line);
	char name[ARTIFACT_NAME_SIZE];
	session_test_name(settings, name);
	json_object(&json, NULL);
	json_string(&json, "test", name);
	json_array(&json, "command");
	for (char **word = settings->command; *word; word++)
		json_string(&json, NULL, *word);
	json_close_array(&json);
	json_string(&json, "kind", "test");
	json_string(&json, "result", GUEST_FAILED_RESULT);
	json_uint(&json, "exit", STATUS_GUEST_FAILED);
	json_string(&json, "guest", host->options.address);
	json_array(&json, "artifacts");
	json_partial(&json, receiver);
	json_partial(&json, live);
	json_close_array(&json);
	json_close_object(&json);
	buffer_append(&line, "\n", 1);
	int error = artifact_make_dir(settings->output_dir);
	error = error ? error : manifest_append(settings->output_dir, &line);
	if (error)
		log_warning("%s/manifest.jsonl: %s", settings->output_dir, strerror(-error));
	buffer_free(&line);
}

static void write_json(const struct settings *settings, const struct receiver *receiver) {
	struct output output;
	if (!settings->json || !receiver->manifest.size)
		return;
	CLEANUP_FREE char *path = *settings->json >= '0' && *settings->json <= '9'
					  ? memory_format("/dev/fd/%s", settings->json)
					  : memory_string(settings->json);
	int error = output_open(&output, path, OUTPUT_REPLACE);
	if (!error) {
		output_write(&output, receiver->manifest.data, receiver->manifest.size);
		error = output_commit(&output);
	}
	if (error)
		log_warning("--json %s: cannot be written: %s", settings->json, strerror(-error));
}

// ---- requests ----

// What came while it was made has done its duty once the trace is here.
static void settle_live(struct settlement settlement, const struct host_request *request) {
	settlement.receiver = request->live;
	if (request->answered) {
		receiver_discard(request->live);
	} else {
		receiver_cut(request->live);
		settle(&settlement);
	}
}

static int request(struct host *host, struct host_request *request, struct receiver *receiver,
		   const struct settings *settings, char **trace) {
	request->input = STDIN_FILENO;
	request->errors = STDERR_FILENO;
	request->signals = !(request->flags & HOST_KEEP_SIGNALS);
	request->flags &= ~(unsigned)HOST_KEEP_SIGNALS;
	request->receiver = receiver;
	host_measure_clock(host, &host->clock.first);
	int error = host_request(host, request);
	if (!error)
		host_measure_clock(host, &host->clock.last);
	struct settlement settlement = {.receiver = receiver,
					.clock = &host->clock,
					.address = host->options.address,
					.guest_folder = request->folder,
					.folder = settings->output_dir};
	if (request->live)
		settle_live(settlement, request);
	const char *path = settle(&settlement);
	if (trace)
		*trace = path ? memory_string(path) : NULL;
	if (!error && *request->why)
		log_error("in the guest: %s", request->why);
	return error && !request->answered ? STATUS_GUEST_FAILED : test_shell_status(request->status);
}

void host_run(struct host *host, struct host_run *run) {
	const struct settings *settings = run->settings;
	struct words words = {0};
	run_words(settings, &words);
	struct host_request asked = {.kind = REQUEST_VERB,
				     .words = (const char *const *)words.items,
				     .word_count = words.count,
				     .output = STDOUT_FILENO};
	struct receiver receiver = {
		.folder = settings->output_dir, .most = run->max_artifact_size, .quiet = settings->quiet};
	struct receiver live = receiver;
	if (run->live) {
		asked.flags |= REQUEST_LIVE;
		asked.live = &live;
	}
	run->status = request(host, &asked, &receiver, settings, &run->trace);
	run->guest_failed = !asked.answered;
	if (run->guest_failed)
		write_failure(host, settings, &receiver, &live);
	write_json(settings, &receiver);
	if (!settings->quiet)
		print_summary(host, &receiver);
	publish(settings, &receiver, run->status);
	receiver_free(&receiver);
	receiver_free(&live);
	words_free(&words);
}

void host_run_free(struct host_run *run) {
	free(run->trace);
	run->trace = NULL;
}

int host_verb(struct host *host, const char *const *words, size_t count, unsigned flags,
	      const struct settings *settings, uint64_t max_artifact_size) {
	bool paths = tells_paths(words, count);
	struct host_request asked = {.kind = REQUEST_VERB,
				     .flags = flags,
				     .words = words,
				     .word_count = count,
				     .output = paths ? -1 : STDOUT_FILENO};
	struct receiver receiver = {
		.folder = settings->output_dir, .most = max_artifact_size, .quiet = settings->quiet};
	int status = request(host, &asked, &receiver, settings, NULL);
	if (paths)
		print_paths(&receiver);
	else if (!settings->quiet)
		print_files(&receiver);
	receiver_free(&receiver);
	return status;
}
