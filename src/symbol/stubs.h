// Names for the stubs through which a program calls functions of shared libraries (its PLT). They have no
// symbols.
#pragma once

#include "base/array.h"
#include "symbol/elf.h"

#include <gelf.h>

typedef ARRAY(struct elf_symbol) elf_symbol_array;

// Appends a symbol for each stub of the file, with the name of the function that it calls.
void stubs_read(Elf *elf, elf_symbol_array *symbols);
