// Maps an address in a file to the functions there. Samples, heap profiles, crashes and hangs have the same
// names, inlined functions and source lines for an address. The files are read by a process without rights
// (reader.h), which is started for the first of them; this side keeps its answers.
#pragma once

#include "event/symbolizer.h"
#include "symbol/names.h"
#include "symbol/unwind.h"

struct namer;

struct namer *namer_new(void);
void namer_free(struct namer *namer);

// The module with this path and build id ("" matches any): an ELF file, "[vdso]", or a file with the names
// of compiled code (jit.h). `held`: a descriptor of the file, which stays open as long as the namer; or -1.
// NULL if there is no such file here. The object has its segments and the like, but no symbols.
// Belongs to the namer. Each call opens a file, so callers keep the result.
struct elf_object *namer_open(struct namer *namer, const char *path, const char *build_id, int held);

// A module of Windows; its addresses count from its start. NULL if neither its PDB file nor its own file is
// on this machine (windows/symbol_path.h).
struct elf_object *namer_open_image(struct namer *namer, const struct windows_image *image);

// As names_functions() and so on. If the file cannot be read after all, nothing is known.
size_t namer_functions(struct namer *namer, struct elf_object *object, uint64_t address, bool inlined,
		       struct named *found);
void namer_declarations(struct elf_object *object, uint64_t address, struct named *found, size_t count);
void namer_lines(struct elf_object *object, uint64_t address, struct named *found, size_t count);
bool namer_begin(struct elf_object *object, uint64_t address, uint64_t *begin);
size_t namer_describe(struct namer *namer, struct elf_object *object, uint64_t address, struct named *found);
// How to unwind at an address. False if unknown.
bool namer_row(struct elf_object *object, uint64_t address, struct unwind_row *row);

struct reader *namer_reader(const struct namer *namer); // for tests
