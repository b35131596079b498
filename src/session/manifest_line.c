#include "session/manifest_line.h"
#include "base/array.h"
#include "base/json_read.h"

struct artifacts {
	struct ci_artifact *items;
	size_t count, capacity;
};

static void replace(char **text, char *by) {
	free(*text);
	*text = by;
}

static void take_artifact(struct json_reader *reader, struct artifacts *artifacts) {
	struct json_piece key;
	char *path = NULL;
	double size = 0;
	json_enter(reader, '{');
	while (json_member(reader, &key)) {
		if (json_is(&key, "path"))
			replace(&path, json_read_if_text(reader));
		else if (json_is(&key, "size"))
			size = json_read_if_number(reader);
		else
			json_skip(reader);
	}
	if (path)
		array_push(artifacts, (struct ci_artifact){path, (uint64_t)MIN(MAX(size, 0), 1e18)});
}

static void take_artifacts(struct json_reader *reader, struct artifacts *artifacts) {
	if (json_peek(reader) != '[') {
		json_skip(reader);
		return;
	}
	json_enter(reader, '[');
	while (json_item(reader))
		if (json_peek(reader) == '{')
			take_artifact(reader, artifacts);
		else
			json_skip(reader);
}

bool manifest_line_parse(const char *line, size_t size, struct manifest_line *record) {
	struct json_reader reader = json_from(line, size);
	struct artifacts artifacts = {0};
	struct json_piece key;
	*record = (struct manifest_line){0};
	json_enter(&reader, '{');
	while (json_member(&reader, &key)) {
		if (json_is(&key, "test"))
			replace(&record->test, json_read_if_text(&reader));
		else if (json_is(&key, "result"))
			replace(&record->result, json_read_if_text(&reader));
		else if (json_is(&key, "wall_seconds"))
			record->seconds = json_read_if_number(&reader);
		else if (json_is(&key, "repro"))
			record->repro = json_read_if_true(&reader);
		else if (json_is(&key, "artifacts"))
			take_artifacts(&reader, &artifacts);
		else
			json_skip(&reader);
	}
	record->artifacts = artifacts.items;
	record->artifact_count = artifacts.count;
	bool good = record->test && !reader.failed;
	if (!good)
		manifest_line_free(record);
	else if (!record->result)
		record->result = memory_string("");
	return good;
}

void manifest_line_free(struct manifest_line *record) {
	for (size_t i = 0; i < record->artifact_count; i++)
		free((char *)(uintptr_t)record->artifacts[i].path);
	free(record->artifacts);
	free(record->test);
	free(record->result);
	*record = (struct manifest_line){0};
}
