// Reads the manifest from its beginning: a session's line adds its artifacts, a line about
// deletions removes them again. The rest is compared with the directory.
//
// A manifest of 200,000 lines takes a second, which is too much for each run. So a look at the directory
// comes first: if its files are few and new enough, nothing can have to go. Files may look newer than their
// sessions, as after a copy; so once a day the manifest is read anyway.
#include "artifact/retention.h"
#include "artifact/artifact.h"
#include "artifact/manifest.h"
#include "base/file.h"
#include "base/map.h"
#include "base/system.h"
#include "event/strings.h"

#include <errno.h>
#include <stdio.h>

struct artifact {
	uint32_t name, path, kind; // strings; the name is that in the folder
	uint32_t session;          // index
	uint64_t size;
	char sha256[65];
	bool there;
};

struct session {
	uint32_t test; // string
	time_t ended;
	bool passed;
	uint64_t size;   // of its artifacts that are there
	const char *why; // it is deleted; NULL if it stays
};

struct folder {
	const char *dir;
	int manifest;
	struct strings *strings;
	ARRAY(struct session) sessions;
	ARRAY(struct artifact) artifacts;
	struct map by_name; // string → index + 1 of the artifact that has the name now; 0 if deleted
	uint64_t total;
};

// ---- the manifest ----

static void take_artifact(struct folder *folder, const struct manifest_artifact *noted) {
	const char *name = manifest_artifact_name(noted->path);
	if (!name)
		return;
	struct artifact artifact = {.name = strings_add(folder->strings, name),
				    .path = strings_add(folder->strings, noted->path),
				    .kind = strings_add(folder->strings, noted->kind ? noted->kind : ""),
				    .session = (uint32_t)folder->sessions.count - 1,
				    .size = noted->size};
	snprintf(artifact.sha256, sizeof(artifact.sha256), "%s", noted->sha256 ? noted->sha256 : "");
	array_push(&folder->artifacts, artifact);
	*map_put(&folder->by_name, artifact.name) = folder->artifacts.count;
}

static void take_session(struct folder *folder, const struct manifest_record *record) {
	bool skipped = record->result && strcmp(record->result, "skipped") == 0;
	struct session session = {.passed = manifest_passed(record) || skipped};
	if (!record->test || record->there.artifacts != MANIFEST_THERE ||
	    !manifest_ended(record, &session.ended))
		return;
	session.test = strings_add(folder->strings, record->test);
	array_push(&folder->sessions, session);
	for (size_t i = 0; i < record->artifacts.count; i++)
		take_artifact(folder, &record->artifacts.items[i]);
}

static void take_record(void *context, const struct manifest_record *record) {
	struct folder *folder = context;
	if (record->there.deleted != MANIFEST_THERE)
		take_session(folder, record);
	for (size_t i = 0; i < record->deleted.count; i++) {
		const char *name = manifest_artifact_name(record->deleted.items[i].path);
		if (name)
			*map_put(&folder->by_name, strings_add(folder->strings, name)) = 0;
	}
}

// ---- the folder ----

static char *path_of(const struct folder *folder, const struct artifact *artifact) {
	return memory_format("%s/%s", folder->dir, strings_get(folder->strings, artifact->name));
}

// Is it what we wrote? Links are not followed.
static bool is_there(const struct folder *folder, const struct artifact *artifact) {
	struct stat status;
	CLEANUP_FREE char *path = path_of(folder, artifact);
	return system_link_stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	       (uint64_t)status.st_size == artifact->size;
}

static void look_at_folder(struct folder *folder) {
	for (size_t i = 0; i < folder->artifacts.count; i++) {
		struct artifact *artifact = &folder->artifacts.items[i];
		const uint64_t *latest = map_get(&folder->by_name, artifact->name);
		artifact->there = latest && *latest == i + 1 && is_there(folder, artifact);
		if (artifact->there) {
			folder->sessions.items[artifact->session].size += artifact->size;
			folder->total += artifact->size;
		}
	}
}

// A file without a checksum in the manifest may not be ours.
static bool same_content(const struct folder *folder, const struct artifact *artifact) {
	enum { MOST = 256 << 20 }; // for a larger one (a core) the size has to do
	char digits[65];
	CLEANUP_FREE char *path = path_of(folder, artifact);
	return *artifact->sha256 && (artifact->size > MOST || (artifact_sha256(path, digits) == 0 &&
							       strcmp(digits, artifact->sha256) == 0));
}

// ---- the choice ----

static const struct folder *sorted; // qsort() has no context

static int compare(const void *left, const void *right) {
	const struct session *a = &sorted->sessions.items[*(const uint32_t *)left];
	const struct session *b = &sorted->sessions.items[*(const uint32_t *)right];
	if (a->passed != b->passed)
		return a->passed ? -1 : 1;
	if (a->ended != b->ended)
		return a->ended < b->ended ? -1 : 1;
	return a < b ? -1 : 1; // as they came
}

