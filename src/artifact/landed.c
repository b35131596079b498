#include "artifact/landed.h"
#include "artifact/artifact.h"
#include "artifact/manifest.h"
#include "base/array.h"
#include "base/system.h"
#include "check/landed.h"
#include "settings/variant.h"
#include "tracelet/tracelet.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

// A trace of Linux or of Windows.
static const struct trace_kind {
	const char *name;
	int (*landed)(const char *path, uint64_t min_size, char *message, size_t size);
	bool whole; // its buffers do not show whether there were more
} trace_kinds[] = {
	{"perfetto", tl_trace_landed, false},
	{"etl", etl_landed, true},
};

struct noted {
	char *kind, *path, *sha256;
	uint64_t size;
	bool deleted;
};

// How well a session's name fits the one that is asked for.
enum likeness { NOT_LIKE, SAME_FILE_NAME, SAME_NAME };

// The newest session that is meant, as far as the manifest has been read.
struct search {
	const char *folder, *name;                              // the test's, as the user calls it ...
	char test[ARTIFACT_NAME_SIZE], hash[VARIANT_HASH_SIZE]; // ... and made safe
	enum likeness likeness;                                 // of the session that was found
	bool repro;
	bool found;
	uint64_t others; // sessions of other variants
	char *result, *not_kept, *backend, *guest_failed;
	ARRAY(struct noted) artifacts;
};

static void forget(struct search *search) {
	for (size_t i = 0; i < search->artifacts.count; i++) {
		free(search->artifacts.items[i].kind);
		free(search->artifacts.items[i].path);
		free(search->artifacts.items[i].sha256);
	}
	search->artifacts.count = 0;
	free(search->result);
	free(search->not_kept);
	free(search->backend);
	free(search->guest_failed);
	search->result = search->not_kept = search->backend = search->guest_failed = NULL;
}

static char *copy_of(const char *text) {
	return memory_string(text ? text : "");
}

// A folder may have been moved since: the name in it counts.
static void take_artifact(struct search *search, const struct manifest_artifact *artifact) {
	const char *name = manifest_artifact_name(artifact->path);
	if (name)
		array_push(&search->artifacts,
			   (struct noted){.kind = copy_of(artifact->kind),
					  .path = memory_format("%s/%s", search->folder, name),
					  .sha256 = copy_of(artifact->sha256),
					  .size = artifact->size});
}

// Different names can be the same when made safe for files: "[a b]" and "[a;b]". The safe name finds a
// session only if it was asked for, or if the line has no other (an operation, an old manifest).
static enum likeness likeness_of(const struct search *search, const struct manifest_record *record) {
	const char *name = record->name ? record->name : record->test;
	if (strcmp(name, search->name) == 0)
		return SAME_NAME;
	bool asked = !record->name || strcmp(search->name, search->test) == 0;
	return asked && strcmp(record->test, search->test) == 0 ? SAME_FILE_NAME : NOT_LIKE;
}

static bool is_wanted(struct search *search, const struct manifest_record *record) {
	const char *hash = record->variant_hash ? record->variant_hash : "";
	time_t ended;
	if (!record->test || record->there.artifacts != MANIFEST_THERE || !manifest_ended(record, &ended))
		return false;
	enum likeness likeness = likeness_of(search, record);
	bool same_test = likeness && likeness >= search->likeness && record->repro == search->repro;
	bool matches = same_test && strcmp(hash, search->hash) == 0;
	search->others += same_test && !matches;
	if (matches)
		search->likeness = likeness;
	return matches;
}

static void take_session(struct search *search, const struct manifest_record *record) {
	bool machine = record->kind && strcmp(record->kind, "machine") == 0;
	// The line of the machine that it ran in: what the session left is in the line before.
	if (!machine || (record->guest_failed && *record->guest_failed)) {
		forget(search);
		search->found = true;
		search->result = copy_of(record->result);
		search->not_kept = copy_of(record->not_kept);
		search->backend = copy_of(record->backend);
		search->guest_failed = copy_of(record->guest_failed);
	}
	for (size_t i = 0; i < record->artifacts.count; i++)
		take_artifact(search, &record->artifacts.items[i]);
}

