// Objects in a folder, which may be shared over a network. A file appears under its name when it is complete.
#include "base/array.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "store/objects.h"
#include "store/place.h"

#include <errno.h>
#include <fcntl.h>

struct folder {
	struct objects objects;
	char *path;
};

static char *path_of(struct objects *objects, const char *key) {
	return memory_format("%s/%s", CONTAINER_OF(objects, struct folder, objects)->path, key);
}

static int failed(struct objects *objects, const char *key, int error) {
	snprintf(objects->failure, sizeof(objects->failure), "%.190s: %s", key, strerror(-error));
	return error;
}

static int folder_has(struct objects *objects, const char *key, uint64_t *size) {
	CLEANUP_FREE char *path = path_of(objects, key);
	struct stat status;
	if (lstat(path, &status))
		return errno == ENOENT || errno == ENOTDIR ? 0 : failed(objects, key, -errno);
	*size = (uint64_t)status.st_size;
	return S_ISREG(status.st_mode) ? 1 : failed(objects, key, -EINVAL);
}

static int make_folders(struct objects *objects, char *path) {
	char *begin = path + strlen(CONTAINER_OF(objects, struct folder, objects)->path) + 1;
	for (char *slash = begin; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		int made = file_make_private_dir(path);
		*slash = '/';
		if (made && errno != EEXIST)
			return -errno;
	}
	return 0;
}

static int copy_file(struct output *output, int fd, uint64_t size) {
	enum { PIECE = 1 << 18 };
	CLEANUP_FREE uint8_t *piece = memory_alloc(PIECE);
	for (uint64_t at = 0; at < size;) {
		ssize_t got = pread(fd, piece, (size_t)MIN(size - at, (uint64_t)PIECE), (off_t)at);
		if (got <= 0)
			return got < 0 ? -errno : -ESTALE; // it is shorter than it was
		int error = output_write(output, piece, (size_t)got);
		if (error)
			return error;
		at += (uint64_t)got;
	}
	return 0;
}

static int folder_put(struct objects *objects, const char *key, const void *bytes, int fd, uint64_t size,
		      const char *sha256) {
	CLEANUP_FREE char *path = path_of(objects, key);
	struct output output;
	int error = make_folders(objects, path);
	if (!error)
		error = output_open(&output, path, OUTPUT_CREATE);
	if (error)
		return error == -EEXIST ? 0 : failed(objects, key, error);
	error = bytes ? output_write(&output, bytes, (size_t)size) : copy_file(&output, fd, size);
	if (!error)
		error = output_commit(&output);
	output_abandon(&output);
	return error && error != -EEXIST ? failed(objects, key, error) : 0;
}

static int folder_get(struct objects *objects, const char *key, struct buffer *out, size_t most) {
	enum { PIECE = 1 << 18 };
	CLEANUP_FREE char *path = path_of(objects, key);
	int fd = file_open_regular(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t got = fd;
	if (fd < 0)
		return fd == -ENODATA ? 0 : failed(objects, key, fd);
	while ((got = read(fd, buffer_room(out, PIECE), PIECE)) > 0 && out->size + (size_t)got <= most)
		out->size += (size_t)got;
	int error = got < 0 ? -errno : got > 0 ? -EFBIG : 0;
	close(fd);
	return error ? failed(objects, key, error) : 0;
}

// ---- lists ----

typedef ARRAY(char *) name_array;

static void take_name(void *context, const char *name) {
	name_array *names = context;
	if (*name != '.')
		array_push(names, memory_string(name));
}

static int by_bytes(const void *a, const void *b) {
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct listing {
	struct objects *objects;
	void (*take)(void *context, const struct objects_entry *entry);
	void *context;
};

// `prefix` is "" or ends with a slash. Links are not followed: a circle of them would have no end.
static int list_folder(const struct listing *listing, const char *prefix, unsigned depth) {
	CLEANUP_FREE char *path = path_of(listing->objects, prefix);
	name_array names = {0};
	int error = 0;
	if (system_list(path, take_name, &names))
		error = errno == ENOENT ? 0 : failed(listing->objects, prefix, -errno);
	if (names.count)
		qsort(names.items, names.count, sizeof(*names.items), by_bytes);
	for (size_t i = 0; i < names.count; i++) {
		CLEANUP_FREE char *key = memory_format("%s%s", prefix, names.items[i]);
		CLEANUP_FREE char *file = path_of(listing->objects, key);
		CLEANUP_FREE char *below = memory_format("%s/", key);
		struct stat status;
		if (!error && lstat(file, &status) == 0) {
			struct objects_entry entry = {key, (uint64_t)status.st_size, status.st_mtime};
			if (S_ISREG(status.st_mode))
				listing->take(listing->context, &entry);
			else if (S_ISDIR(status.st_mode) && depth < 8)
				error = list_folder(listing, below, depth + 1);
		}
		free(names.items[i]);
	}
	array_free(&names);
	return error;
}

static int folder_list(struct objects *objects, const char *prefix,
		       void (*take)(void *context, const struct objects_entry *entry), void *context) {
	struct listing listing = {objects, take, context};
	return list_folder(&listing, prefix, 0);
}

// Once for many files: to wait for the disk after each of them takes longer than to write them all.
static int folder_settle(struct objects *objects) {
	int fd = open(CONTAINER_OF(objects, struct folder, objects)->path,
		      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error = fd < 0 || syncfs(fd) ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return error ? failed(objects, "folder", error) : 0;
}

static int folder_remove(struct objects *objects, const char *key) {
	CLEANUP_FREE char *path = path_of(objects, key);
	return unlink(path) == 0 || errno == ENOENT ? 0 : failed(objects, key, -errno);
}

static void folder_close(struct objects *objects) {
	free(CONTAINER_OF(objects, struct folder, objects)->path);
}

struct objects *objects_open_folder(const char *path) {
	static const struct objects_operations operations = {
		.has = folder_has,
		.put = folder_put,
		.get = folder_get,
		.list = folder_list,
		.settle = folder_settle,
		.remove = folder_remove,
		.close = folder_close,
	};
	if (file_make_private_dir(path) && errno != EEXIST) {
		log_error("%s: cannot make this folder for objects: %s", path, strerror(errno));
		return NULL;
	}
	struct folder *folder = memory_alloc(sizeof(*folder));
	folder->objects.operations = &operations;
	folder->path = memory_string(path);
	return &folder->objects;
}

// ---- any place ----

struct objects *objects_open(const char *text, struct http *http) {
	struct objects_place place;
	if (!objects_place_parse(&place, text))
		return NULL;
	struct objects *objects = place.folder ? objects_open_folder(place.folder)
					       : objects_open_s3(place.bucket, place.prefix, http);
	if (objects)
		objects->place = memory_string(text);
	objects_place_free(&place);
	return objects;
}

void objects_close(struct objects *objects) {
	if (!objects)
		return;
	objects->operations->close(objects);
	free(objects->place);
	free(objects);
}
