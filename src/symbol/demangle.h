// Names as programmers wrote them: C++, Rust (legacy and v0) and D, with libiberty's demanglers.
#pragma once

#include <stdbool.h>

bool demangle_looks_mangled(const char *name); // quick
char *demangle(const char *name);              // to be freed; NULL: the name is none of these
