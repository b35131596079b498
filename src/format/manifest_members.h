// The tables of manifest_record.h as data, for the writer and the reader.
#pragma once

#include "format/manifest_record.h"

enum manifest_type {
	MANIFEST_TEXT,
	MANIFEST_JSON,
	MANIFEST_NUMBER,
	MANIFEST_COUNT,
	MANIFEST_INTEGER,
	MANIFEST_FLAG,
	MANIFEST_TIME,
	MANIFEST_WORDS,
	MANIFEST_COUNTS,
	MANIFEST_ARTIFACTS,
	MANIFEST_DELETIONS,
	MANIFEST_CRASHES,
	MANIFEST_CASES,
};

struct manifest_member {
	const char *object; // that it is a member of; NULL for the outermost one
	const char *key;
	enum manifest_type type;
	size_t value, there; // offsets in the struct
};

struct manifest_table {
	const struct manifest_member *members;
	size_t count;
};

extern const struct manifest_table manifest_record_table, manifest_artifact_table, manifest_deletion_table,
	manifest_crash_table, manifest_case_table;
