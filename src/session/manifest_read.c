// With json-c, whose names and those of base/json.h do not go together.
#include "session/manifest_read.h"
#include "base/file.h"

#include <json-c/json.h>
#include <string.h>

static const char *text_of(struct json_object *object, const char *key) {
	struct json_object *value;
	return json_object_object_get_ex(object, key, &value) && json_object_is_type(value, json_type_string)
		       ? json_object_get_string(value)
		       : "";
}

static struct json_object *list_of(struct json_object *object, const char *key) {
	struct json_object *value;
	return json_object_object_get_ex(object, key, &value) && json_object_is_type(value, json_type_array)
		       ? value
		       : NULL;
}

static double number_of(struct json_object *object, const char *key) {
	struct json_object *value;
	return json_object_object_get_ex(object, key, &value) ? json_object_get_double(value) : 0;
}

static bool flag_of(struct json_object *object, const char *key) {
	struct json_object *value;
	return json_object_object_get_ex(object, key, &value) && json_object_get_boolean(value);
}

// One of Windows has backslashes, which no name of ours has.
static const char *name_of(const char *path) {
	const char *name = path;
	for (const char *at = path; (at = strpbrk(at, "/\\")); at++)
		name = at + 1;
	return name;
}

// No path leads out of the folder: only its last component counts, and that is
// none of "..", a hidden file or the manifest itself.
static bool read_artifact(struct json_object *item, struct manifest_artifact *artifact) {
	struct json_object *size;
	const char *path = text_of(item, "path");
	*artifact = (struct manifest_artifact){.path = path,
					       .name = name_of(path),
					       .kind = text_of(item, "kind"),
					       .sha256 = text_of(item, "sha256")};
	if (json_object_object_get_ex(item, "size", &size))
		artifact->size = json_object_get_uint64(size);
	return *artifact->name && *artifact->name != '.' && strcmp(artifact->name, "manifest.jsonl") != 0;
}

static void read_list(struct json_object *list, void (*take)(void *, const struct manifest_artifact *),
		      void *context) {
	struct manifest_artifact artifact;
	for (size_t i = 0; i < json_object_array_length(list); i++)
		if (read_artifact(json_object_array_get_idx(list, i), &artifact))
			take(context, &artifact);
}

static bool read_session(struct json_object *line, struct manifest_session *session) {
	struct tm started = {0};
	struct json_object *limit;
	const char *result = text_of(line, "result");
	if (!strptime(text_of(line, "started"), "%Y-%m-%dT%H:%M:%S", &started))
		return false;
	// An operation is "recorded", which is as good as passed.
	*session = (struct manifest_session){
		.test = text_of(line, "test"),
		.kind = text_of(line, "kind"),
		.result = result,
		.variant_hash = text_of(line, "variant_hash"),
		.not_kept = text_of(line, "not_kept"),
		.backend = text_of(line, "backend"),
		.guest_failed = text_of(line, "guest_failed"),
		.repro = flag_of(line, "repro"),
		.ended = timegm(&started) + (time_t)number_of(line, "wall_seconds"),
		.passed = !json_object_object_get_ex(line, "timed_out_after", &limit) &&
			  (strcmp(result, "passed") == 0 || strcmp(result, "recorded") == 0),
	};
	return true;
}

static void read_line(const char *text, size_t size, struct json_tokener *tokener,
		      const struct manifest_reader *reader, void *context) {
	enum { LONGEST_LINE = 16 << 20 };
	json_tokener_reset(tokener);
	struct json_object *line = size < LONGEST_LINE ? json_tokener_parse_ex(tokener, text, (int)size)
						       : NULL;
	struct json_object *artifacts = list_of(line, "artifacts"), *deleted = list_of(line, "deleted");
	struct manifest_session session;
	if (deleted) {
		read_list(deleted, reader->deleted, context);
	} else if (artifacts && read_session(line, &session)) {
		reader->session(context, &session);
		read_list(artifacts, reader->artifact, context);
	}
	json_object_put(line);
}

int manifest_read(const char *dir, const struct manifest_reader *reader, void *context) {
	CLEANUP_FREE char *path = memory_format("%s/manifest.jsonl", dir);
	struct input input;
	int error = input_open(&input, path);
	if (error)
		return error;
	struct json_tokener *tokener = json_tokener_new();
	const char *at = (const char *)input.data, *end = at + input.size;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		read_line(at, (size_t)((newline ? newline : end) - at), tokener, reader, context);
		at = newline ? newline + 1 : end;
	}
	json_tokener_free(tokener);
	input_close(&input);
	return 0;
}
