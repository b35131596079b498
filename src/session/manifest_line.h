// A line of manifest.jsonl or of --json, read back.
#pragma once

#include "session/ci.h"

struct manifest_line {
	char *test, *result;
	double seconds;
	bool repro; // it was run once more
	struct ci_artifact *artifacts;
	size_t artifact_count;
};

// False: this is no record of a session.
bool manifest_line_parse(const char *line, size_t size, struct manifest_line *record);
void manifest_line_free(struct manifest_line *record);
