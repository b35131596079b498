// The event manifests that users have: those named with --manifest, then all in their folder.
#include "base/log.h"
#include "base/system.h"
#include "read/etl/schema.h"
#include "read/reader.h"

static char *folder; // NULL if there is none

void reader_set_manifest_folder(const char *path) {
	free(folder);
	folder = path ? memory_string(path) : NULL;
}

struct names {
	ARRAY(char *) list;
};

static bool is_manifest(const char *name) {
	const char *dot = strrchr(name, '.');
	return dot && dot != name && (strcmp(dot, ".man") == 0 || strcmp(dot, ".xml") == 0);
}

static void take_name(void *context, const char *name) {
	struct names *names = context;
	if (is_manifest(name))
		array_push(&names->list, memory_string(name));
}

static int by_name(const void *a, const void *b) {
	return strcmp(*(char *const *)a, *(char *const *)b);
}

// A manifest that cannot be read is reported and costs nothing else: the user did not name it.
static void load_folder(struct etl_schemas *schemas) {
	struct names names = {0};
	system_list(folder, take_name, &names);
	if (names.list.count)
		qsort(names.list.items, names.list.count, sizeof(char *), by_name);
	for (size_t i = 0; i < names.list.count; i++) {
		CLEANUP_FREE char *path = memory_format("%s/%s", folder, names.list.items[i]);
		CLEANUP_FREE char *reason = NULL;
		if (etl_manifest_load(schemas, path, &reason))
			log_warning("%s: %s; ignoring it", path, reason);
		free(names.list.items[i]);
	}
	array_free(&names.list);
}

int etl_manifests_load(struct etl_schemas *schemas, const char *const *named) {
	for (; named && *named; named++) {
		CLEANUP_FREE char *reason = NULL;
		int error = etl_manifest_load(schemas, *named, &reason);
		if (error) {
			log_error("%s: %s", *named, reason);
			return error;
		}
	}
	if (folder)
		load_folder(schemas);
	return 0;
}
