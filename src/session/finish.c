#include "session/finish.h"
#include "artifact/artifact.h"
#include "artifact/ci.h"
#include "artifact/identity.h"
#include "artifact/manifest.h"
#include "artifact/retention.h"
#include "base/log.h"
#include "base/system.h"
#include "flow/report.h"
#include "session/finish_system.h"
#include "session/summary.h"
#include "settings/variant.h"

#include <stdio.h>
#include <string.h>

// ---- policy ----

bool finish_passed(const struct test_end *end) {
	bool accepted = *end->verdict ? end->accepted : end->status == 0;
	return accepted && !end->timed_out && !end->leaked && !end->abandoned;
}

void finish_words(const struct settings *settings, const struct test_end *end, char *words, size_t size) {
	if (end->abandoned)
		snprintf(words, size, "unknown: tracelet was killed");
	else if (end->timed_out)
		snprintf(words, size, "timed out: limit %g s", settings->timeout);
	else if (end->leaked && end->status == 0)
		snprintf(words, size, "failed: memory was leaked (--fail-on-leak)");
	else if (*end->verdict)
		snprintf(words, size, "%s", end->verdict);
	else
		finish_status_words(end->status, words, size);
}

const char *finish_not_kept(const struct settings *settings, const struct test_end *end) {
	bool passed = !end->operation && finish_passed(end);
	return settings->keep == KEEP_NEVER                   ? "--keep never"
	       : passed && settings->keep == KEEP_FAILED      ? "the test passed (--keep failed)"
	       : passed && settings->type == RECORD_TO_MEMORY ? "a flight recorder is saved when a test fails"
							      : NULL;
}

// ---- the record ----

static void put_variant(struct manifest_record *record, const struct settings *settings) {
	char digits[VARIANT_HASH_SIZE];
	if (settings->variant) {
		variant_hash(settings->variant, digits);
		MANIFEST_PUT(record, variant, settings->variant);
		MANIFEST_PUT(record, variant_hash, manifest_keep(record, memory_string(digits)));
	}
	if (settings->is_repro)
		MANIFEST_PUT(record, repro, true);
}

char *session_true_name(const struct settings *settings) {
	return settings->name ? memory_string(settings->name) : system_command_name(settings->command[0]);
}

void finish_open(struct finish *finish, const struct settings *settings, const char *test) {
	struct manifest_record *record = &finish->record;
	*finish = (struct finish){.settings = settings};
	identity_put(record, settings);
	MANIFEST_PUT(record, test, test);
	if (settings->command) // an operation has only the safe name
		MANIFEST_PUT(record, name, manifest_keep(record, session_true_name(settings)));
	record->there.command = record->there.artifacts = MANIFEST_THERE;
	for (char **word = settings->command; word && *word; word++)
		manifest_put_word(record, *word);
	put_variant(record, settings);
	finish_put_system(record);
	MANIFEST_PUT(record, tracelet, TRACELET_VERSION);
	MANIFEST_PUT(record, profile, settings->profile);
	MANIFEST_PUT(record, scope, finish_scope(settings));
	MANIFEST_PUT(record, backend, NULL);
}

static enum manifest_status status_of(const struct test_end *end) {
	return end->operation                         ? ENDED_RECORDED
	       : end->abandoned                       ? ENDED_UNKNOWN
	       : end->timed_out                       ? ENDED_TIMED_OUT
	       : strcmp(end->verdict, "skipped") == 0 ? ENDED_SKIPPED
	       : finish_passed(end)                   ? ENDED_PASSED
	       : finish_crashed(end->status)          ? ENDED_CRASHED
						      : ENDED_FAILED;
}

static void put_times(struct manifest_record *record, const struct test_end *end) {
	MANIFEST_PUT(record, started, end->started);
	MANIFEST_PUT(record, wall_seconds, end->wall_seconds);
	MANIFEST_PUT(record, cpu_seconds, end->cpu_seconds);
}

void finish_end(struct finish *finish, const struct test_end *end) {
	struct manifest_record *record = &finish->record;
	char words[128];
	finish->passed = finish_passed(end);
	finish->timed_out = end->timed_out;
	put_times(record, end);
	MANIFEST_PUT(record, kind, end->operation ? "operation" : "test");
	MANIFEST_PUT(record, status, manifest_status_names[status_of(end)]);
	if (end->operation) {
		MANIFEST_PUT(record, result, end->abandoned ? "recovered: the tracer died" : "recorded");
		return;
	}
	finish_words(finish->settings, end, words, sizeof(words));
	MANIFEST_PUT(record, result, manifest_keep(record, memory_string(words)));
	if (end->timed_out)
		MANIFEST_PUT(record, timed_out_after, finish->settings->timeout);
	if (!end->abandoned)
		finish_put_status(record, end->status);
}

void finish_case(struct finish *finish, const char *result, const struct test_end *end) {
	put_times(&finish->record, end);
	enum manifest_status status = strcmp(result, "passed") == 0    ? ENDED_PASSED
				      : strcmp(result, "skipped") == 0 ? ENDED_SKIPPED
								       : ENDED_FAILED;
	MANIFEST_PUT(&finish->record, kind, "case");
	MANIFEST_PUT(&finish->record, status, manifest_status_names[status]);
	MANIFEST_PUT(&finish->record, result, result);
}

// ---- its files ----

