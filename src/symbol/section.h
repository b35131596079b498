// Sections of ELF files, and files that are opened only if they are ELF.
#pragma once

#include <gelf.h>

Elf_Scn *section_by_type(Elf *elf, uint32_t type, GElf_Shdr *header);
Elf_Scn *section_by_name(Elf *elf, const char *name, GElf_Shdr *header);
// Its content, inflated if it is compressed, as long as `elf` is open. NULL: there is none of that
// name, it is empty, or larger than `most` bytes.
const uint8_t *section_content(Elf *elf, const char *name, size_t most, size_t *size);

// The build id in hexadecimal, or "".
enum { BUILD_ID_TEXT = 41 };
void section_build_id(Elf *elf, char text[BUILD_ID_TEXT]);

// `file` is its descriptor, to be closed after elf_end(). NULL: there is no such file, or it is another
// kind of file.
Elf *section_open_elf(const char *path, int *file);
void section_close_elf(Elf *elf, int file);
