// A record as a line of JSON: a walk through the tables.
#include "base/json.h"
#include "format/manifest_members.h"

#include <inttypes.h>
#include <stdio.h>

static void write_members(struct json *json, const struct manifest_table *table, const void *owner);

static void write_time(struct json *json, const char *key, const struct timespec *time) {
	char text[64];
	struct tm utc = {0};
	gmtime_r(&time->tv_sec, &utc);
	size_t length = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text + length, sizeof(text) - length, ".%03ldZ", (long)time->tv_nsec / 1000000);
	json_string(json, key, text);
}

static void write_words(struct json *json, const char *key, const manifest_words *words) {
	json_array(json, key);
	for (size_t i = 0; i < words->count; i++)
		json_string(json, NULL, words->items[i]);
	json_close_array(json);
}

static void write_counts(struct json *json, const char *key, const manifest_counts *counts) {
	json_object(json, key);
	for (size_t i = 0; i < counts->count; i++)
		json_uint(json, counts->items[i].name, counts->items[i].count);
	json_close_object(json);
}

static void write_item(struct json *json, const struct manifest_table *table, const void *item) {
	json_object(json, NULL);
	write_members(json, table, item);
	json_close_object(json);
}

#define WRITE_LIST(list_type, table)                                                                         \
	do {                                                                                                 \
		const list_type *list = value;                                                               \
		json_array(json, member->key);                                                               \
		for (size_t i = 0; i < list->count; i++)                                                     \
			write_item(json, &(table), &list->items[i]);                                         \
		json_close_array(json);                                                                      \
	} while (0)

static void write_list(struct json *json, const struct manifest_member *member, const void *value) {
	if (member->type == MANIFEST_ARTIFACTS)
		WRITE_LIST(manifest_artifacts, manifest_artifact_table);
	else if (member->type == MANIFEST_DELETIONS)
		WRITE_LIST(manifest_deletions, manifest_deletion_table);
	else if (member->type == MANIFEST_CRASHES)
		WRITE_LIST(manifest_crashes, manifest_crash_table);
	else
		WRITE_LIST(manifest_cases, manifest_case_table);
}

static void write_value(struct json *json, const struct manifest_member *member, const void *value) {
	const char *key = member->key;
	switch (member->type) {
	case MANIFEST_TEXT:
		json_string(json, key, *(const char *const *)value);
		break;
	case MANIFEST_JSON:
		json_raw(json, key, *(const char *const *)value);
		break;
	case MANIFEST_NUMBER:
		json_double(json, key, *(const double *)value);
		break;
	case MANIFEST_COUNT:
		json_uint(json, key, *(const uint64_t *)value);
		break;
	case MANIFEST_INTEGER:
		json_int(json, key, *(const int64_t *)value);
		break;
	case MANIFEST_FLAG:
		json_bool(json, key, *(const bool *)value);
		break;
	case MANIFEST_TIME:
		write_time(json, key, value);
		break;
	case MANIFEST_WORDS:
		write_words(json, key, value);
		break;
	case MANIFEST_COUNTS:
		write_counts(json, key, value);
		break;
	default:
		write_list(json, member, value);
	}
}

static void write_members(struct json *json, const struct manifest_table *table, const void *owner) {
	const char *open = NULL; // the object that the last member is in
	for (size_t i = 0; i < table->count; i++) {
		const struct manifest_member *member = &table->members[i];
		uint8_t there = ((const uint8_t *)owner)[member->there];
		if (there == MANIFEST_ABSENT)
			continue;
		bool same = open && member->object && strcmp(open, member->object) == 0;
		if (open && !same)
			json_close_object(json);
		if (member->object && !same)
			json_object(json, member->object);
		open = member->object;
		if (there == MANIFEST_NULL)
			json_string(json, member->key, NULL);
		else
			write_value(json, member, (const char *)owner + member->value);
	}
	if (open)
		json_close_object(json);
}

void manifest_write(const struct manifest_record *record, struct buffer *line) {
	struct json json = json_into(line);
	write_item(&json, &manifest_record_table, record);
	buffer_append(line, "\n", 1);
}
