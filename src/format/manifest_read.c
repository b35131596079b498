// Reads a line of JSON into a record. Lines come from older versions, from other systems, from guests that
// may be hostile, and from disks that were full: members that do not match the tables are ignored.
#include "base/json_copy.h"
#include "base/json_read.h"
#include "base/system.h"
#include "format/manifest_members.h"

#include <math.h>
#include <stdio.h>

struct reading {
	struct json_reader *json;
	struct manifest_record *record; // that keeps the texts
};

static bool read_members(struct reading *reading, const struct manifest_table *table, void *owner);

// ---- plain values: whether it was one of the type wanted ----

static bool is_number(struct reading *reading) {
	char first = json_peek(reading->json);
	return first == '-' || (first >= '0' && first <= '9');
}

static bool read_text(struct reading *reading, const char **text) {
	char *read = json_read_if_text(reading->json);
	if (read)
		*text = manifest_keep(reading->record, read);
	return read;
}

// The variant of a test: an object.
static bool read_json(struct reading *reading, const char **text) {
	struct buffer copy = {0};
	struct json json = json_into(&copy);
	if (json_peek(reading->json) != '{') {
		json_skip(reading->json);
		return false;
	}
	json_copy(reading->json, &json, NULL);
	buffer_append(&copy, "", 1);
	*text = manifest_keep(reading->record, (char *)copy.data);
	return true;
}

static bool read_number(struct reading *reading, double *number) {
	bool good = is_number(reading);
	double value = json_read_if_number(reading->json);
	good = good && isfinite(value);
	if (good)
		*number = value;
	return good;
}

static bool read_count(struct reading *reading, uint64_t *count) {
	bool good = is_number(reading) && json_peek(reading->json) != '-';
	if (good)
		*count = json_read_uint(reading->json);
	else
		json_skip(reading->json);
	return good;
}

static bool read_integer(struct reading *reading, int64_t *integer) {
	bool good = is_number(reading);
	if (good)
		*integer = json_read_int(reading->json);
	else
		json_skip(reading->json);
	return good;
}

static bool read_flag(struct reading *reading, bool *flag) {
	char first = json_peek(reading->json);
	*flag = json_read_if_true(reading->json);
	return first == 't' || first == 'f';
}

// 2026-01-02T03:04:05Z, with a fraction or without.
static bool read_time(struct reading *reading, struct timespec *time) {
	CLEANUP_FREE char *text = json_read_if_text(reading->json);
	struct tm utc = {0};
	int end = 0;
	double fraction = 0;
	if (!text || sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &utc.tm_year, &utc.tm_mon, &utc.tm_mday,
			    &utc.tm_hour, &utc.tm_min, &utc.tm_sec, &end) != 6)
		return false;
	if (utc.tm_year < 1970 || utc.tm_year > 2999 || utc.tm_mon < 1 || utc.tm_mon > 12)
		return false; // not in any system's calendar
	utc.tm_year -= 1900;
	utc.tm_mon--;
	if (text[end] == '.')
		fraction = strtod(text + end, NULL);
	*time = (struct timespec){.tv_sec = system_utc_seconds(&utc)};
	if (fraction > 0 && fraction < 1)
		time->tv_nsec = MIN((long)(fraction * 1e3 + 0.5), 999) * 1000000;
	return true;
}

// ---- lists ----

static bool enter(struct reading *reading, char bracket) {
	if (json_peek(reading->json) == bracket)
		return json_enter(reading->json, bracket);
	json_skip(reading->json);
	return false;
}

static bool read_words(struct reading *reading, manifest_words *words) {
	const char *word;
	if (!enter(reading, '['))
		return false;
	while (json_item(reading->json))
		if (read_text(reading, &word))
			array_push(words, word);
	return true;
}

static bool read_counts(struct reading *reading, manifest_counts *counts) {
	struct json_piece key;
	if (!enter(reading, '{'))
		return false;
	while (json_member(reading->json, &key)) {
		struct manifest_count count = {0};
		if (!read_count(reading, &count.count))
			continue;
		char *name = json_key_text(&key);
		if (!name)
			continue;
		count.name = manifest_keep(reading->record, name);
		array_push(counts, count);
	}
	return true;
}

#define READ_LIST(list, table, item_type, wanted)                                                            \
	do {                                                                                                 \
		if (!enter(reading, '['))                                                                    \
			return false;                                                                        \
		while (json_item(reading->json)) {                                                           \
			struct item_type item = {0};                                                         \
			if (read_members(reading, &(table), &item) && (wanted))                              \
				array_push(list, item);                                                      \
		}                                                                                            \
		return true;                                                                                 \
	} while (0)

static bool read_artifacts(struct reading *reading, manifest_artifacts *list) {
	READ_LIST(list, manifest_artifact_table, manifest_artifact, item.path);
}

static bool read_deletions(struct reading *reading, manifest_deletions *list) {
	READ_LIST(list, manifest_deletion_table, manifest_deletion, item.path);
}

static bool read_crashes(struct reading *reading, manifest_crashes *list) {
	READ_LIST(list, manifest_crash_table, manifest_crash, true);
}

static bool read_cases(struct reading *reading, manifest_cases *list) {
	READ_LIST(list, manifest_case_table, manifest_case, item.name);
}

// ---- members ----

