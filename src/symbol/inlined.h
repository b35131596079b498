// Which functions were inlined at an address and where functions are declared, from a file's DWARF.
#pragma once

#include "symbol/elf.h"

struct inlined_table;

enum { DEEPEST_INLINED = 60 }; // at one address; deeper ones are left out

// NULL if the file has no debug information.
struct inlined_table *inlined_table_new(struct elf_object *object);
void inlined_table_free(struct inlined_table *table);

// The names of the functions inlined at an address, innermost first; at most `room`. Valid as long
// as the table, and as the compiler wrote them: possibly mangled.
size_t inlined_at(struct inlined_table *table, uint64_t address, const char **names, size_t room);

// The same; narrows `around` to addresses with the same answer.
size_t inlined_around(struct inlined_table *table, uint64_t address, const char **names, size_t room,
		      struct code_range *around);

struct source {
	const char *file; // its path; NULL if unknown. Lives as long as the table.
	uint32_t line;
};

// Where functions are declared: those that inlined_at() names, in the same order, then the one they
// are inlined in; at most `room`, which is at least one. Returns 0 if nothing is known. Left out
// once libdw holds 4 million lines, to limit memory.
size_t declarations_at(struct inlined_table *table, uint64_t address, struct source *found, size_t room);
size_t declarations_around(struct inlined_table *table, uint64_t address, struct source *found, size_t room,
			   struct code_range *around);

// The current line of each of these functions, in the same order: for the innermost the code at the
// address, for each other one the call of the one before it. More than one only if the function is
// known.
size_t lines_at(struct inlined_table *table, uint64_t address, struct source *found, size_t room);
