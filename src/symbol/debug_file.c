#include "symbol/debug_file.h"

#include "base/memory.h"
#include "symbol/section.h"

#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

// ---- by build id ----

static Elf *open_if_same(const char *path, const char *build_id, int *file) {
	char found[BUILD_ID_TEXT];
	Elf *elf = section_open_elf(path, file);
	if (!elf)
		return NULL;
	section_build_id(elf, found);
	if (strcmp(found, build_id) == 0)
		return elf;
	section_close_elf(elf, *file);
	*file = -1;
	return NULL;
}

// The folder where debuginfod's client keeps what it has fetched; to be freed.
static char *fetched_folder(void) {
	const char *own = getenv("DEBUGINFOD_CACHE_PATH"), *cache = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");
	if (own && *own)
		return memory_string(own);
	if (cache && *cache)
		return memory_format("%s/debuginfod_client", cache);
	return memory_format("%s/.cache/debuginfod_client", home ? home : "");
}

Elf *debug_file_by_build_id(const char *build_id, bool program, int *file) {
	const char *home = getenv("HOME");
	size_t length = strlen(build_id);
	// It is part of a path, and comes from anywhere.
	if (length < 4 || length >= BUILD_ID_TEXT || strspn(build_id, "0123456789abcdef") != length)
		return NULL;
	CLEANUP_FREE char *fetched = fetched_folder();
	CLEANUP_FREE char *by_id = memory_format(".build-id/%.2s/%s", build_id, build_id + 2);
	CLEANUP_FREE char *own = memory_format("%s/.debug/%s", home ? home : "", by_id);
	char *paths[] = {
		memory_format("%s/elf", own),
		memory_format("/usr/lib/debug/%s", by_id),
		memory_format("%s/%s/executable", fetched, build_id),
		memory_format("%s/debug", own),
		memory_format("/usr/lib/debug/%s.debug", by_id),
		memory_format("%s/%s/debuginfo", fetched, build_id),
	};
	enum { PROGRAMS = 3 }; // the first ones; perf keeps unstripped files there too
	Elf *elf = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(paths) && !elf; i++)
		elf = open_if_same(paths[(i + (program ? 0 : PROGRAMS)) % ARRAY_SIZE(paths)], build_id, file);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		free(paths[i]);
	return elf;
}

// ---- by name ----

static bool checksum_is(int file, uint32_t wanted) {
	enum { PIECE = 1 << 16 };
	CLEANUP_FREE uint8_t *bytes = memory_alloc(PIECE);
	uLong sum = crc32(0, NULL, 0);
	ssize_t got;
	for (off_t at = 0; (got = pread(file, bytes, PIECE, at)) > 0; at += got)
		sum = crc32(sum, bytes, (uInt)got);
	return got == 0 && sum == wanted;
}

static Elf *open_if_checked(const char *path, uint32_t checksum, int *file) {
	Elf *elf = section_open_elf(path, file);
	if (elf && checksum_is(*file, checksum))
		return elf;
	section_close_elf(elf, *file);
	*file = -1;
	return NULL;
}

// A name, zeros up to a multiple of four, and the checksum of the whole file.
static const char *read_link(Elf *elf, uint32_t *checksum) {
	size_t size;
	const uint8_t *link = section_content(elf, ".gnu_debuglink", PATH_MAX, &size);
	size_t length = link ? strnlen((const char *)link, size) : 0;
	size_t at = (length + 4) & ~(size_t)3;
	if (!length || at > size || size - at < sizeof(*checksum) || memchr(link, '/', length))
		return NULL;
	memcpy(checksum, link + at, sizeof(*checksum));
	return (const char *)link;
}

Elf *debug_file_by_link(Elf *elf, const char *path, int *file) {
	uint32_t checksum;
	const char *name = read_link(elf, &checksum);
	// The real path is what packages know; the given one may be a link to it.
	CLEANUP_FREE char *real = name ? realpath(path, NULL) : NULL;
	Elf *found = NULL;
	for (int i = 0; name && i < 2 && !found; i++) {
		const char *from = i ? real : path, *slash = from ? strrchr(from, '/') : NULL;
		if (!slash || (i && strcmp(real, path) == 0))
			continue;
		int folder = (int)(slash - from);
		char *paths[] = {
			memory_format("%.*s/%s", folder, from, name),
			memory_format("%.*s/.debug/%s", folder, from, name),
			memory_format("/usr/lib/debug%.*s/%s", folder, from, name),
		};
		for (size_t k = 0; k < ARRAY_SIZE(paths); k++) {
			if (!found)
				found = open_if_checked(paths[k], checksum, file);
			free(paths[k]);
		}
	}
	return found;
}

// ---- inside ----

// Memory grows with what there is, up to a limit that no table of symbols reaches.
static void *inflate_xz(const uint8_t *bytes, size_t size, size_t *inflated) {
	enum { FIRST = 1 << 16, MOST = 64 << 20, MOST_MEMORY = 128 << 20 };
	lzma_stream stream = LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&stream, MOST_MEMORY, 0) != LZMA_OK)
		return NULL;
	uint8_t *out = NULL;
	size_t room = 0;
	lzma_ret result = LZMA_OK;
	stream.next_in = bytes;
	stream.avail_in = size;
	while (result == LZMA_OK && room < MOST) {
		size_t used = stream.total_out;
		room = room ? room * 4 : FIRST;
		out = memory_resize(out, room);
		stream.next_out = out + used;
		stream.avail_out = room - used;
		result = lzma_code(&stream, LZMA_FINISH);
	}
	*inflated = stream.total_out;
	lzma_end(&stream);
	if (result == LZMA_STREAM_END && *inflated)
		return out;
	free(out);
	return NULL;
}

Elf *debug_file_inside(Elf *elf, void **memory) {
	enum { MOST_COMPRESSED = 64 << 20 };
	size_t size, inflated;
	const uint8_t *bytes = section_content(elf, ".gnu_debugdata", MOST_COMPRESSED, &size);
	*memory = bytes ? inflate_xz(bytes, size, &inflated) : NULL;
	Elf *inside = *memory ? elf_memory(*memory, inflated) : NULL;
	if (inside && elf_kind(inside) == ELF_K_ELF)
		return inside;
	if (inside)
		elf_end(inside);
	free(*memory);
	*memory = NULL;
	return NULL;
}
