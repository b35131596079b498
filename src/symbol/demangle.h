// Demangles names of C++, Rust (legacy and v0) and D with libiberty.
#pragma once

#include <stdbool.h>

bool demangle_looks_mangled(const char *name); // fast
char *demangle(const char *name);              // the caller frees it; NULL if the name is not mangled
