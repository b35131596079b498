// The names of code that a compiler makes while its program runs: what it tells in /tmp/perf-PID.map
// (lines of text), or in a jit-PID.dump, which has the code too and says where it was moved. Of several
// functions that were at one place one after the other, the last one is taken.
#pragma once

#include "symbol/elf.h"

bool jit_is_file(const char *path);
// Symbols by address of the process; NULL: there is no such file, it is another user's, or no such thing.
struct elf_object *jit_open(const char *path);
// The same of a file's content.
struct elf_object *jit_parse(const void *bytes, size_t size);