static void choose(struct folder *folder, const struct retention *retention) {
	size_t count = folder->sessions.count;
	uint32_t *order = memory_alloc((count + 1) * sizeof(*order));
	uint64_t total = folder->total;
	for (uint32_t i = 0; i < count; i++) {
		struct session *session = &folder->sessions.items[i];
		order[i] = i;
		if (retention->max_age > 0 && session->size &&
		    (double)(retention->now - session->ended) > retention->max_age) {
			session->why = "max-age";
			total -= session->size;
		}
	}
	sorted = folder;
	qsort(order, count, sizeof(*order), compare);
	for (size_t i = 0; i < count && retention->max_total_size && total > retention->max_total_size; i++) {
		struct session *session = &folder->sessions.items[order[i]];
		if (session->why || !session->size)
			continue;
		session->why = "max-total-size";
		total -= session->size;
	}
	free(order);
}

// ---- deleting ----

static void put_deletion(struct manifest_record *record, const struct folder *folder,
			 const struct artifact *artifact) {
	struct manifest_deletion deletion = {0};
	const struct session *session = &folder->sessions.items[artifact->session];
	MANIFEST_PUT(&deletion, test, strings_get(folder->strings, session->test));
	MANIFEST_PUT(&deletion, kind, strings_get(folder->strings, artifact->kind));
	MANIFEST_PUT(&deletion, path, strings_get(folder->strings, artifact->path));
	MANIFEST_PUT(&deletion, size, artifact->size);
	record->there.deleted = MANIFEST_THERE;
	array_push(&record->deleted, deletion);
}

// All that go for the same reason, in one line of the manifest. The line is written even if
// some could not be deleted: it names those that were.
static int delete_for(struct folder *folder, const char *why, time_t now, int *error) {
	struct manifest_record record = {0};
	char when[32];
	struct tm utc;
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	MANIFEST_PUT(&record, why, why);
	MANIFEST_PUT(&record, when, when);
	for (size_t i = 0; i < folder->artifacts.count; i++) {
		const struct artifact *artifact = &folder->artifacts.items[i];
		const char *reason = folder->sessions.items[artifact->session].why;
		if (!artifact->there || !reason || strcmp(reason, why) != 0 ||
		    !same_content(folder, artifact))
			continue;
		CLEANUP_FREE char *path = path_of(folder, artifact);
		if (system_unlink(path)) {
			*error = -errno;
			continue;
		}
		put_deletion(&record, folder, artifact);
	}
	int count = (int)record.deleted.count;
	int written = count ? manifest_note_locked(folder->manifest, &record) : 0;
	if (written)
		*error = written;
	manifest_record_free(&record);
	return count;
}

// ---- whether to look at all ----

#define STAMP ".tracelet-limits" // written when the manifest was read

struct overview {
	const char *dir;
	uint64_t total;
	time_t oldest;
};

static void take_file(void *context, const char *name) {
	struct overview *overview = context;
	struct stat status;
	CLEANUP_FREE char *path = memory_format("%s/%s", overview->dir, name);
	if (*name == '.' || strncmp(name, "manifest.jsonl", strlen("manifest.jsonl")) == 0 ||
	    strncmp(name, "history.db", strlen("history.db")) == 0 || system_link_stat(path, &status) ||
	    !S_ISREG(status.st_mode))
		return;
	overview->total += (uint64_t)status.st_size;
	overview->oldest = MIN(overview->oldest, status.st_mtime);
}

static bool has_room(const char *dir, const struct retention *retention) {
	enum { DAY = 86400 };
	CLEANUP_FREE char *stamp = memory_format("%s/" STAMP, dir);
	struct overview overview = {.dir = dir, .oldest = retention->now};
	struct stat status;
	if (system_link_stat(stamp, &status) || status.st_mtime > retention->now ||
	    retention->now - status.st_mtime > DAY || system_list(dir, take_file, &overview))
		return false;
	return (!retention->max_total_size || overview.total <= retention->max_total_size) &&
	       (retention->max_age <= 0 || (double)(retention->now - overview.oldest) <= retention->max_age);
}

static void set_stamp(const char *dir) {
	CLEANUP_FREE char *path = memory_format("%s/" STAMP, dir);
	system_unlink(path);
	int fd = file_create_private(path, O_WRONLY | O_EXCL | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0)
		close(fd);
}

static int apply(const char *dir, const struct retention *retention) {
	if (has_room(dir, retention))
		return 0;
	struct folder folder = {.dir = dir, .manifest = manifest_lock(dir)};
	folder.strings = strings_new();
	int error = folder.manifest < 0 ? folder.manifest : manifest_walk(dir, take_record, &folder);
	int count = 0;
	if (!error) {
		look_at_folder(&folder);
		choose(&folder, retention);
		count = delete_for(&folder, "max-age", retention->now, &error);
		count += delete_for(&folder, "max-total-size", retention->now, &error);
		set_stamp(dir);
	}
	if (folder.manifest >= 0)
		close(folder.manifest);
	strings_free(folder.strings);
	array_free(&folder.sessions);
	array_free(&folder.artifacts);
	map_free(&folder.by_name);
	return error ? error : count;
}

int retention_apply(const char *dir, const struct retention *retention) {
	int fd;
	CLEANUP_FREE char *pinned = system_pin_folder(dir, &fd);
	int result = apply(pinned, retention);
	if (fd >= 0)
		close(fd);
	return result;
}