static void free_crashes(manifest_crashes *list) {
	for (size_t i = 0; i < list->count; i++)
		array_free(&list->items[i].stack);
	array_free(list);
}

// A member may come twice: the second one replaces the first.
static void clear_value(enum manifest_type type, void *value) {
	switch (type) {
	case MANIFEST_TEXT:
	case MANIFEST_JSON:
		*(const char **)value = NULL; // the record keeps it
		break;
	case MANIFEST_NUMBER:
		*(double *)value = 0;
		break;
	case MANIFEST_COUNT:
		*(uint64_t *)value = 0;
		break;
	case MANIFEST_INTEGER:
		*(int64_t *)value = 0;
		break;
	case MANIFEST_FLAG:
		*(bool *)value = false;
		break;
	case MANIFEST_TIME:
		*(struct timespec *)value = (struct timespec){0};
		break;
	case MANIFEST_WORDS:
		array_free((manifest_words *)value);
		break;
	case MANIFEST_COUNTS:
		array_free((manifest_counts *)value);
		break;
	case MANIFEST_ARTIFACTS:
		array_free((manifest_artifacts *)value);
		break;
	case MANIFEST_DELETIONS:
		array_free((manifest_deletions *)value);
		break;
	case MANIFEST_CRASHES:
		free_crashes(value);
		break;
	case MANIFEST_CASES:
		array_free((manifest_cases *)value);
		break;
	}
}

static bool read_value(struct reading *reading, enum manifest_type type, void *value) {
	switch (type) {
	case MANIFEST_TEXT:
		return read_text(reading, value);
	case MANIFEST_JSON:
		return read_json(reading, value);
	case MANIFEST_NUMBER:
		return read_number(reading, value);
	case MANIFEST_COUNT:
		return read_count(reading, value);
	case MANIFEST_INTEGER:
		return read_integer(reading, value);
	case MANIFEST_FLAG:
		return read_flag(reading, value);
	case MANIFEST_TIME:
		return read_time(reading, value);
	case MANIFEST_WORDS:
		return read_words(reading, value);
	case MANIFEST_COUNTS:
		return read_counts(reading, value);
	case MANIFEST_ARTIFACTS:
		return read_artifacts(reading, value);
	case MANIFEST_DELETIONS:
		return read_deletions(reading, value);
	case MANIFEST_CRASHES:
		return read_crashes(reading, value);
	case MANIFEST_CASES:
		return read_cases(reading, value);
	}
	return false;
}

// Members come in the order of the table, mostly: the search begins after the member that was found last.
static const struct manifest_member *find_member(const struct manifest_table *table, const char *object,
						 const struct json_piece *key, size_t *next) {
	for (size_t i = 0, at = *next; i < table->count; i++, at++) {
		const struct manifest_member *member = &table->members[at < table->count ? at : (at = 0)];
		if (member->key[0] != key->text[0] || !key->size)
			continue;
		bool here = object ? member->object && strcmp(member->object, object) == 0 : !member->object;
		if (here && json_is(key, member->key)) {
			*next = at + 1;
			return member;
		}
	}
	return NULL;
}

// The name of the object, as in the table; NULL if no member is inside such an object.
static const char *find_object(const struct manifest_table *table, const struct json_piece *key) {
	for (size_t i = 0; i < table->count; i++)
		if (table->members[i].object && json_is(key, table->members[i].object))
			return table->members[i].object;
	return NULL;
}

static void read_member(struct reading *reading, const struct manifest_member *member, void *owner) {
	uint8_t *there = (uint8_t *)owner + member->there;
	void *value = (char *)owner + member->value;
	bool null = json_peek(reading->json) == 'n';
	clear_value(member->type, value);
	bool good = !null && read_value(reading, member->type, value);
	if (null)
		json_skip(reading->json);
	*there = good ? MANIFEST_THERE : null ? MANIFEST_NULL : MANIFEST_ABSENT;
}

static void read_inside(struct reading *reading, const struct manifest_table *table, const char *object,
			void *owner) {
	struct json_piece key;
	size_t next = 0;
	if (!enter(reading, '{'))
		return;
	while (json_member(reading->json, &key)) {
		const struct manifest_member *member = find_member(table, object, &key, &next);
		if (member)
			read_member(reading, member, owner);
		else
			json_skip(reading->json);
	}
}

// False if this is not an object.
static bool read_members(struct reading *reading, const struct manifest_table *table, void *owner) {
	struct json_piece key;
	size_t next = 0;
	if (!enter(reading, '{'))
		return false;
	while (json_member(reading->json, &key)) {
		const struct manifest_member *member = find_member(table, NULL, &key, &next);
		const char *object = member ? NULL : find_object(table, &key);
		if (member)
			read_member(reading, member, owner);
		else if (object)
			read_inside(reading, table, object, owner);
		else
			json_skip(reading->json);
	}
	return true;
}

bool manifest_parse(const char *line, size_t size, struct manifest_record *record) {
	struct json_reader json = json_from(line, size);
	struct reading reading = {.json = &json, .record = record};
	*record = (struct manifest_record){0};
	bool good = read_members(&reading, &manifest_record_table, record) && !json.failed &&
		    !json_peek(&json) && (record->test || record->there.deleted == MANIFEST_THERE);
	if (!good)
		manifest_record_free(record);
	return good;
}