static void take_deletion(struct search *search, const struct manifest_deletion *deletion) {
	const char *name = manifest_artifact_name(deletion->path);
	for (size_t i = 0; name && i < search->artifacts.count; i++) {
		struct noted *noted = &search->artifacts.items[i];
		if (strcmp(strrchr(noted->path, '/') + 1, name) == 0)
			noted->deleted = true;
	}
}

static void take_record(void *context, const struct manifest_record *record) {
	struct search *search = context;
	if (record->there.deleted != MANIFEST_THERE && is_wanted(search, record))
		take_session(search, record);
	for (size_t i = 0; i < record->deleted.count; i++)
		take_deletion(search, &record->deleted.items[i]);
}

static int look(struct search *search, const struct landed_question *question) {
	*search = (struct search){
		.folder = question->folder, .name = question->test, .repro = question->repro};
	artifact_safe_name(question->test, search->test);
	if (question->variant)
		variant_hash(question->variant, search->hash);
	return manifest_walk(question->folder, take_record, search);
}

static const struct noted *artifact_of(const struct search *search, const char *kind) {
	for (size_t i = 0; i < search->artifacts.count; i++)
		if (strcmp(search->artifacts.items[i].kind, kind) == 0)
			return &search->artifacts.items[i];
	return NULL;
}

static const struct noted *trace_of(const struct search *search, const struct trace_kind **kind) {
	for (size_t i = 0; i < ARRAY_SIZE(trace_kinds); i++) {
		const struct noted *noted = artifact_of(search, trace_kinds[i].name);
		*kind = &trace_kinds[i];
		if (noted)
			return noted;
	}
	return NULL;
}

static void search_free(struct search *search) {
	forget(search);
	array_free(&search->artifacts);
}

char *landed_artifact(const struct landed_question *question, const char *kind) {
	struct search search;
	int error = look(&search, question);
	const struct trace_kind *any;
	const struct noted *noted = error  ? NULL
				    : kind ? artifact_of(&search, kind)
					   : trace_of(&search, &any);
	char *path = noted && !noted->deleted ? memory_string(noted->path) : NULL;
	search_free(&search);
	return path;
}

// ---- what is wrong ----

struct spools {
	char name[ARTIFACT_NAME_SIZE]; // of the test
	char *first;
};

// NAME_YYYY….spool; of several the first in the order of their names.
static void take_spool(void *context, const char *name) {
	struct spools *spools = context;
	size_t length = strlen(name), before = strlen(spools->name), ending = strlen(".spool");
	if (length < before + 2 + ending || strncmp(name, spools->name, before) != 0 || name[before] != '_' ||
	    !isdigit((unsigned char)name[before + 1]) || strcmp(name + length - ending, ".spool") != 0)
		return;
	if (spools->first && strcmp(spools->first, name) <= 0)
		return;
	free(spools->first);
	spools->first = memory_string(name);
}

// A recording that was never finished.
static char *left_over_spool(const struct search *search, const struct landed_question *question) {
	struct spools spools = {0};
	artifact_variant_name(search->test, question->variant, spools.name);
	system_list(question->folder, take_spool, &spools);
	char *path = spools.first ? memory_format("%s/%s", question->folder, spools.first) : NULL;
	free(spools.first);
	return path;
}

