#include "flow/report.h"

#include "artifact/identity.h"
#include "artifact/manifest.h"
#include "base/file.h"
#include "base/system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- reading ----

static const char *variant_of(const struct manifest_record *record) {
	return record->variant_hash ? record->variant_hash : "";
}

static const char *name_of(const struct manifest_record *record) {
	return record->name && *record->name ? record->name : record->test;
}

// A session has an id; lines of older versions are told apart by their text. A test and its cases are lines
// of one session.
static uint64_t identity_of(const struct manifest_record *record, const char *line, size_t size) {
	if (!record->session)
		return hash_bytes(line, size);
	CLEANUP_FREE char *key = memory_format("%s/%s/%s/%d", record->session, record->test,
					       variant_of(record), record->repro);
	return hash_bytes(key, strlen(key));
}

static void take_line(struct report_run *run, const char *folder, const char *line, size_t size) {
	struct report_record new = {.folder = folder, .order = run->records.count};
	if (!manifest_parse(line, size, &new.record))
		return;
	uint64_t *known = new.record.test ? map_put(&run->sessions, identity_of(&new.record, line, size))
					  : NULL;
	if (!known || (*known)++) {
		run->duplicates += known != NULL;
		manifest_record_free(&new.record);
		return;
	}
	new.passed = manifest_passed(&new.record);
	array_push(&run->records, new);
}

char *report_test_text(const char *test) {
	return memory_format("\"test\":\"%s\"", test); // a safe name needs no escapes
}

static struct report_folder pin(const char *name) {
	struct report_folder folder = {.name = memory_string(name)};
	folder.pinned = system_pin_folder(name, &folder.fd);
	return folder;
}

static void unpin(struct report_folder *folder) {
	if (folder->fd >= 0)
		close(folder->fd);
	free(folder->name);
	free(folder->pinned);
}

const struct report_folder *report_folder(struct report_run *run, const char *name) {
	for (size_t i = 0; i < run->folders.count; i++)
		if (strcmp(run->folders.items[i].name, name) == 0)
			return &run->folders.items[i];
	array_push(&run->folders, pin(name));
	return &run->folders.items[run->folders.count - 1];
}

static int read_manifest(struct report_run *run, const struct report_folder *folder) {
	CLEANUP_FREE char *path = memory_format("%s/manifest.jsonl", folder->pinned);
	struct stat status;
	struct input input;
	if (system_stat(path, &status) || !S_ISREG(status.st_mode))
		return -ENOENT;
	int error = input_open(&input, path);
	if (error)
		return error;
	const char *text = (const char *)input.data, *end = text + input.size;
	if (run->most && input.size > run->most)
		text = end - run->most; // the first line is torn, and not taken
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t size = (size_t)((newline ? newline : end) - text);
		if (!run->only || system_find(text, size, run->only, strlen(run->only)))
			take_line(run, folder->name, text, size);
		text = newline ? newline + 1 : end;
	}
	input_close(&input);
	return 0;
}

int report_add_folder(struct report_run *run, const char *name) {
	struct report_folder folder = pin(name);
	int error = read_manifest(run, &folder);
	if (error)
		unpin(&folder);
	else
		array_push(&run->folders, folder);
	return error;
}

const struct report_record *report_add_own(struct report_run *run, const char *folder,
					   const struct manifest_record *record) {
	struct report_record own = {
		.folder = folder, .order = run->records.count, .passed = manifest_passed(record)};
	struct buffer line = {0};
	manifest_write(record, &line);
	bool good = manifest_parse((const char *)line.data, line.size, &own.record);
	buffer_free(&line);
	if (good)
		array_push(&run->records, own);
	return good ? &run->records.items[run->records.count - 1] : NULL;
}

void report_run_free(struct report_run *run) {
	for (size_t i = 0; i < run->records.count; i++)
		manifest_record_free(&run->records.items[i].record);
	for (size_t i = 0; i < run->folders.count; i++)
		unpin(&run->folders.items[i]);
	for (size_t i = 0; i < run->tests.count; i++)
		array_free(&run->tests.items[i].attempts);
	array_free(&run->records);
	array_free(&run->folders);
	array_free(&run->tests);
	map_free(&run->sessions);
}

// ---- tests and their attempts ----

static bool is_before(const struct report_record *a, const struct report_record *b) {
	const struct timespec *x = &a->record.started, *y = &b->record.started;
	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec;
	return x->tv_nsec != y->tv_nsec ? x->tv_nsec < y->tv_nsec : a->order < b->order;
}

