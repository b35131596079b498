// Symbols and lines in PDB files, by the address relative to the module's start (RVA). What is common to all
// compilation units is read when the file is opened, a unit when an address in it is looked up.
// https://llvm.org/docs/PDB/ describes the format.
//
//   msf.c         the container
//   pdb.c         sections, public symbols, which unit has which code; answers
//   pdb_unit.c    functions, inlined functions and lines of one unit
//   pdb_types.c   names of inlined functions
//   undecorate.c  names of public symbols as programmers write them
//   pe.c          programs and libraries: exported names
//   symbol_path.c where these files are
#pragma once

#include "base/code_range.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pdb;

enum { PDB_DEEPEST_INLINED = 60, PDB_MOST_FUNCTIONS = PDB_DEEPEST_INLINED + 1 }; // at one address

struct pdb_function {
	const char *name; // lives as long as the file; NULL if unknown
	uint64_t begin;   // not of inlined ones
	bool inlined;
};

struct pdb_source {
	const char *file; // NULL if unknown
	uint32_t line;
};

// NULL if it is no PDB file. The bytes stay the caller's, until pdb_close().
struct pdb *pdb_open(const uint8_t *bytes, size_t size);
void pdb_close(struct pdb *pdb);

// As in the names of folders of symbol servers, but in small letters: the GUID and the age.
enum { WINDOWS_ID_TEXT = 32 + 8 + 1 };
const char *pdb_id(const struct pdb *pdb);
void windows_id_text(char text[WINDOWS_ID_TEXT], const uint8_t guid[16], uint32_t age);

// The functions at an address: if requested, the inlined ones, innermost first, then the one they are inlined
// in. `found` has room for PDB_MOST_FUNCTIONS. Returns how many; 0 if nothing is known. Narrows `range` to
// addresses with the same answer.
size_t pdb_functions(struct pdb *pdb, uint64_t address, bool inlined, struct pdb_function *found,
		     struct code_range *range);
// The current line of each of these functions, in the same order, as lines_at() in inlined.h.
size_t pdb_lines(struct pdb *pdb, uint64_t address, struct pdb_source *found, size_t room);
// Where these functions begin in the source, in the same order.
size_t pdb_declarations(struct pdb *pdb, uint64_t address, struct pdb_source *found, size_t room,
			struct code_range *range);

// A decorated name as programmers write it, without the types of its parameters; to be freed. NULL if it is
// not decorated, or in a way that this does not understand.
char *undecorate(const char *name);
