#include "session/manifest_read.h"
#include "base/array.h"
#include "base/file.h"
#include "base/system.h"
#include "session/windows/json_scan.h"

#include <stdio.h>
#include <string.h>

struct noted {
	char *path, *kind, *sha256;
	double size;
};

enum text {
	TEXT_TEST,
	TEXT_KIND,
	TEXT_RESULT,
	TEXT_STARTED,
	TEXT_VARIANT_HASH,
	TEXT_NOT_KEPT,
	TEXT_BACKEND,
	TEXT_GUEST_FAILED,
	TEXT_COUNT
};

static const char *const text_keys[TEXT_COUNT] = {"test",         "kind",     "result",  "started",
						  "variant_hash", "not_kept", "backend", "guest_failed"};

struct line {
	char *texts[TEXT_COUNT]; // NULL: not there
	double seconds;
	bool timed_out, repro, has_artifacts, has_deleted;
	ARRAY(struct noted) artifacts; // or what was deleted
};

static void take_text(struct json_scan *scan, char **text) {
	free(*text);
	*text = json_scan_string(scan);
}

static void take_artifact_member(struct json_scan *scan, const char *key, void *context) {
	struct noted *noted = context;
	if (strcmp(key, "path") == 0)
		take_text(scan, &noted->path);
	else if (strcmp(key, "kind") == 0)
		take_text(scan, &noted->kind);
	else if (strcmp(key, "sha256") == 0)
		take_text(scan, &noted->sha256);
	else if (strcmp(key, "size") == 0)
		json_scan_number(scan, &noted->size);
}

static void take_artifact(struct json_scan *scan, void *context) {
	struct line *line = context;
	struct noted noted = {0};
	json_scan_object(scan, take_artifact_member, &noted);
	array_push(&line->artifacts, noted);
}

static void take_member(struct json_scan *scan, const char *key, void *context) {
	struct line *line = context;
	double limit;
	for (enum text text = 0; text < TEXT_COUNT; text++)
		if (strcmp(key, text_keys[text]) == 0 && json_scan_at_string(scan))
			take_text(scan, &line->texts[text]);
	if (strcmp(key, "wall_seconds") == 0)
		json_scan_number(scan, &line->seconds);
	else if (strcmp(key, "timed_out_after") == 0)
		line->timed_out = json_scan_number(scan, &limit);
	else if (strcmp(key, "repro") == 0)
		line->repro = json_scan_true(scan);
	else if (strcmp(key, "artifacts") == 0 || strcmp(key, "deleted") == 0) {
		*(*key == 'a' ? &line->has_artifacts : &line->has_deleted) = true;
		json_scan_array(scan, take_artifact, line);
	}
}

// No path leads out of the folder: only its last component counts, and that is none of "..", a
// hidden file, a stream of a file or the manifest itself.
static bool is_artifact(const struct noted *noted, struct manifest_artifact *artifact) {
	const char *path = noted->path ? noted->path : "", *name = system_base_name(path);
	*artifact = (struct manifest_artifact){.path = path,
					       .name = name,
					       .kind = noted->kind ? noted->kind : "",
					       .sha256 = noted->sha256 ? noted->sha256 : "",
					       .size = (uint64_t)MIN(MAX(noted->size, 0), 1e18)};
	return *name && *name != '.' && !strpbrk(name, "/\\:") && strcmp(name, "manifest.jsonl") != 0;
}

static bool find_end(const struct line *line, time_t *ended) {
	struct tm time = {0};
	const char *started = line->texts[TEXT_STARTED];
	if (!started || sscanf(started, "%d-%d-%dT%d:%d:%d", &time.tm_year, &time.tm_mon, &time.tm_mday,
			       &time.tm_hour, &time.tm_min, &time.tm_sec) != 6)
		return false;
	time.tm_year -= 1900;
	time.tm_mon--;
	*ended = _mkgmtime(&time) + (time_t)MIN(MAX(line->seconds, 0), 1e9);
	return true;
}

static void hand_over(const struct line *line, const struct manifest_reader *reader, void *context) {
	const char *texts[TEXT_COUNT];
	for (enum text text = 0; text < TEXT_COUNT; text++)
		texts[text] = line->texts[text] ? line->texts[text] : "";
	const char *result = texts[TEXT_RESULT];
	struct manifest_session session = {.test = texts[TEXT_TEST],
					   .kind = texts[TEXT_KIND],
					   .result = result,
					   .variant_hash = texts[TEXT_VARIANT_HASH],
					   .not_kept = texts[TEXT_NOT_KEPT],
					   .backend = texts[TEXT_BACKEND],
					   .guest_failed = texts[TEXT_GUEST_FAILED],
					   .repro = line->repro,
					   .passed = !line->timed_out && (strcmp(result, "passed") == 0 ||
									  strcmp(result, "recorded") == 0)};
	struct manifest_artifact artifact;
	if (!line->has_deleted && (!line->has_artifacts || !find_end(line, &session.ended)))
		return;
	if (!line->has_deleted)
		reader->session(context, &session);
	for (size_t i = 0; i < line->artifacts.count; i++)
		if (is_artifact(&line->artifacts.items[i], &artifact))
			(line->has_deleted ? reader->deleted : reader->artifact)(context, &artifact);
}

static void read_line(const char *text, size_t size, const struct manifest_reader *reader, void *context) {
	struct json_scan scan = {.at = text, .end = text + size};
	struct line line = {0};
	json_scan_object(&scan, take_member, &line);
	if (!scan.bad)
		hand_over(&line, reader, context);
	for (size_t i = 0; i < line.artifacts.count; i++) {
		free(line.artifacts.items[i].path);
		free(line.artifacts.items[i].kind);
		free(line.artifacts.items[i].sha256);
	}
	array_free(&line.artifacts);
	for (enum text i = 0; i < TEXT_COUNT; i++)
		free(line.texts[i]);
}

int manifest_read(const char *dir, const struct manifest_reader *reader, void *context) {
	CLEANUP_FREE char *path = memory_format("%s/manifest.jsonl", dir);
	struct input input;
	int error = input_open(&input, path);
	if (error)
		return error;
	const char *at = (const char *)input.data, *end = at + input.size;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		read_line(at, (size_t)((newline ? newline : end) - at), reader, context);
		at = newline ? newline + 1 : end;
	}
	input_close(&input);
	return 0;
}
