// What a stripped file lacks, from where debuggers look for it: files beside it and
// under /usr/lib/debug, caches by build id, and the symbols it carries compressed.
#pragma once

#include <gelf.h>
#include <stdbool.h>

// By build id (hexadecimal). A stripped file's debug file, or the file itself where `program`; then its
// debug file is the second choice. NULL: there is none. The network is never asked.
Elf *debug_file_by_build_id(const char *build_id, bool program, int *file);

// The file that .gnu_debuglink of `elf`, which is at `path`, names: the one with the right checksum.
Elf *debug_file_by_link(Elf *elf, const char *path, int *file);

// The symbols in .gnu_debugdata ("MiniDebugInfo"), as an ELF file in memory, which is `memory` and is to
// be freed after elf_end().
Elf *debug_file_inside(Elf *elf, void **memory);
