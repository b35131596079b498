// Sections of ELF files, and files that are opened only if they are ELF.
#pragma once

#include <gelf.h>

Elf_Scn *section_by_type(Elf *elf, uint32_t type, GElf_Shdr *header);
Elf_Scn *section_by_name(Elf *elf, const char *name, GElf_Shdr *header);
// The section's content, inflated if it is compressed, valid while `elf` is open. NULL if there is no such
// section, or it is empty or larger than `most` bytes.
const uint8_t *section_content(Elf *elf, const char *name, size_t most, size_t *size);

// The build id in hexadecimal, or "".
enum { BUILD_ID_TEXT = 41 };
void section_build_id(Elf *elf, char text[BUILD_ID_TEXT]);

// Opens a regular file that begins like an ELF file; nothing else of it is looked at. A descriptor or -errno.
int section_open_file(const char *path);
// The same for a path in a recording, which may be of another machine: below the folder of
// section_look_below(), if there is one.
int section_open_recorded(const char *path);
void section_look_below(const char *folder); // NULL, as in the beginning: the paths are those of this machine
const char *section_folder(void);            // that folder, or NULL
// `file` is to be closed after elf_end(). If it is not an ELF file, or negative, it is closed and set to -1,
// and the result is NULL.
Elf *section_elf_of(int *file);
void section_close_elf(Elf *elf, int file);
