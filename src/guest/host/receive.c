#include "guest/host/receive.h"
#include "artifact/artifact.h"
#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(struct receiver *receiver, int error) {
	if (!receiver->error)
		log_error("%s: cannot be written: %s",
			  receiver->temporary ? receiver->temporary : receiver->folder, strerror(-error));
	receiver->error = receiver->error ? receiver->error : error;
	receiver->failed = true;
}

static void refuse(struct receiver *receiver, const char *what) {
	log_error("protocol violation by the guest (%s); ignoring it from now on", what);
	receiver->refused = receiver->failed = true;
}

// The name with a number before its extension, which still shows the kind of file.
static char *numbered(const char *path, size_t length, unsigned number, const char *end) {
	size_t stem = length;
	while (stem && path[stem - 1] != '.' && path[stem - 1] != '/')
		stem--;
	bool extension = stem > 1 && path[stem - 1] == '.' && path[stem - 2] != '/';
	stem = extension ? stem - 1 : length;
	if (!number)
		return memory_format("%.*s%s", (int)length, path, end);
	return memory_format("%.*s_%u%.*s%s", (int)stem, path, number, (int)(length - stem), path + stem,
			     end);
}

// Creates a file that was not there.
static int create(struct receiver *receiver, const char *safe) {
	int error = receiver->single ? 0 : artifact_make_dir(receiver->folder);
	CLEANUP_FREE char *path = receiver->single ? memory_string(receiver->single)
						   : memory_format("%s/%s", receiver->folder, safe);
	for (unsigned number = 0; !error && number < 1000; number++) {
		free(receiver->temporary);
		receiver->temporary = numbered(path, strlen(path), number, ".partial");
		int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
		receiver->fd = receiver->single ? open(receiver->temporary, flags, 0666)
						: file_create_private(receiver->temporary, flags);
		if (receiver->fd >= 0)
			return 0;
		error = errno == EEXIST || errno == ELOOP ? 0 : -errno;
	}
	return error ? error : -EEXIST;
}

void receiver_begin(struct receiver *receiver, const char *name, uint64_t size) {
	char safe[ARTIFACT_NAME_SIZE], text[32];
	receiver_cut(receiver); // a guest that begins a file before ending the last one
	free(receiver->name);
	receiver->name = memory_string(name);
	receiver->announced = size;
	receiver->size = 0;
	receiver->failed = false;
	receiver->open = true;
	receiver->fd = -1;
	receiver->is_manifest = !receiver->single && strcmp(name, "manifest.jsonl") == 0;
	if (size > receiver->most || receiver->total > receiver->most - size ||
	    receiver->files.count >= RECEIVED_FILES_MOST) {
		CLEANUP_FREE char *what = memory_format("more than --max-artifact-size allows (%s)",
							file_size_words(size, text));
		refuse(receiver, what);
		return;
	}
	if (receiver->is_manifest)
		return;
	if (receiver->single && strcmp(receiver->single, "-") == 0) {
		receiver->fd = dup(STDOUT_FILENO);
		return;
	}
	artifact_safe_name(name, safe);
	int error = receiver->folder || receiver->single ? create(receiver, safe) : -ENOENT;
	if (error == -EEXIST)
		refuse(receiver, "a thousand files with the same name");
	else if (error)
		fail(receiver, error);
}

void receiver_bytes(struct receiver *receiver, const uint8_t *bytes, size_t size) {
	if (!receiver->open || receiver->refused)
		return;
	receiver->total += size;
	if (receiver->total > receiver->most ||
	    (receiver->is_manifest && receiver->manifest.size + size > MANIFEST_MOST)) {
		refuse(receiver, "more than --max-artifact-size allows");
		return;
	}
	receiver->size += size;
	if (receiver->is_manifest) {
		buffer_append(&receiver->manifest, bytes, size);
		return;
	}
	int error = receiver->failed ? 0 : file_write_all(receiver->fd, bytes, size);
	if (error)
		fail(receiver, error);
}

// Gives it its name, or another one if that is now taken.
static char *settle(struct receiver *receiver) {
	size_t stem = strlen(receiver->temporary) - strlen(".partial");
	for (unsigned number = 0; number < 1000; number++) {
		char *path = receiver->single ? memory_string(receiver->single)
					      : numbered(receiver->temporary, stem, number, "");
		// A file that the user named is replaced, one that a guest named never.
		unsigned flags = receiver->single ? 0 : RENAME_NOREPLACE;
		if (renameat2(AT_FDCWD, receiver->temporary, AT_FDCWD, path, flags) == 0)
			return path;
		int error = -errno;
		free(path);
		if (error != -EEXIST) {
			fail(receiver, error);
			break;
		}
	}
	return NULL;
}

static void keep(struct receiver *receiver, char *path, bool partial) {
	array_push(&receiver->files,
		   (struct received){
			   .name = receiver->name, .path = path, .size = receiver->size, .partial = partial});
	receiver->name = NULL;
}

static void close_file(struct receiver *receiver, bool whole) {
	if (receiver->open && receiver->fd >= 0) {
		int error = close(receiver->fd) ? -errno : 0;
		if (error)
			fail(receiver, error);
		char *path = receiver->temporary && whole && !receiver->failed ? settle(receiver) : NULL;
		if (path)
			keep(receiver, path, false);
		else if (receiver->temporary)
			keep(receiver, memory_string(receiver->temporary), true);
	}
	free(receiver->temporary);
	receiver->temporary = NULL;
	receiver->fd = -1;
	receiver->open = false;
}

void receiver_end(struct receiver *receiver, uint64_t size, const char *why) {
	bool whole = size == receiver->size && !*why;
	if (receiver->open && *why)
		log_error("the guest could not read all of a file: %s", why);
	else if (receiver->open && !whole)
		log_error("a file from the guest is incomplete: %" PRIu64 " of %" PRIu64 " bytes arrived",
			  receiver->size, size);
	close_file(receiver, whole);
}

void receiver_cut(struct receiver *receiver) {
	if (!receiver->open)
		return;
	if (receiver->is_manifest)
		receiver->manifest.size = 0;
	close_file(receiver, false);
}

void receiver_discard(struct receiver *receiver) {
	if (receiver->open && receiver->temporary)
		unlink(receiver->temporary);
	if (receiver->open && receiver->fd >= 0)
		close(receiver->fd);
	free(receiver->temporary);
	receiver->temporary = NULL;
	receiver->open = false;
}

void receiver_free(struct receiver *receiver) {
	receiver_cut(receiver);
	for (size_t i = 0; i < receiver->files.count; i++) {
		free(receiver->files.items[i].name);
		free(receiver->files.items[i].path);
	}
	array_free(&receiver->files);
	buffer_free(&receiver->manifest);
	free(receiver->name);
	receiver->name = NULL;
}

const struct received *receiver_find(const struct receiver *receiver, const char *name) {
	for (size_t i = 0; i < receiver->files.count; i++)
		if (strcmp(receiver->files.items[i].name, name) == 0)
			return &receiver->files.items[i];
	return NULL;
}
