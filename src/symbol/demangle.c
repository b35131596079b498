// libiberty tells C++ and Rust apart by itself; D has a function of its own. It recurses over the name and
// has a limit for that; the length of names is limited here too, because the time
// and the result can grow much faster than a name does.
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_MANGLED = 4096 };

bool demangle_looks_mangled(const char *name) {
	if (name[0] != '_')
		return false;
	bool rust = name[1] == 'R' && (name[2] == 'N' || name[2] == 'I' || name[2] == 'C' || name[2] == 'M' ||
				       name[2] == 'X' || name[2] == 'Y');
	bool apple = name[1] == '_' && name[2] == 'Z';
	bool d = name[1] == 'D' && name[2] >= '0' && name[2] <= '9';
	return (name[1] == 'Z' && name[2]) || apple || rust || d;
}

char *demangle(const char *name) {
	if (!demangle_looks_mangled(name))
		return NULL;
	size_t size = strlen(name);
	if (size > LONGEST_MANGLED)
		return NULL;
	// What the linker or a compiler puts behind a name is not part of it.
	const char *suffix = strchr(name, '@');
	suffix = suffix ? suffix : strstr(name, ".llvm.");
	suffix = suffix ? suffix : strstr(name, ".constprop.");
	suffix = suffix ? suffix : strstr(name, ".isra.");
	suffix = suffix ? suffix : strstr(name, ".part.");
	suffix = suffix ? suffix : strstr(name, ".cold");
	char *bare = strndup(name, suffix ? (size_t)(suffix - name) : size);
	if (!bare)
		return NULL;
	char *result = name[1] == 'D' ? dlang_demangle(bare, DMGL_NO_OPTS)
				      : cplus_demangle(bare, DMGL_AUTO | DMGL_NO_OPTS);
	free(bare);
	return result;
}
