// Which functions were inlined at an address, from a file's DWARF.
#pragma once

#include "symbol/elf.h"

struct inlined_table;

// NULL: the file has no debug information.
struct inlined_table *inlined_table_new(struct elf_object *object);
void inlined_table_free(struct inlined_table *table);

// The names of the functions inlined at an address, innermost first; at most `room`. They live as
// long as the table, and are as the compiler has them: mangled where the language does that.
size_t inlined_at(struct inlined_table *table, uint64_t address, const char **names, size_t room);

// The file (without folders) and line of an address. False: not known.
bool line_at(struct inlined_table *table, uint64_t address, const char **file, int *line);
