// Maps an address in a file to the functions there by reading the file: what the reader process (reader.h)
// and tracelet-stacks do. All others ask namer.h, which asks a reader. Either way an address has the same
// name, inlined functions and source lines.
#pragma once

#include "event/stacks.h"
#include "symbol/elf.h"
#include "symbol/inlined.h"

struct names;

enum { MOST_NAMED = DEEPEST_INLINED + 1 }; // functions at one address

struct named {
	const char *name;          // as programmers write it; NULL if unknown. Valid as long as `names`.
	struct source at;          // the current line; for all but the innermost function, that of the call
	struct source declared;    // where the function is declared
	uint64_t begin;            // for a function without a name: its start, in the file's addresses
	struct elf_symbol *symbol; // of the function itself; NULL for inlined ones, and if unknown
	enum frame_kind kind;      // FRAME_INLINED, FRAME_JIT or FRAME_USER
};

struct names *names_new(void);
void names_free(struct names *names);

// The module with this path and build id ("" matches any): an ELF file, "[vdso]", or a file with the names
// of compiled code (jit.h). `held`: a descriptor of the file, or -1. NULL if there is no such file here.
// Belongs to `names`. Each call opens a file, so callers keep the result.
struct elf_object *names_open(struct names *names, const char *path, const char *build_id, int held);
struct elf_object *names_open_vdso(const char *build_id);                      // not kept
struct elf_object *names_take(struct names *names, struct elf_object *object); // keeps it; may be NULL

// The functions at an address (that of the process for FRAME_JIT): if requested, the inlined
// functions, innermost first, then the one they are inlined in. `found` has room for MOST_NAMED. Returns how
// many, at least one. `object` may be NULL.
size_t names_functions(struct names *names, struct elf_object *object, uint64_t address, bool inlined,
		       struct named *found);
// The same; narrows `range` to addresses with the same answer.
size_t names_functions_around(struct names *names, struct elf_object *object, uint64_t address, bool inlined,
			      struct named *found, struct code_range *range);
struct inlined_table *names_debug_information(struct elf_object *object); // NULL if it has none
// Fills in where these functions are declared, or their current lines.
void names_declarations(struct elf_object *object, uint64_t address, struct named *found, size_t count);
void names_lines(struct elf_object *object, uint64_t address, struct named *found, size_t count);
// Where the function at an address begins, according to its unwind information. False if unknown.
bool names_begin(struct elf_object *object, uint64_t address, uint64_t *begin);

// Everything people want to know about an address: functions, with inlined ones, lines, and where functions
// without a name begin.
size_t names_describe(struct names *names, struct elf_object *object, uint64_t address, struct named *found);
// The name, or a replacement such as "[libx.so+0x1130]"; the caller frees it. `module` is the path of its
// file.
char *named_text(const struct named *named, const char *module);

// A symbol's name as programmers write it: demangled, or without its version ("free@GLIBC_2.2.5");
// the caller frees it. NULL if it needs no change.
char *name_spelled(const char *symbol);
