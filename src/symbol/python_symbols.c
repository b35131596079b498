#include "symbol/python_symbols.h"

#include "symbol/section.h"

#include <limits.h>
#include <string.h>

// The address for which the first byte of a mapping stands, which is page-aligned.
static bool mapping_address(Elf *elf, uint64_t offset, uint64_t *address) {
	enum { PAGE = 4096 };
	size_t count = 0;
	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    !(header.p_flags & PF_X) || offset < (header.p_offset & ~(uint64_t)(PAGE - 1)) ||
		    offset - (header.p_offset & ~(uint64_t)(PAGE - 1)) >= header.p_filesz + PAGE)
			continue;
		*address = header.p_vaddr - header.p_offset + offset;
		return true;
	}
	return false;
}

static void take_table(struct python_symbols *symbols, Elf *elf, uint32_t type) {
	GElf_Shdr header;
	GElf_Sym symbol;
	Elf_Scn *section = section_by_type(elf, type, &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	for (int i = 0; data && gelf_getsym(data, i, &symbol) && i < INT_MAX; i++) {
		const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
		if (!name || symbol.st_shndx == SHN_UNDEF)
			continue;
		if (strcmp(name, "_PyRuntime") == 0)
			symbols->runtime = symbol.st_value;
		else if (strcmp(name, "PyCode_Type") == 0)
			symbols->code_type = symbol.st_value;
	}
}

void python_symbols_read(struct python_symbols *symbols, Elf *elf, uint64_t offset) {
	uint64_t start;
	*symbols = (struct python_symbols){0};
	take_table(symbols, elf, SHT_DYNSYM);
	if (!symbols->runtime || !symbols->code_type)
		take_table(symbols, elf, SHT_SYMTAB);
	if (!symbols->runtime || !symbols->code_type || !mapping_address(elf, offset, &start))
		return;
	symbols->found = true;
	symbols->runtime -= start;
	symbols->code_type -= start;
}
