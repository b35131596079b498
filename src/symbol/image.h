// A module of Windows as an object with symbols: from its PDB file, or from the program or library itself.
#pragma once

#include "symbol/elf.h"

// Takes over the descriptor. `id`: of the PDB file (windows_id_text()), or "". `build`: the module's time in
// the upper half, its size in the lower one, as the recording has them. NULL if the file belongs to another
// build. The object's build id is that of the PDB file, even if this is not it.
struct elf_object *image_open_file(int file, const char *id, uint64_t build);

// The functions at an address, and their lines or declarations, from the module's PDB file. As in names.h.
struct named;
struct source;
size_t image_functions(struct elf_object *object, uint64_t address, bool inlined, struct named *found,
		       struct code_range *range);
size_t image_sources(struct elf_object *object, uint64_t address, bool declarations, struct source *found,
		     struct code_range *range);
