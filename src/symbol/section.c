#include "symbol/section.h"

#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

Elf_Scn *section_by_type(Elf *elf, uint32_t type, GElf_Shdr *header) {
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));)
		if (gelf_getshdr(section, header) && header->sh_type == type)
			return section;
	return NULL;
}

Elf_Scn *section_by_name(Elf *elf, const char *name, GElf_Shdr *header) {
	size_t names;
	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		const char *own = gelf_getshdr(section, header) ? elf_strptr(elf, names, header->sh_name)
								: NULL;
		if (own && strcmp(own, name) == 0)
			return section;
	}
	return NULL;
}

const uint8_t *section_content(Elf *elf, const char *name, size_t most, size_t *size) {
	GElf_Shdr header;
	GElf_Chdr compressed;
	Elf_Scn *section = section_by_name(elf, name, &header);
	if (!section || header.sh_type == SHT_NOBITS)
		return NULL;
	// The size is checked before memory is allocated.
	if (header.sh_flags & SHF_COMPRESSED &&
	    (!gelf_getchdr(section, &compressed) || compressed.ch_size > most ||
	     elf_compress(section, 0, 0) < 0))
		return NULL;
	Elf_Data *data = elf_rawdata(section, NULL);
	if (!data || !data->d_buf || !data->d_size || data->d_size > most)
		return NULL;
	*size = data->d_size;
	return data->d_buf;
}

static void print_build_id(char text[BUILD_ID_TEXT], const void *id, size_t size) {
	for (size_t i = 0; i < size; i++)
		snprintf(text + 2 * i, 3, "%02x", ((const uint8_t *)id)[i]);
}

// By sections first: a file with only debug information has no segments.
void section_build_id(Elf *elf, char text[BUILD_ID_TEXT]) {
	enum { MOST = BUILD_ID_TEXT / 2 };
	GElf_Shdr header;
	text[0] = 0;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE)
			continue;
		Elf_Data *data = elf_getdata(section, NULL);
		GElf_Nhdr note;
		size_t name, content;
		for (size_t at = 0; data && (at = gelf_getnote(data, at, &note, &name, &content));) {
			if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || note.n_descsz > MOST ||
			    memcmp((char *)data->d_buf + name, "GNU", 4) != 0)
				continue;
			print_build_id(text, (char *)data->d_buf + content, note.n_descsz);
			return;
		}
	}
	const void *id;
	ssize_t size = dwelf_elf_gnu_build_id(elf, &id);
	if (size > 0 && size <= MOST)
		print_build_id(text, id, (size_t)size);
}

Elf *section_elf_of(int *file) {
	if (*file < 0)
		return NULL;
	Elf *elf = elf_begin(*file, ELF_C_READ_MMAP, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		return elf;
	section_close_elf(elf, *file);
	*file = -1;
	return NULL;
}

int section_open_file(const char *path) {
	char magic[SELFMAG];
	int file = file_open_regular(path, O_RDONLY);
	if (file < 0 || (pread(file, magic, SELFMAG, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0))
		return file;
	close(file);
	return -ENOEXEC;
}

static char *below;

void section_look_below(const char *folder) {
	free(below);
	below = folder ? memory_string(folder) : NULL;
}

const char *section_folder(void) {
	return below;
}

int section_open_recorded(const char *path) {
	CLEANUP_FREE char *there = below && *path == '/' ? memory_format("%s%s", below, path) : NULL;
	return section_open_file(there ? there : path);
}

void section_close_elf(Elf *elf, int file) {
	if (elf)
		elf_end(elf);
	if (file >= 0)
		close(file);
}
