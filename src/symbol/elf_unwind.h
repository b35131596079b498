// The unwind table of an ELF file, from all that it and its debug file tell.
#pragma once

#include "symbol/elf.h"
#include "symbol/unwind.h"

// NULL: they tell nothing. It lives no longer than the object holds its files.
struct unwind_table *elf_unwind_table(struct elf_object *object);
