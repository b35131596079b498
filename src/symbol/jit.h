// The names that JIT compilers leave in /tmp/perf-PID.map.
#pragma once

#include "symbol/elf.h"

bool jit_is_map(const char *path);
// Symbols by address of the process; NULL: there is no such file, or another user's.
struct elf_object *jit_map_open(const char *path);
