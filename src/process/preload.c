#include "process/preload.h"

#include <limits.h>
#include <unistd.h>

// Next to the program in a build directory, else where it is installed.
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

static const char *const variables[] = {"LD_PRELOAD", "ASAN_OPTIONS"};

// The values of the variables.
static void make_values(const char *path, char *values[ARRAY_SIZE(variables)]) {
	const char *already = getenv(variables[0]), *sanitizer = getenv(variables[1]);
	values[0] = memory_format("%s%s%s", path, already && *already ? ":" : "", already ? already : "");
	// AddressSanitizer must accept that a library is loaded before it.
	values[1] = memory_format("%s%sverify_asan_link_order=0", sanitizer ? sanitizer : "",
				  sanitizer && *sanitizer ? ":" : "");
}

void preload_words(const char *library, struct words *words) {
	CLEANUP_FREE char *path = find_library(library);
	char *values[ARRAY_SIZE(variables)];
	make_values(path, values);
	words_add(words, "env");
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		words_add(words, "%s=%s", variables[i], values[i]);
		free(values[i]);
	}
}

bool preload_begin(struct preload *preload, const char *library) {
	CLEANUP_FREE char *path = find_library(library);
	char *values[ARRAY_SIZE(variables)];
	*preload = (struct preload){0};
	if (access(path, R_OK) != 0)
		return false;
	make_values(path, values);
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		const char *before = getenv(variables[i]);
		preload->before[i] = before ? memory_string(before) : NULL;
		setenv(variables[i], values[i], 1);
		free(values[i]);
	}
	preload->begun = true;
	return true;
}

void preload_end(struct preload *preload) {
	for (size_t i = 0; preload->begun && i < ARRAY_SIZE(variables); i++) {
		if (preload->before[i])
			setenv(variables[i], preload->before[i], 1);
		else
			unsetenv(variables[i]);
		free(preload->before[i]);
	}
	*preload = (struct preload){0};
}
