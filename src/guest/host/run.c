#include "guest/host/run.h"
#include "artifact/ci.h"
#include "artifact/identity.h"
#include "artifact/manifest.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "guest/host/settle.h"
#include "process/test.h"
#include "process/words.h"
#include "session/finish.h"
#include "session/run.h"

#include <string.h>
#include <unistd.h>

// Settings that concern only the host: where artifacts go, which CI is informed, how long they stay, what is
// printed.
static bool is_ours(enum setting_id id) {
	return id == SETTING_OUTPUT_DIR || id == SETTING_JSON || id == SETTING_ATTACHMENTS ||
	       id == SETTING_MAX_TOTAL_SIZE || id == SETTING_MAX_AGE || id == SETTING_QUIET ||
	       id == SETTING_ENABLED || id == SETTING_KEEP || id == SETTING_ARTIFACT_GROUP;
}

// Settings from any source on the host become options in the guest.
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
			text_line(stderr, "  %s  %s", file->path, file_size_words(file->size, size));
	}
}

// These print the path of the trace in the guest, which is useless here.
static bool reports_paths(const char *const *words, size_t count) {
	for (size_t i = 1; i < count; i++)
		if (strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0)
			return false;
	return count && (strcmp(words[0], "stop") == 0 || strcmp(words[0], "snapshot") == 0);
}

static void print_paths(const struct receiver *receiver) {
	char size[16];
	for (size_t i = 0; i < receiver->files.count; i++)
		if (!receiver->files.items[i].partial)
			text_line(stdout, "%s (%s)", receiver->files.items[i].path,
				  file_size_words(receiver->files.items[i].size, size));
}

struct printing {
	const struct host *host;
	bool printed[2]; // the test, and its second run
};

static void print_record(void *context, const struct manifest_record *record) {
	struct printing *printing = context;
	bool repro = record->there.repro == MANIFEST_THERE && record->repro;
	const char *result = record->result ? record->result : "";
	if (!printing->printed[repro] && repro)
		text_line(stderr, "tracelet: %s was run once more: %s", record->test, result);
	else if (!printing->printed[repro])
		text_line(stderr, "tracelet: %s in %s: %s, %.3g s; guest clock known to %.0f us",
			  record->test, printing->host->options.address, result, record->wall_seconds,
			  (double)guest_clock_bound(&printing->host->clock) / 1e3);
	printing->printed[repro] = true;
}

// `lines` are those that were added to the host's manifest.
static void print_summary(const struct host *host, const struct receiver *receiver,
			  const struct buffer *lines) {
	struct printing printing = {.host = host};
	if (lines->size)
		manifest_walk_text((const char *)lines->data, lines->size, print_record, &printing);
	print_files(receiver);
}

// Informs the CI as `run` does on the host.
static void publish(const struct settings *settings, const struct receiver *receiver, int status) {
	struct manifest_artifact artifacts[64];
	size_t count = 0;
	for (size_t i = 0; i < receiver->files.count && count < ARRAY_SIZE(artifacts); i++)
		if (!receiver->files.items[i].partial)
			artifacts[count++] = (struct manifest_artifact){
				.path = receiver->files.items[i].path, .size = receiver->files.items[i].size};
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

static void put_received(struct manifest_record *record, const struct receiver *receiver) {
	for (size_t i = 0; i < receiver->files.count; i++) {
		const struct received *file = &receiver->files.items[i];
		char *absolute = realpath(file->path, NULL);
		const char *path = absolute ? manifest_keep(record, absolute) : file->path;
		manifest_put_artifact(record, file->partial ? "partial" : "file", path, file->size, NULL);
	}
}

// The guest ended before the test did, so its own line is missing. Without this one it would look like a test
// that left no trace.
static void write_failure(const struct host *host, const struct settings *settings,
			  const struct receiver *receiver, const struct receiver *live) {
	struct manifest_record record = {.there = {.artifacts = MANIFEST_THERE}};
	char name[ARTIFACT_NAME_SIZE];
	MANIFEST_PUT(&record, test, session_test_name(settings, name));
	MANIFEST_PUT(&record, name, manifest_keep(&record, session_true_name(settings)));
	for (char **word = settings->command; *word; word++)
		manifest_put_word(&record, *word);
	MANIFEST_PUT(&record, kind, "test");
	identity_put(&record, settings);
	MANIFEST_PUT(&record, status, manifest_status_names[ENDED_MACHINE_FAILED]);
	MANIFEST_PUT(&record, result, GUEST_FAILED_RESULT);
	MANIFEST_PUT(&record, exit, STATUS_GUEST_FAILED);
	MANIFEST_PUT(&record, guest, host->options.address);
	put_received(&record, receiver);
	put_received(&record, live);
	int error = artifact_make_dir(settings->output_dir);
	error = error ? error : manifest_note(settings->output_dir, &record);
	if (error)
		log_warning("%s/manifest.jsonl: %s", settings->output_dir, strerror(-error));
	manifest_record_free(&record);
}

// ---- requests ----

// Once the trace has arrived, the live recording is no longer needed.
static void settle_live(struct settlement settlement, const struct host_request *request) {
	settlement.receiver = request->live;
	if (request->answered) {
		receiver_discard(request->live);
	} else {
		receiver_cut(request->live);
		settle(&settlement);
	}
}

// `settlement` says whether this is a test, and where its lines go.
static int request(struct host *host, struct host_request *request, struct receiver *receiver,
		   struct settlement settlement, char **trace) {
	request->input = STDIN_FILENO;
	request->errors = STDERR_FILENO;
	request->signals = !(request->flags & HOST_KEEP_SIGNALS);
	request->flags &= ~(unsigned)HOST_KEEP_SIGNALS;
	request->receiver = receiver;
	host_measure_clock(host, &host->clock.first);
	int error = host_request(host, request);
	if (!error)
		host_measure_clock(host, &host->clock.last);
	settlement.receiver = receiver;
	settlement.clock = &host->clock;
	settlement.address = host->options.address;
	settlement.guest_folder = request->folder;
	settlement.folder = receiver->folder;
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
	struct buffer lines = {0};
	struct settlement settlement = {.settings = settings, .lines = &lines};
	run->status = request(host, &asked, &receiver, settlement, &run->trace);
	run->guest_failed = !asked.answered;
	if (run->guest_failed)
		write_failure(host, settings, &receiver, &live);
	if (settings->json && lines.size)
		manifest_write_lines(settings->json, &lines);
	if (!settings->quiet)
		print_summary(host, &receiver, &lines);
	publish(settings, &receiver, run->status);
	receiver_free(&receiver);
	receiver_free(&live);
	buffer_free(&lines);
	words_free(&words);
}

void host_run_free(struct host_run *run) {
	free(run->trace);
	run->trace = NULL;
}

int host_verb(struct host *host, const char *const *words, size_t count, unsigned flags,
	      const struct settings *settings, uint64_t max_artifact_size) {
	bool paths = reports_paths(words, count);
	struct host_request asked = {.kind = REQUEST_VERB,
				     .flags = flags,
				     .words = words,
				     .word_count = count,
				     .output = paths ? -1 : STDOUT_FILENO};
	struct receiver receiver = {
		.folder = settings->output_dir, .most = max_artifact_size, .quiet = settings->quiet};
	int status = request(host, &asked, &receiver, (struct settlement){0}, NULL);
	if (paths)
		print_paths(&receiver);
	else if (!settings->quiet)
		print_files(&receiver);
	receiver_free(&receiver);
	return status;
}
