#include "session/manifest_line.h"

#include <json-c/json.h>
#include <limits.h>

static const char *text_of(struct json_object *object, const char *name) {
	struct json_object *value = NULL;
	bool there = json_object_object_get_ex(object, name, &value) &&
		     json_object_is_type(value, json_type_string);
	return there ? json_object_get_string(value) : NULL;
}

static void take_artifacts(struct json_object *list, struct manifest_line *record) {
	size_t count = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
	record->artifacts = memory_alloc((count + 1) * sizeof(*record->artifacts));
	for (size_t i = 0; i < count; i++) {
		struct json_object *item = json_object_array_get_idx(list, i), *size = NULL;
		const char *path = json_object_is_type(item, json_type_object) ? text_of(item, "path") : NULL;
		if (!path)
			continue;
		json_object_object_get_ex(item, "size", &size);
		record->artifacts[record->artifact_count++] = (struct ci_artifact){
			memory_string(path), json_object_get_uint64(size)};
	}
}

bool manifest_line_parse(const char *line, size_t size, struct manifest_line *record) {
	*record = (struct manifest_line){0};
	struct json_tokener *tokener = json_tokener_new_ex(32);
	struct json_object *root = size && size < INT_MAX ? json_tokener_parse_ex(tokener, line, (int)size)
							  : NULL;
	struct json_object *value = NULL;
	const char *test = json_object_is_type(root, json_type_object) ? text_of(root, "test") : NULL;
	if (test) {
		const char *result = text_of(root, "result");
		record->test = memory_string(test);
		record->result = memory_string(result ? result : "");
		if (json_object_object_get_ex(root, "wall_seconds", &value))
			record->seconds = json_object_get_double(value);
		record->repro = json_object_object_get_ex(root, "repro", &value) &&
				json_object_get_boolean(value);
		value = NULL;
		json_object_object_get_ex(root, "artifacts", &value);
		take_artifacts(value, record);
	}
	json_object_put(root);
	json_tokener_free(tokener);
	return test;
}

void manifest_line_free(struct manifest_line *record) {
	for (size_t i = 0; i < record->artifact_count; i++)
		free((char *)(uintptr_t)record->artifacts[i].path);
	free(record->artifacts);
	free(record->test);
	free(record->result);
	*record = (struct manifest_line){0};
}
