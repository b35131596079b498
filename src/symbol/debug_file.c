#include "symbol/debug_file.h"

#include "base/file.h"
#include "base/memory.h"
#include "symbol/section.h"

#include <fcntl.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

// ---- where they may be ----

enum { MOST_PATHS = 9, LONGEST_NAME = 250 };

struct paths {
	char *items[MOST_PATHS];
	unsigned count;
};

// The cache directory of debuginfod's client; the caller frees it.
static char *fetched_folder(void) {
	const char *own = getenv("DEBUGINFOD_CACHE_PATH"), *cache = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");
	if (own && *own)
		return memory_string(own);
	if (cache && *cache)
		return memory_format("%s/debuginfod_client", cache);
	return memory_format("%s/.cache/debuginfod_client", home ? home : "");
}

static char *own_folder;

void debug_files_in(const char *folder) {
	free(own_folder);
	own_folder = folder ? memory_string(folder) : NULL;
}

// The build id becomes part of a path, and is not trusted.
static bool is_build_id(const char *text) {
	size_t length = strlen(text);
	return length >= 4 && length < BUILD_ID_TEXT && strspn(text, "0123456789abcdef") == length;
}

static void list_by_build_id(const char *build_id, bool program, struct paths *paths) {
	const char *home = getenv("HOME");
	if (!is_build_id(build_id))
		return;
	CLEANUP_FREE char *fetched = fetched_folder();
	CLEANUP_FREE char *by_id = memory_format(".build-id/%.2s/%s", build_id, build_id + 2);
	CLEANUP_FREE char *own = memory_format("%s/.debug/%s", home ? home : "", by_id);
	char *all[] = {
		memory_format("%s/elf", own),
		memory_format("/usr/lib/debug/%s", by_id),
		memory_format("%s/%s/executable", fetched, build_id),
		memory_format("%s/debug", own),
		memory_format("/usr/lib/debug/%s.debug", by_id),
		memory_format("%s/%s/debuginfo", fetched, build_id),
	};
	enum { PROGRAMS = 3 }; // the first three; perf keeps unstripped files there, too
	for (; paths->count < ARRAY_SIZE(all); paths->count++)
		paths->items[paths->count] = all[(paths->count + (program ? 0 : PROGRAMS)) % ARRAY_SIZE(all)];
	if (!own_folder)
		return;
	static const char *const files[] = {"/elf", "/debug", ""}; // older versions of perf link to the file
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		paths->items[paths->count++] = memory_format("%s/%s%s", own_folder, by_id, files[i]);
}

int debug_file_kernel(const char *build_id) {
	const char *home = getenv("HOME");
	CLEANUP_FREE char *usual = memory_format("%s/.debug", home ? home : "");
	const char *folders[] = {own_folder, usual};
	int file = -1;
	for (size_t i = 0; i < ARRAY_SIZE(folders) && is_build_id(build_id) && file < 0; i++) {
		CLEANUP_FREE char *path = folders[i] ? memory_format("%s/.build-id/%.2s/%s/kallsyms",
								     folders[i], build_id, build_id + 2)
						     : NULL;
		file = path ? file_open_regular(path, O_RDONLY) : -1;
	}
	return file;
}

static void list_by_link(const char *name, const char *path, struct paths *paths) {
	// It becomes part of a path, and is not trusted.
	if (!*name || strchr(name, '/') || strlen(name) > NAME_MAX)
		return;
	// Packages use the real path; the given one may be a link to it.
	CLEANUP_FREE char *real = realpath(path, NULL);
	for (int i = 0; i < 2; i++) {
		const char *from = i ? real : path, *slash = from ? strrchr(from, '/') : NULL;
		if (!slash || (i && strcmp(real, path) == 0))
			continue;
		int folder = (int)(slash - from);
		paths->items[paths->count++] = memory_format("%.*s/%s", folder, from, name);
		paths->items[paths->count++] = memory_format("%.*s/.debug/%s", folder, from, name);
		paths->items[paths->count++] = memory_format("/usr/lib/debug%.*s/%s", folder, from, name);
	}
}

// Packages have it in one folder, wherever their debug files are.
static void list_shared(const char *name, struct paths *paths) {
	if (*name && !strstr(name, "..") && strlen(name) < LONGEST_NAME)
		paths->items[paths->count++] = memory_format("/usr/lib/debug/.dwz/%s", name);
}

int debug_file_candidate(const struct debug_wanted *wanted, unsigned *index) {
	struct paths paths = {.count = 0};
	int file = -1;
	if (wanted->kind == DEBUG_BY_LINK)
		list_by_link(wanted->text, wanted->path, &paths);
	else if (wanted->kind == DEBUG_SHARED)
		list_shared(wanted->text, &paths);
	else
		list_by_build_id(wanted->text, wanted->kind == DEBUG_PROGRAM, &paths);
	while (file < 0 && *index < paths.count) {
		const char *path = paths.items[(*index)++];
		file = section_folder() ? section_open_recorded(path) : -1;
		file = file < 0 ? section_open_file(path) : file;
	}
	for (unsigned i = 0; i < paths.count; i++)
		free(paths.items[i]);
	return MAX(file, -1);
}

static debug_file_opener *open_candidate = debug_file_candidate;

void debug_files_open_by(debug_file_opener *opener) {
	open_candidate = opener;
}

// ---- which one it is ----

static Elf *find_with_build_id(const struct debug_wanted *wanted, const char *build_id, int *file) {
	for (unsigned index = 0; (*file = open_candidate(wanted, &index)) >= 0;) {
		char found[BUILD_ID_TEXT] = "";
		Elf *elf = section_elf_of(file);
		if (elf)
			section_build_id(elf, found);
		if (elf && strcmp(found, build_id) == 0)
			return elf;
		section_close_elf(elf, *file);
	}
	return NULL;
}

Elf *debug_file_by_build_id(const char *build_id, bool program, int *file) {
	const struct debug_wanted wanted = {.kind = program ? DEBUG_PROGRAM : DEBUG_BY_BUILD_ID,
					    .text = build_id};
	return find_with_build_id(&wanted, build_id, file);
}

Elf *debug_file_shared(const char *name, const char *build_id, int *file) {
	static const char folder[] = "/.dwz/";
	const char *below = strstr(name, folder);
	const struct debug_wanted wanted = {.kind = DEBUG_SHARED,
					    .text = below ? below + strlen(folder) : ""};
	Elf *elf = debug_file_by_build_id(build_id, false, file);
	return elf ? elf : find_with_build_id(&wanted, build_id, file);
}

static bool checksum_is(int file, uint32_t wanted) {
	enum { PIECE = 1 << 16 };
	CLEANUP_FREE uint8_t *bytes = memory_alloc(PIECE);
	uLong sum = crc32(0, NULL, 0);
	ssize_t got;
	for (off_t at = 0; (got = pread(file, bytes, PIECE, at)) > 0; at += got)
		sum = crc32(sum, bytes, (uInt)got);
	return got == 0 && sum == wanted;
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
	const struct debug_wanted wanted = {
		.kind = DEBUG_BY_LINK, .text = read_link(elf, &checksum), .path = path};
	*file = -1;
	for (unsigned index = 0; wanted.text && (*file = open_candidate(&wanted, &index)) >= 0;) {
		Elf *found = section_elf_of(file);
		if (found && checksum_is(*file, checksum))
			return found;
		section_close_elf(found, *file);
	}
	return NULL;
}

// ---- inside the file ----

// Memory grows with the output, up to a limit that no symbol table reaches.
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
