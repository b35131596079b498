#include "session/preload.h"

#include <limits.h>
#include <unistd.h>

// Where it was built, beside the program, or else where it is installed.
static char *find_library(const char *library) {
	char program[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	program[MAX(length, 0)] = 0;
	char *slash = strrchr(program, '/');
	char *path = memory_format("%.*s/%s", slash ? (int)(slash - program) : 0, program, library);
	if (access(path, R_OK) == 0)
		return path;
	free(path);
	return memory_format("%s/%s", TRACELET_LIBRARY_DIR, library);
}

void preload_words(const char *library, struct words *words) {
	const char *already = getenv("LD_PRELOAD"), *sanitizer = getenv("ASAN_OPTIONS");
	CLEANUP_FREE char *path = find_library(library);
	words_add(words, "env");
	words_add(words, "LD_PRELOAD=%s%s%s", path, already && *already ? ":" : "", already ? already : "");
	// A program built with AddressSanitizer wants to be told that something comes before it.
	words_add(words, "ASAN_OPTIONS=%s%sverify_asan_link_order=0", sanitizer ? sanitizer : "",
		  sanitizer && *sanitizer ? ":" : "");
}
