// The manifest is read from its beginning: a session's line adds its artifacts, a
// line of deletions takes them out again. What is left is compared with the folder.
#include "session/retention.h"
#include "base/file.h"
#include "base/json.h"
#include "base/map.h"
#include "base/system.h"
#include "event/strings.h"
#include "session/artifact.h"
#include "session/manifest.h"
#include "session/manifest_read.h"

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
	const char *why; // it goes; NULL: it stays
};

struct folder {
	const char *dir;
	int manifest;
	struct strings *strings;
	ARRAY(struct session) sessions;
	ARRAY(struct artifact) artifacts;
	struct map by_name; // string → index + 1 of the artifact that has the name now; 0: deleted
	uint64_t total;
};

// ---- the manifest ----

static void take_session(void *context, const struct manifest_session *session) {
	struct folder *folder = context;
	array_push(&folder->sessions, (struct session){.test = strings_add(folder->strings, session->test),
						       .ended = session->ended,
						       .passed = session->passed});
}

static void take_artifact(void *context, const struct manifest_artifact *noted) {
	struct folder *folder = context;
	struct artifact artifact = {.name = strings_add(folder->strings, noted->name),
				    .path = strings_add(folder->strings, noted->path),
				    .kind = strings_add(folder->strings, noted->kind),
				    .session = (uint32_t)folder->sessions.count - 1,
				    .size = noted->size};
	snprintf(artifact.sha256, sizeof(artifact.sha256), "%s", noted->sha256);
	array_push(&folder->artifacts, artifact);
	*map_put(&folder->by_name, artifact.name) = folder->artifacts.count;
}

static void take_deleted(void *context, const struct manifest_artifact *noted) {
	struct folder *folder = context;
	*map_put(&folder->by_name, strings_add(folder->strings, noted->name)) = 0;
}

static const struct manifest_reader reader = {
	.session = take_session, .artifact = take_artifact, .deleted = take_deleted};

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

static bool same_content(const struct folder *folder, const struct artifact *artifact) {
	enum { MOST = 256 << 20 }; // of a larger one (a core) the size has to do
	char digits[65];
	CLEANUP_FREE char *path = path_of(folder, artifact);
	return !*artifact->sha256 || artifact->size > MOST ||
	       (artifact_sha256(path, digits) == 0 && strcmp(digits, artifact->sha256) == 0);
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

static void json_deleted(struct json *json, const struct folder *folder, const struct artifact *artifact) {
	json_object(json, NULL);
	json_string(json, "test",
		    strings_get(folder->strings, folder->sessions.items[artifact->session].test));
	json_string(json, "kind", strings_get(folder->strings, artifact->kind));
	json_string(json, "path", strings_get(folder->strings, artifact->path));
	json_uint(json, "size", artifact->size);
	json_close_object(json);
}

// All that go for the same reason, in one line of the manifest. The line is written even if
// some could not be deleted: it names those that were.
static int delete_for(struct folder *folder, const char *why, time_t now, int *error) {
	struct buffer line = {0};
	struct json json = json_into(&line);
	char when[32];
	struct tm utc;
	int count = 0;
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	json_object(&json, NULL);
	json_array(&json, "deleted");
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
		json_deleted(&json, folder, artifact);
		count++;
	}
	json_close_array(&json);
	json_string(&json, "why", why);
	json_string(&json, "when", when);
	json_close_object(&json);
	buffer_append(&line, "\n", 1);
	int written = count ? manifest_append_locked(folder->manifest, &line) : 0;
	if (written)
		*error = written;
	buffer_free(&line);
	return count;
}

int retention_apply(const char *dir, const struct retention *retention) {
	struct folder folder = {.dir = dir, .manifest = manifest_lock(dir)};
	folder.strings = strings_new();
	int error = folder.manifest < 0 ? folder.manifest : manifest_read(dir, &reader, &folder);
	int count = 0;
	if (!error) {
		look_at_folder(&folder);
		choose(&folder, retention);
		count = delete_for(&folder, "max-age", retention->now, &error);
		count += delete_for(&folder, "max-total-size", retention->now, &error);
	}
	if (folder.manifest >= 0)
		close(folder.manifest);
	strings_free(folder.strings);
	array_free(&folder.sessions);
	array_free(&folder.artifacts);
	map_free(&folder.by_name);
	return error ? error : count;
}
