#include "format/manifest_record.h"
#include "format/manifest_members.h"
#include "format/manifest_status.h"

#define ROW(owner, type, name)                                                                               \
	{NULL, #name, MANIFEST_##type, offsetof(struct owner, name), offsetof(struct owner, there.name)},
#define RECORD_ROW(type, name)   ROW(manifest_record, type, name)
#define ARTIFACT_ROW(type, name) ROW(manifest_artifact, type, name)
#define DELETION_ROW(type, name) ROW(manifest_deletion, type, name)
#define CRASH_ROW(type, name)    ROW(manifest_crash, type, name)
#define CASE_ROW(type, name)     ROW(manifest_case, type, name)
#define INSIDE_ROW(type, outer, name)                                                                        \
	{#outer, #name, MANIFEST_##type, offsetof(struct manifest_record, outer##_##name),                   \
	 offsetof(struct manifest_record, there.outer##_##name)},

static const struct manifest_member record_members[] = {MANIFEST_RECORD(RECORD_ROW, INSIDE_ROW)};
static const struct manifest_member artifact_members[] = {MANIFEST_ARTIFACT(ARTIFACT_ROW)};
static const struct manifest_member deletion_members[] = {MANIFEST_DELETION(DELETION_ROW)};
static const struct manifest_member crash_members[] = {MANIFEST_CRASH(CRASH_ROW)};
static const struct manifest_member case_members[] = {MANIFEST_CASE(CASE_ROW)};

#define TABLE(members)                                                                                       \
	{ members, ARRAY_SIZE(members) }
const struct manifest_table manifest_record_table = TABLE(record_members);
const struct manifest_table manifest_artifact_table = TABLE(artifact_members);
const struct manifest_table manifest_deletion_table = TABLE(deletion_members);
const struct manifest_table manifest_crash_table = TABLE(crash_members);
const struct manifest_table manifest_case_table = TABLE(case_members);

#define STATUS_NAME(name, word) word,
const char *const manifest_status_names[ENDED_COUNT] = {MANIFEST_STATUSES(STATUS_NAME)};

const char *manifest_known_status(const char *status) {
	for (size_t i = 0; status && i < ENDED_COUNT; i++)
		if (strcmp(status, manifest_status_names[i]) == 0)
			return manifest_status_names[i];
	return NULL;
}

const char *manifest_keep(struct manifest_record *record, char *text) {
	array_push(&record->kept, text);
	return text;
}

void manifest_put_word(struct manifest_record *record, const char *word) {
	record->there.command = MANIFEST_THERE;
	array_push(&record->command, word);
}

struct manifest_artifact *manifest_put_artifact(struct manifest_record *record, const char *kind,
						const char *path, uint64_t size, const char *sha256) {
	struct manifest_artifact artifact = {0};
	MANIFEST_PUT(&artifact, kind, kind);
	MANIFEST_PUT(&artifact, path, path);
	MANIFEST_PUT(&artifact, size, size);
	if (sha256 && *sha256)
		MANIFEST_PUT(&artifact, sha256, sha256);
	record->there.artifacts = MANIFEST_THERE;
	array_push(&record->artifacts, artifact);
	return &record->artifacts.items[record->artifacts.count - 1];
}

void manifest_record_free(struct manifest_record *record) {
	for (size_t i = 0; i < record->crashes.count; i++)
		array_free(&record->crashes.items[i].stack);
	for (size_t i = 0; i < record->kept.count; i++)
		free(record->kept.items[i]);
	array_free(&record->kept);
	array_free(&record->command);
	array_free(&record->outlived);
	array_free(&record->artifacts);
	array_free(&record->metrics);
	array_free(&record->lost);
	array_free(&record->crashes);
	array_free(&record->cases);
	array_free(&record->deleted);
	*record = (struct manifest_record){0};
}
