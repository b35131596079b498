#include "session/landed.h"
#include "base/array.h"
#include "base/system.h"
#include "read/landed.h"
#include "session/artifact.h"
#include "session/manifest_read.h"
#include "session/variant.h"
#include "tracelet/tracelet.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

// A trace of Linux or of Windows.
static const struct trace_kind {
	const char *name;
	int (*landed)(const char *path, uint64_t min_size, char *message, size_t size);
	bool whole; // its buffers do not tell whether there were more
} trace_kinds[] = {
	{"perfetto", tl_trace_landed, false},
	{"etl", etl_landed, true},
};

struct noted {
	char *kind, *path, *sha256;
	uint64_t size;
	bool deleted;
};

// The newest session that is meant, as far as the manifest has been read.
struct search {
	const char *folder;
	char test[ARTIFACT_NAME_SIZE], hash[VARIANT_HASH_SIZE];
	bool repro;
	bool found, matches; // any; the one that is being read
	uint64_t others;     // sessions of other variants
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

static void take_session(void *context, const struct manifest_session *session) {
	struct search *search = context;
	bool same_test = strcmp(session->test, search->test) == 0 && session->repro == search->repro;
	search->matches = same_test && strcmp(session->variant_hash, search->hash) == 0;
	search->others += same_test && !search->matches;
	if (!search->matches)
		return;
	// That of the machine it ran in: what the session left stands in the line before.
	if (strcmp(session->kind, "machine") == 0 && !*session->guest_failed)
		return;
	forget(search);
	search->found = true;
	search->result = memory_string(session->result);
	search->not_kept = memory_string(session->not_kept);
	search->backend = memory_string(session->backend);
	search->guest_failed = memory_string(session->guest_failed);
}

// A folder may have been moved since: the name in it counts.
static void take_artifact(void *context, const struct manifest_artifact *artifact) {
	struct search *search = context;
	if (search->matches)
		array_push(&search->artifacts,
			   (struct noted){.kind = memory_string(artifact->kind),
					  .path = memory_format("%s/%s", search->folder, artifact->name),
					  .sha256 = memory_string(artifact->sha256),
					  .size = artifact->size});
}

static void take_deleted(void *context, const struct manifest_artifact *artifact) {
	struct search *search = context;
	for (size_t i = 0; i < search->artifacts.count; i++) {
		struct noted *noted = &search->artifacts.items[i];
		if (strcmp(strrchr(noted->path, '/') + 1, artifact->name) == 0)
			noted->deleted = true;
	}
}

static int look(struct search *search, const struct landed_question *question) {
	static const struct manifest_reader reader = {
		.session = take_session, .artifact = take_artifact, .deleted = take_deleted};
	*search = (struct search){.folder = question->folder, .repro = question->repro};
	artifact_safe_name(question->test, search->test);
	if (question->variant)
		variant_hash(question->variant, search->hash);
	return manifest_read(question->folder, &reader, search);
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

// A recording that nobody has finished.
static char *left_over_spool(const struct search *search, const struct landed_question *question) {
	struct spools spools = {0};
	artifact_variant_name(search->test, question->variant, spools.name);
	system_list(question->folder, take_spool, &spools);
	char *path = spools.first ? memory_format("%s/%s", question->folder, spools.first) : NULL;
	free(spools.first);
	return path;
}

static void say_no_session(const struct search *search, const struct landed_question *question, int error,
			   struct buffer *line) {
	CLEANUP_FREE char *spool = left_over_spool(search, question);
	buffer_printf(line, "%s/manifest.jsonl: expected a session of %s%s%s, found ", question->folder,
		      search->test, *search->hash ? ", variant " : "", search->hash);
	if (error)
		buffer_printf(line, "no manifest (%s)", strerror(-error));
	else if (search->others)
		buffer_printf(line, "%llu of other variants", (unsigned long long)search->others);
	else
		buffer_printf(line, "none");
	if (spool)
		buffer_printf(line, " but %s; look at the tracer: it died ('tracelet convert' makes a trace)",
			      spool);
	else if (search->others)
		buffer_printf(line, "; look at the --variant of both");
	else
		buffer_printf(line, "; look at how the test was started: was it traced, with this name and "
				    "output folder?");
}

static void say_no_trace(const struct search *search, struct buffer *line) {
	buffer_printf(line, "%s: expected the trace of %s (%s), found ", search->folder, search->test,
		      search->result);
	if (*search->not_kept)
		buffer_printf(line, "that it was not kept: %s; look at --keep", search->not_kept);
	else if (!*search->backend)
		buffer_printf(line, "that nothing was recorded; look at the rights of the tracer "
				    "('tracelet doctor')");
	else
		buffer_printf(line, "none in the manifest; look at the conversion: what the test's run said "
				    "on standard error");
}

static bool check_noted(const struct noted *noted, bool whole, struct buffer *line) {
	char digits[65];
	struct stat status;
	if (noted->deleted) {
		buffer_printf(line,
			      "%s: expected a trace, found that it was deleted to keep the folder small; "
			      "look at --max-total-size and --max-age",
			      noted->path);
		return false;
	}
	bool there = system_stat(noted->path, &status) == 0;
	if (there && whole && noted->size && (uint64_t)status.st_size != noted->size) {
		buffer_printf(line, "%s: expected %llu bytes, found %llu; look at the transfer of the file",
			      noted->path, (unsigned long long)noted->size,
			      (unsigned long long)status.st_size);
		return false;
	}
	if (there && (uint64_t)status.st_size == noted->size && *noted->sha256 &&
	    artifact_sha256(noted->path, digits) == 0 && strcmp(digits, noted->sha256) != 0) {
		buffer_printf(line,
			      "%s: expected SHA-256 %.16s..., found %.16s...; look at who changed it after "
			      "the session, or at the copy",
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
			      "%s: the virtual machine of %s failed: %s; no trace is expected of it%s%s",
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
