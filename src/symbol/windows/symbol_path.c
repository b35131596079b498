#include "symbol/windows/symbol_path.h"

#include "base/array.h"
#include "base/file.h"
#include "base/memory.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { WAYS = 5, MOST_FOLDERS = 64 };

static char *chosen;

void symbol_path_set(const char *path) {
	free(chosen);
	chosen = path ? memory_string(path) : NULL;
}

// ---- folders ----

struct folders {
	ARRAY(char *) list;
};

static bool is_folder(const char *word, size_t length) {
	static const char *const others[] = {"srv", "symsrv", "symsrv.dll", "cache"};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strlen(others[i]) == length && strncasecmp(word, others[i], length) == 0)
			return false;
	return length && length < PATH_MAX && !memmem(word, length, "://", 3);
}

// The words between semicolons and asterisks that are folders.
static void take_folders(struct folders *folders, const char *path) {
	while (path && *path && folders->list.count < MOST_FOLDERS) {
		size_t length = strcspn(path, ";*");
		if (is_folder(path, length))
			array_push(&folders->list, memory_format("%.*s", (int)length, path));
		path += length + (path[length] != 0);
	}
}

// ---- names ----

// The name becomes part of a path, and is not trusted.
static char *file_name(const char *path) {
	const char *name = path ? path : "";
	for (const char *at = name; *at; at++)
		if (*at == '\\' || *at == '/')
			name = at + 1;
	bool proper = *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strlen(name) <= NAME_MAX;
	return proper ? memory_string(name) : NULL;
}

// "app.exe" has its symbols in "app.pdb", unless something else is known.
static char *symbols_name(const struct windows_image *image) {
	char *name = file_name(image->symbols);
	if (name)
		return name;
	CLEANUP_FREE char *own = file_name(image->name);
	const char *dot = own ? strrchr(own, '.') : NULL;
	return own ? memory_format("%.*s.pdb", (int)(dot ? dot - own : (ptrdiff_t)strlen(own)), own) : NULL;
}

static void change_letters(char *text, int (*change)(int)) {
	for (; *text; text++)
		*text = (char)change((unsigned char)*text);
}

// As symbol servers name folders: in capital letters, but for the size of a module.
static char *key_of(const struct windows_image *image, enum image_part part) {
	if (part == IMAGE_CODE)
		return memory_format("%08X%x", image->time, image->size);
	char *key = memory_string(image->id);
	change_letters(key, toupper);
	return key;
}

static char *way(unsigned number, const char *folder, const char *name, const char *key) {
	CLEANUP_FREE char *small = memory_string(name), *small_key = memory_string(key);
	change_letters(small, tolower);
	change_letters(small_key, tolower);
	switch (number) {
	case 0:
		return memory_format("%s/%s", folder, name);
	case 1:
		return memory_format("%s/%s/%s/%s", folder, name, key, name);
	case 2:
		return memory_format("%s/%s/%s/%s", folder, small, key, small);
	case 3:
		return memory_format("%s/%s/%s/%s", folder, small, small_key, small);
	default: // large stores have a folder for each two letters
		return memory_format("%s/%.2s/%s/%s/%s", folder, name, name, key, name);
	}
}

// ---- files ----

static int open_if(const char *path, enum image_part part) {
	const char *begin = part == IMAGE_SYMBOLS ? "Micr" : "MZ";
	char magic[4];
	int file = file_open_regular(path, O_RDONLY);
	if (file < 0 || (pread(file, magic, strlen(begin), 0) == (ssize_t)strlen(begin) &&
			 memcmp(magic, begin, strlen(begin)) == 0))
		return file;
	close(file);
	return -1;
}

int symbol_path_candidate(const struct windows_image *image, enum image_part part, unsigned *index) {
	struct folders folders = {0};
	CLEANUP_FREE char *name = part == IMAGE_SYMBOLS ? symbols_name(image) : file_name(image->name);
	CLEANUP_FREE char *key = key_of(image, part);
	int file = -1;
	take_folders(&folders, chosen);
	take_folders(&folders, getenv("_NT_SYMBOL_PATH"));
	while (name && file < 0 && *index < folders.list.count * WAYS) {
		CLEANUP_FREE char *path = way(*index % WAYS, folders.list.items[*index / WAYS], name, key);
		file = open_if(path, part);
		++*index;
	}
	for (size_t i = 0; i < folders.list.count; i++)
		free(folders.list.items[i]);
	array_free(&folders.list);
	return MAX(file, -1);
}
