#include "session/manifest_read.h"
#include "base/array.h"
#include "base/file.h"
#include "base/json_read.h"
#include "base/system.h"
#include "session/manifest.h"

#include <stdio.h>

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

// ---- reading ----

static void take_text(struct json_reader *reader, char **text) {
	free(*text);
	*text = json_read_if_text(reader);
}

static void take_artifact(struct json_reader *reader, struct line *line) {
	struct json_piece key;
	struct noted noted = {0};
	json_enter(reader, '{');
	while (json_member(reader, &key)) {
		if (json_is(&key, "path"))
			take_text(reader, &noted.path);
		else if (json_is(&key, "kind"))
			take_text(reader, &noted.kind);
		else if (json_is(&key, "sha256"))
			take_text(reader, &noted.sha256);
		else if (json_is(&key, "size"))
			noted.size = json_read_if_number(reader);
		else
			json_skip(reader);
	}
	array_push(&line->artifacts, noted);
}

static void take_artifacts(struct json_reader *reader, struct line *line) {
	json_enter(reader, '[');
	while (json_item(reader))
		if (json_peek(reader) == '{')
			take_artifact(reader, line);
		else
			json_skip(reader);
}

static void take_member(struct json_reader *reader, const struct json_piece *key, struct line *line) {
	bool list = json_peek(reader) == '[';
	for (enum text text = 0; text < TEXT_COUNT; text++)
		if (json_is(key, text_keys[text])) {
			take_text(reader, &line->texts[text]);
			return;
		}
	if (json_is(key, "wall_seconds")) {
		line->seconds = json_read_if_number(reader);
	} else if (json_is(key, "repro")) {
		line->repro = json_read_if_true(reader);
	} else if (list && (json_is(key, "artifacts") || json_is(key, "deleted"))) {
		*(*key->text == 'a' ? &line->has_artifacts : &line->has_deleted) = true;
		take_artifacts(reader, line);
	} else {
		line->timed_out |= json_is(key, "timed_out_after");
		json_skip(reader);
	}
}

// ---- handing over ----

// No path leads out of the folder: only its last component counts, and that is none of "..", a
// hidden file, a stream of a file on Windows or the manifest itself.
static bool is_artifact(const struct noted *noted, struct manifest_artifact *artifact) {
	const char *path = noted->path ? noted->path : "", *name = manifest_file_name(path);
	*artifact = (struct manifest_artifact){.path = path,
					       .name = name,
					       .kind = noted->kind ? noted->kind : "",
					       .sha256 = noted->sha256 ? noted->sha256 : "",
					       .size = (uint64_t)MIN(MAX(noted->size, 0), 1e18)};
	return *name && *name != '.' && !strchr(name, ':') && strcmp(name, "manifest.jsonl") != 0;
}

static bool find_end(const struct line *line, time_t *ended) {
	struct tm time = {0};
	const char *started = line->texts[TEXT_STARTED];
	if (!started || sscanf(started, "%4d-%2d-%2dT%2d:%2d:%2d", &time.tm_year, &time.tm_mon, &time.tm_mday,
			       &time.tm_hour, &time.tm_min, &time.tm_sec) != 6)
		return false;
	time.tm_year -= 1900;
	time.tm_mon--;
	*ended = system_utc_seconds(&time) + (time_t)MIN(MAX(line->seconds, 0), 1e9);
	return true;
}

static void hand_over(const struct line *line, const struct manifest_reader *reader, void *context) {
	const char *texts[TEXT_COUNT];
	for (enum text text = 0; text < TEXT_COUNT; text++)
		texts[text] = line->texts[text] ? line->texts[text] : "";
	const char *result = texts[TEXT_RESULT];
	// An operation is "recorded", which is as good as passed.
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
	struct json_reader json = json_from(text, size);
	struct json_piece key;
	struct line line = {0};
	json_enter(&json, '{');
	while (json_member(&json, &key))
		take_member(&json, &key, &line);
	if (!json.failed)
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
