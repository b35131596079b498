// libiberty tells C++ and Rust apart itself; D has a separate function. It limits its recursion, but not its
// result: parts of a name may refer to other parts, so 300 bytes can expand to a gigabyte. So the result is
// taken in pieces and dropped when it gets too long; for D, whose result comes in one piece, its size is
// estimated first.
#include "symbol/demangle.h"

#include "base/buffer.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_MANGLED = 4096, LONGEST = 1 << 16 };

static bool is_d(const char *name) {
	return name[1] == 'D' && ((name[2] >= '0' && name[2] <= '9') || strcmp(name + 2, "main") == 0);
}

bool demangle_looks_mangled(const char *name) {
	if (name[0] != '_')
		return false;
	bool rust = name[1] == 'R' && (name[2] == 'N' || name[2] == 'I' || name[2] == 'C' || name[2] == 'M' ||
				       name[2] == 'X' || name[2] == 'Y');
	bool apple = name[1] == '_' && name[2] == 'Z';
	return (name[1] == 'Z' && name[2]) || apple || rust || is_d(name);
}

// ---- C++ and Rust ----

struct result {
	struct buffer text;
	bool known; // it was a mangled name
	jmp_buf too_long;
};

static void take(const char *text, size_t size, void *context) {
	struct result *result = context;
	// libiberty cannot be stopped by a return value here, and holds no heap memory that would
	// leak.
	if (result->text.size + size > LONGEST)
		longjmp(result->too_long, 1);
	buffer_append(&result->text, text, size);
}

static char *demangle_in_pieces(const char *name) {
	struct result result = {0};
	if (setjmp(result.too_long) == 0)
		result.known = rust_demangle_callback(name, DMGL_NO_OPTS, take, &result) ||
			       cplus_demangle_v3_callback(name, DMGL_NO_OPTS, take, &result);
	if (result.known && result.text.size) {
		buffer_append(&result.text, "", 1);
		return (char *)result.text.data;
	}
	buffer_free(&result.text);
	return NULL;
}

// ---- D ----

// Whether a name would be too long once each reference to an earlier part of it is replaced by
// everything from there on. A reference is "Q" and the distance back in base 26; the last digit is
// a lower-case letter.
static bool would_be_long(const char *name, size_t size) {
	CLEANUP_FREE uint64_t *length = memory_alloc((size + 1) * sizeof(*length)); // up to each letter
	for (size_t i = 0; i < size; i++) {
		uint64_t own = 1, back = 0;
		size_t at = i + 1;
		for (; name[i] == 'Q' && name[at] >= 'A' && name[at] <= 'Z' && back < size; at++)
			back = back * 26 + (uint64_t)(name[at] - 'A');
		if (name[i] == 'Q' && name[at] >= 'a' && name[at] <= 'z') {
			back = back * 26 + (uint64_t)(name[at] - 'a');
			own = back <= i ? length[i] - length[i - back] : 1;
		}
		length[i + 1] = length[i] + own;
		if (length[i + 1] > LONGEST)
			return true;
	}
	return false;
}

// ---- both ----

char *demangle(const char *name) {
	if (!demangle_looks_mangled(name))
		return NULL;
	size_t size = strlen(name);
	if (size > LONGEST_MANGLED)
		return NULL;
	// A suffix from the linker or a compiler is not part of the name.
	const char *suffix = strchr(name, '@');
	suffix = suffix ? suffix : strstr(name, ".llvm.");
	suffix = suffix ? suffix : strstr(name, ".constprop.");
	suffix = suffix ? suffix : strstr(name, ".isra.");
	suffix = suffix ? suffix : strstr(name, ".part.");
	suffix = suffix ? suffix : strstr(name, ".cold");
	char *bare = strndup(name, suffix ? (size_t)(suffix - name) : size);
	if (!bare)
		return NULL;
	char *result = NULL;
	if (!is_d(name))
		result = demangle_in_pieces(bare + (bare[1] == '_'));
	else if (!would_be_long(bare, strlen(bare)))
		result = dlang_demangle(bare, DMGL_NO_OPTS);
	free(bare);
	return result;
}
