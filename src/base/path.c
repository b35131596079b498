#include "base/path.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "base/system.h"

#include <stdlib.h>
#include <string.h>

static bool is_separator(char letter) {
#ifdef _WIN32
	return letter == '/' || letter == '\\';
#else
	return letter == '/';
#endif
}

// Without "." and "..", by the text alone.
static char *normalized(const char *path) {
	struct buffer out = {0};
	while (*path) {
		size_t length = 0;
		while (path[length] && !is_separator(path[length]))
			length++;
		if (length == 2 && memcmp(path, "..", 2) == 0) {
			while (out.size && out.data[--out.size] != '/')
				;
		} else if (length && !(length == 1 && *path == '.')) {
			buffer_printf(&out, "/%.*s", (int)length, path);
		}
		path += length + (path[length] != 0);
	}
	buffer_append(&out, "", 1);
	return (char *)out.data;
}

// With links followed in the part of it that exists.
static char *resolved(const char *path) {
#ifndef _WIN32
	size_t length = strlen(path);
	while (length) {
		CLEANUP_FREE char *part = memory_format("%.*s", (int)length, path);
		CLEANUP_FREE char *real = realpath(part, NULL);
		if (real)
			return memory_format("%s%s", strcmp(real, "/") == 0 ? "" : real, path + length);
		while (length && path[--length] != '/')
			;
	}
#endif
	return memory_string(path);
}

static char *place_of(const char *path) {
	CLEANUP_FREE char *here = system_is_absolute(path) ? memory_string("") : system_folder();
	CLEANUP_FREE char *absolute = memory_format("%s/%s", here ? here : "", path);
	CLEANUP_FREE char *linked = resolved(absolute); // a link before ".." counts as the system has it
	CLEANUP_FREE char *plain = normalized(linked);
	return resolved(plain);
}

bool path_is_inside(const char *path, const char *folder) {
	CLEANUP_FREE char *inner = place_of(path), *outer = place_of(folder);
	size_t length = strlen(outer);
	return strncmp(inner, outer, length) == 0 && (!inner[length] || inner[length] == '/');
}