void finish_add_file(struct finish *finish, const char *kind, const char *path) {
	struct manifest_record *record = &finish->record;
	struct stat status;
	char digits[65] = "";
	if (!path || !*path || system_link_stat(path, &status) || !S_ISREG(status.st_mode))
		return;
	if (artifact_sha256(path, digits))
		*digits = 0;
	manifest_put_artifact(record, kind, manifest_keep(record, memory_string(path)),
			      (uint64_t)status.st_size, manifest_keep(record, memory_string(digits)));
}

void finish_add_trace(struct finish *finish, const char *kind, const char *path, uint64_t size,
		      const char *sha256) {
	struct manifest_record *record = &finish->record;
	manifest_artifacts *artifacts = &record->artifacts;
	size_t before = artifacts->count;
	if (sha256)
		manifest_put_artifact(record, kind, manifest_keep(record, memory_string(path)), size,
				      manifest_keep(record, memory_string(sha256)));
	else
		finish_add_file(finish, kind, path);
	if (artifacts->count == before)
		return;
	struct manifest_artifact trace = artifacts->items[before];
	memmove(artifacts->items + 1, artifacts->items, before * sizeof(*artifacts->items));
	artifacts->items[0] = trace;
}

const struct manifest_artifact *finish_trace(const struct finish *finish) {
	const struct manifest_artifact *first = finish->record.artifacts.items;
	return finish->record.artifacts.count && manifest_is_trace(first) ? first : NULL;
}

// ---- where it goes ----

void finish_page(struct finish *finish) {
	bool test = finish->record.kind && strcmp(finish->record.kind, "test") == 0;
	CLEANUP_FREE char *page = test ? report_session(finish->settings, &finish->record, finish->passed)
				       : NULL;
	finish_add_file(finish, "report", page);
}

// If only the spool is left, the disk was full, which has been reported.
static bool has_artifacts(const struct manifest_record *record) {
	for (size_t i = 0; i < record->artifacts.count; i++)
		if (strcmp(record->artifacts.items[i].kind, "spool") != 0)
			return true;
	return false;
}

void finish_note(const struct finish *finish) {
	const char *dir = finish->settings->output_dir;
	if (!finish->recorded && !finish->record.artifacts.count)
		return;
	int error = manifest_note(dir, &finish->record);
	if (error && has_artifacts(&finish->record))
		log_warning("%s/manifest.jsonl: cannot be written: %s", dir, strerror(-error));
}

void finish_keep_limits(struct finish *finish) {
	const struct settings *settings = finish->settings;
	struct manifest_record *record = &finish->record;
	struct retention retention = {
		.max_total_size = settings->max_total_size, .max_age = settings->max_age, .now = time(NULL)};
	struct stat status;
	if (!retention.max_total_size && retention.max_age <= 0)
		return;
	int deleted = retention_apply(settings->output_dir, &retention);
	if (deleted < 0)
		log_warning("%s: cannot delete old artifacts: %s", settings->output_dir, strerror(-deleted));
	else if (deleted > 0)
		log_verbose("%s: deleted %d old file%s (--max-total-size, --max-age)", settings->output_dir,
			    deleted, deleted == 1 ? "" : "s");
	if (!record->artifacts.count || system_link_stat(record->artifacts.items[0].path, &status) == 0)
		return;
	MANIFEST_PUT(record, not_kept,
		     "the folder's limits (--max-total-size, --max-age) have no room for it");
	array_free(&record->artifacts);
}

static void publish_cases(const struct finish *finish) {
	for (size_t i = 0; i < finish->record.cases.count; i++) {
		const struct manifest_case *done = &finish->record.cases.items[i];
		struct stat status;
		struct manifest_artifact artifact = {.path = done->trace};
		if (!done->trace)
			continue;
		if (system_stat(done->trace, &status) == 0)
			artifact.size = (uint64_t)status.st_size;
		struct ci_test test = {.name = done->name,
				       .result = done->result,
				       .passed = strncmp(done->result, "failed", strlen("failed")) != 0,
				       .seconds = done->wall_seconds,
				       .artifacts = &artifact,
				       .artifact_count = 1};
		ci_publish(finish->settings, &test, STDOUT_FILENO, STDERR_FILENO);
	}
}

static void publish(const struct finish *finish) {
	const struct manifest_record *record = &finish->record;
	struct ci_test test = {.name = record->test,
			       .result = record->result,
			       .why = record->explanation,
			       .passed = finish->passed,
			       .seconds = record->wall_seconds,
			       .artifacts = record->artifacts.items,
			       .artifact_count = record->artifacts.count};
	ci_publish(finish->settings, &test, STDOUT_FILENO, STDERR_FILENO);
	publish_cases(finish);
}

void finish_report(const struct finish *finish) {
	const struct settings *settings = finish->settings;
	bool enabled = settings_enabled(settings);
	if (settings->json)
		manifest_write_json(settings->json, &finish->record);
	if (!settings->quiet &&
	    ((enabled && (finish->recorded || finish->timed_out)) || finish->record.artifacts.count))
		summary_print(finish);
	if (enabled && !settings->quiet && finish->leaks)
		fwrite(finish->leaks->data, 1, finish->leaks->size, stderr);
	if (enabled && finish->recorded)
		publish(finish);
}

void finish_free(struct finish *finish) {
	manifest_record_free(&finish->record);
}