static void add_attempt(const struct report_run *run, struct report_test *test, size_t record) {
	array_push(&test->attempts, record);
	for (size_t i = test->attempts.count - 1;
	     i > 0 &&
	     is_before(&run->records.items[record], &run->records.items[test->attempts.items[i - 1]]);
	     i--) {
		test->attempts.items[i] = test->attempts.items[i - 1];
		test->attempts.items[i - 1] = record;
	}
}

static bool same_source(const struct manifest_record *a, const struct manifest_record *b) {
	return strcmp(a->source_commit ? a->source_commit : "", b->source_commit ? b->source_commit : "") ==
	       0;
}

static bool skipped(const struct manifest_record *record) {
	return record->status && strcmp(record->status, "skipped") == 0;
}

// The rule is printed on the page: it passed and failed on the same commit.
static bool is_flaky(const struct report_run *run, const struct report_test *test) {
	for (size_t i = 1; i < test->attempts.count; i++) {
		const struct report_record *a = &run->records.items[test->attempts.items[i - 1]];
		const struct report_record *b = &run->records.items[test->attempts.items[i]];
		if (a->passed != b->passed && !skipped(&a->record) && !skipped(&b->record) &&
		    same_source(&a->record, &b->record))
			return true;
	}
	return false;
}

void report_group(struct report_run *run) {
	struct map by_name = {0};
	for (size_t i = 0; i < run->records.count; i++) {
		const struct manifest_record *record = &run->records.items[i].record;
		if (record->repro)
			continue;
		CLEANUP_FREE char *key = memory_format("%s/%s", name_of(record), variant_of(record));
		uint64_t *known = map_put(&by_name, hash_bytes(key, strlen(key)));
		if (!*known) {
			array_push(&run->tests, (struct report_test){.name = name_of(record)});
			*known = run->tests.count;
		}
		add_attempt(run, &run->tests.items[*known - 1], i);
	}
	for (size_t i = 0; i < run->tests.count; i++)
		run->tests.items[i].flaky = is_flaky(run, &run->tests.items[i]);
	map_free(&by_name);
}

// ---- questions ----

const char *report_status(const struct report_record *record) {
	const char *known = record->record.status ? manifest_known_status(record->record.status) : NULL;
	return known ? known : record->passed ? "passed" : "failed";
}

char *report_artifact(const struct report_record *record, const char *kind) {
	for (size_t i = 0; i < record->record.artifacts.count; i++) {
		const struct manifest_artifact *artifact = &record->record.artifacts.items[i];
		const char *name = artifact->path ? manifest_artifact_name(artifact->path) : NULL;
		bool wanted = kind ? artifact->kind && strcmp(artifact->kind, kind) == 0
				   : manifest_is_trace(artifact);
		if (!name || !wanted)
			continue;
		char *path = memory_format("%s/%s", record->folder, name);
		struct stat status;
		if (system_link_stat(path, &status) == 0 && S_ISREG(status.st_mode))
			return path;
		free(path);
	}
	return NULL;
}

static bool has_time(const struct report_record *record) {
	CLEANUP_FREE char *trace = record->record.time_digest ? NULL : report_artifact(record, NULL);
	return record->record.time_digest || trace;
}

// The newest passing attempt of the record's test and variant before `limit`; NULL if none.
static const struct report_record *pass_before(const struct report_run *run,
					       const struct report_record *record,
					       const struct report_record *limit, bool timed) {
	const struct report_record *found = NULL;
	for (size_t i = 0; i < run->records.count; i++) {
		const struct report_record *other = &run->records.items[i];
		if (other == limit || !other->passed || other->record.repro || !is_before(other, limit) ||
		    strcmp(other->record.test, record->record.test) != 0 ||
		    strcmp(variant_of(&other->record), variant_of(&record->record)) != 0)
			continue;
		if ((!found || is_before(found, other)) && (!timed || has_time(other)))
			found = other;
	}
	return found;
}

const struct report_record *report_last_pass(const struct report_run *run, const struct report_record *record,
					     struct why_passes *others) {
	const struct report_record *last = pass_before(run, record, record, true);
	const struct report_record *other = last ? pass_before(run, record, last, true) : NULL;
	for (; others && other && others->list.count < WHY_PASSES;
	     other = pass_before(run, record, other, true))
		why_passes_add(others, other->record.time_digest);
	return last ? last : pass_before(run, record, record, false);
}

const struct report_record *report_of_file(const struct report_run *run, const char *file) {
	for (size_t i = run->records.count; i-- > 0;) {
		const struct manifest_record *record = &run->records.items[i].record;
		for (size_t j = 0; j < record->artifacts.count; j++) {
			const char *name = manifest_artifact_name(record->artifacts.items[j].path);
			if (name && strcmp(name, file) == 0)
				return &run->records.items[i];
		}
	}
	return NULL;
}