// A tracer holds a lock on it while it records.
static bool is_locked(const char *spool) {
	int fd = system_open(spool, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	bool locked = fd >= 0 && system_try_lock(fd) && errno == EWOULDBLOCK;
	if (fd >= 0)
		close(fd);
	return locked;
}

static void say_no_session(const struct search *search, const struct landed_question *question, int error,
			   struct buffer *line) {
	CLEANUP_FREE char *spool = left_over_spool(search, question);
	buffer_printf(line, "%s/manifest.jsonl: expected a session of %s%s%s, found ", question->folder,
		      search->test, *search->hash ? ", variant " : "", search->hash);
	if (error)
		buffer_printf(line, "no manifest (%s)", strerror(-error));
	else if (search->others)
		buffer_printf(line, "only %llu of other variants", (unsigned long long)search->others);
	else
		buffer_printf(line, "none");
	if (spool && is_locked(spool))
		buffer_printf(line, " but %s, which is being recorded; wait for the end of the session",
			      spool);
	else if (spool)
		buffer_printf(
			line,
			" but %s; look at why the tracer died ('tracelet convert' makes a trace from it)",
			spool);
	else if (search->others)
		buffer_printf(line, "; look at --variant here and in the test run");
	else
		buffer_printf(line, "; look at how the test was started: was it traced with this name and "
				    "output directory?");
}

static void say_no_trace(const struct search *search, struct buffer *line) {
	buffer_printf(line, "%s: expected the trace of %s (%s), found ", search->folder, search->test,
		      search->result);
	if (*search->not_kept)
		buffer_printf(line, "that it was not kept: %s; look at --keep", search->not_kept);
	else if (!*search->backend)
		buffer_printf(
			line,
			"that nothing was recorded; look at the tracer's permissions ('tracelet doctor')");
	else
		buffer_printf(line,
			      "none in the manifest; look at the test run's messages: the conversion failed");
}

static bool check_noted(const struct noted *noted, bool whole, struct buffer *line) {
	char digits[65];
	struct stat status;
	if (noted->deleted) {
		buffer_printf(line,
			      "%s: expected a trace, found that it was deleted to save space; look at "
			      "--max-total-size and --max-age",
			      noted->path);
		return false;
	}
	bool there = system_stat(noted->path, &status) == 0;
	if (there && whole && noted->size && (uint64_t)status.st_size != noted->size) {
		buffer_printf(line, "%s: expected %llu bytes, found %llu; look at how the file was copied",
			      noted->path, (unsigned long long)noted->size,
			      (unsigned long long)status.st_size);
		return false;
	}
	if (there && (uint64_t)status.st_size == noted->size && *noted->sha256 &&
	    artifact_sha256(noted->path, digits) == 0 && strcmp(digits, noted->sha256) != 0) {
		buffer_printf(line,
			      "%s: expected SHA-256 %.16s..., found %.16s...; look at what changed it after "
			      "the session, or how it was copied",
			      noted->path, noted->sha256, digits);
		return false;
	}
	return true;
}

static enum landed judge(const struct search *search, const struct landed_question *question, int error,
			 uint64_t min_size, struct buffer *line) {
	const struct trace_kind *kind;
	const struct noted *trace = trace_of(search, &kind);
	char message[1024];
	if (!search->found) {
		say_no_session(search, question, error, line);
		return NOT_LANDED;
	}
	if (*search->guest_failed) {
		const struct noted *console = artifact_of(search, "console");
		buffer_printf(line,
			      "%s: the virtual machine of %s failed: %s; no trace is expected from it%s%s",
			      search->folder, search->test, search->guest_failed, console ? "; look at " : "",
			      console ? console->path : "");
		return LANDED_GUEST_FAILED;
	}
	if (!trace) {
		say_no_trace(search, line);
		return NOT_LANDED;
	}
	if (!check_noted(trace, kind->whole, line))
		return NOT_LANDED;
	if (kind->landed(trace->path, min_size, message, sizeof(message))) {
		buffer_printf(line, "%s", message);
		return NOT_LANDED;
	}
	buffer_printf(line, "%s: ok, the trace of %s (%s)", trace->path, search->test, search->result);
	return LANDED;
}

enum landed landed_check(const struct landed_question *question, uint64_t min_size, struct buffer *line) {
	struct search search;
	int error = look(&search, question);
	enum landed landed = judge(&search, question, error, min_size, line);
	search_free(&search);
	return landed;
}
