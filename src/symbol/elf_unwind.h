// The unwind table of an ELF file, from the file and its debug file.
#pragma once

#include "symbol/elf.h"
#include "symbol/unwind.h"

// NULL if they have no unwind information. Valid only while the object holds its files.
struct unwind_table *elf_unwind_table(struct elf_object *object);
// The same, built once and kept as object->unwind; the object's owner frees it.
struct unwind_table *elf_unwind_of(struct elf_object *object);
