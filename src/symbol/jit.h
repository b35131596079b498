// Names of JIT-compiled code, from the files that the compiler writes: /tmp/perf-PID.map (lines of
// text), or jit-PID.dump, which also contains the code and where it was moved. If several functions
// were at one address one after the other, the last one counts.
#pragma once

#include "symbol/elf.h"

bool jit_is_file(const char *path);
// A descriptor; negative if there is no such file, or it belongs to another user.
int jit_find_file(const char *path);
// Symbols by address of the process; NULL if the file is invalid. Closes the descriptor, which may be
// negative.
struct elf_object *jit_open_file(int file);
// The same from a file's content.
struct elf_object *jit_parse(const void *bytes, size_t size);
