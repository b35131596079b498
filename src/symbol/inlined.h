// Which functions were inlined at an address and where functions are declared, from a file's DWARF.
#pragma once

#include "symbol/elf.h"

struct inlined_table;

enum { DEEPEST_INLINED = 60 }; // at one address; more are left out

// NULL: the file has no debug information.
struct inlined_table *inlined_table_new(struct elf_object *object);
void inlined_table_free(struct inlined_table *table);

// The names of the functions inlined at an address, innermost first; at most `room`. They live as
// long as the table, and are as the compiler has them: mangled where the language does that.
size_t inlined_at(struct inlined_table *table, uint64_t address, const char **names, size_t room);

// Where the functions stand in the source: those that inlined_at() names, in the same order, then the
// one they are inlined in; at most `room`, which is at least one. 0: nothing is known. For a program's
// parts of 4 million lines and more it is left out, because of the memory.
struct declaration {
	const char *file; // its path; NULL: not known. Lives as long as the table.
	uint32_t line;    // of the name in the declaration
};
size_t declarations_at(struct inlined_table *table, uint64_t address, struct declaration *found, size_t room);

// The file (without folders) and line of an address. False: not known.
bool line_at(struct inlined_table *table, uint64_t address, const char **file, int *line);
