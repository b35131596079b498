// A stub jumps to the address in a slot of the global offset table. The slot is in its instructions; which
// function's address the dynamic linker puts there is in the relocations. That holds for every layout that
// linkers have for stubs: lazy or not, with or without landing marks for indirect jumps.
#include "symbol/stubs.h"

#include "symbol/section.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RELOCATIONS = 1 << 24, MOST_CODE = 1 << 26 };

struct slot {
	uint64_t address;
	const char *name;
};

struct slots {
	ARRAY(struct slot) items;
};

// ---- slots ----

static bool fills_slot(unsigned machine, unsigned type) {
	return machine == EM_X86_64 ? type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT
				    : type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
}

static void read_relocations(Elf *elf, unsigned machine, Elf_Scn *section, const GElf_Shdr *header,
			     struct slots *slots) {
	GElf_Shdr table;
	Elf_Scn *linked = elf_getscn(elf, header->sh_link);
	Elf_Data *data = elf_getdata(section, NULL);
	Elf_Data *symbols = linked && gelf_getshdr(linked, &table) && table.sh_type == SHT_DYNSYM
				    ? elf_getdata(linked, NULL)
				    : NULL;
	GElf_Rela relocation;
	GElf_Sym symbol;
	for (int i = 0; data && symbols && i < MOST_RELOCATIONS && gelf_getrela(data, i, &relocation); i++) {
		if (!fills_slot(machine, (unsigned)GELF_R_TYPE(relocation.r_info)) ||
		    !gelf_getsym(symbols, (int)GELF_R_SYM(relocation.r_info), &symbol))
			continue;
		const char *name = elf_strptr(elf, table.sh_link, symbol.st_name);
		if (name && *name)
			array_push(&slots->items, (struct slot){relocation.r_offset, name});
	}
}

static int compare_slots(const void *left, const void *right) {
	const struct slot *a = left, *b = right;
	return a->address < b->address ? -1 : a->address > b->address;
}

static void read_slots(Elf *elf, unsigned machine, struct slots *slots) {
	GElf_Shdr header;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));)
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA &&
		    header.sh_flags & SHF_ALLOC)
			read_relocations(elf, machine, section, &header, slots);
	if (slots->items.count)
		qsort(slots->items.items, slots->items.count, sizeof(struct slot), compare_slots);
}

static const char *name_of(const struct slots *slots, uint64_t address) {
	const struct slot key = {.address = address};
	const struct slot *found = slots->items.count ? bsearch(&key, slots->items.items, slots->items.count,
								sizeof(key), compare_slots)
						      : NULL;
	return found ? found->name : NULL;
}

// ---- stubs ----

struct stub {
	uint64_t slot;
	size_t size;
};

// [endbr64] [bnd] jmp *slot(%rip)
static bool decode_x86(const uint8_t *code, size_t size, uint64_t address, struct stub *stub) {
	static const uint8_t mark[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = size > 4 && memcmp(code, mark, sizeof(mark)) == 0 ? sizeof(mark) : 0;
	at += at < size && code[at] == 0xf2;
	int32_t distance;
	if (size < at + 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	memcpy(&distance, code + at + 2, sizeof(distance));
	stub->slot = address + at + 6 + (uint64_t)(int64_t)distance;
	return true;
}

// [bti c] adrp x16, page; ldr x17, [x16, offset]
static bool decode_arm(const uint8_t *code, size_t size, uint64_t address, struct stub *stub) {
	enum { MARK = 0xd503245f };
	uint32_t words[3] = {0};
	memcpy(words, code, MIN(size, sizeof(words)));
	size_t first = words[0] == MARK;
	uint32_t page = words[first], load = words[first + 1];
	if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
		return false;
	uint64_t pages = (page >> 29 & 3) | (page >> 5 & 0x7ffff) << 2;
	pages |= pages & 1 << 20 ? ~UINT64_C(0) << 20 : 0; // it is signed
	stub->slot = ((address + 4 * first) & ~UINT64_C(4095)) + (pages << 12) + (load >> 10 & 4095) * 8;
	return true;
}

// A linker aligns its stubs to eight bytes, on Arm to four. What lies between them is no jump.
static void read_code(unsigned machine, const uint8_t *code, size_t size, uint64_t address, uint64_t entry,
		      const struct slots *slots, elf_symbol_array *symbols) {
	bool x86 = machine == EM_X86_64;
	size_t step = x86 ? 8 : 4, usual = entry == 8 || entry == 24 ? entry : 16;
	for (size_t at = 0; at < size;) {
		struct stub stub = {.size = MIN(usual, size - at)};
		bool is_stub = (x86 ? decode_x86 : decode_arm)(code + at, size - at, address + at, &stub);
		const char *name = is_stub ? name_of(slots, stub.slot) : NULL;
		if (name)
			array_push(symbols, (struct elf_symbol){.address = address + at,
								.size = stub.size,
								.name = name,
								.stub = true});
		at += name ? stub.size : step;
	}
}

static bool is_of_stubs(Elf *elf, size_t names, const GElf_Shdr *header) {
	const char *name = elf_strptr(elf, names, header->sh_name);
	return name && strncmp(name, ".plt", 4) == 0 && header->sh_type == SHT_PROGBITS &&
	       header->sh_flags & SHF_EXECINSTR;
}

void stubs_read(Elf *elf, elf_symbol_array *symbols) {
	GElf_Ehdr file;
	GElf_Shdr header;
	struct slots slots = {0};
	bool slots_read = false;
	size_t names;
	if (!gelf_getehdr(elf, &file) || (file.e_machine != EM_X86_64 && file.e_machine != EM_AARCH64) ||
	    elf_getshdrstrndx(elf, &names))
		return;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		if (!gelf_getshdr(section, &header) || !is_of_stubs(elf, names, &header))
			continue;
		Elf_Data *data = elf_rawdata(section, NULL);
		if (!data || !data->d_buf || data->d_size > MOST_CODE)
			continue;
		if (!slots_read)
			read_slots(elf, file.e_machine, &slots);
		slots_read = true;
		read_code(file.e_machine, data->d_buf, data->d_size, header.sh_addr, header.sh_entsize,
			  &slots, symbols);
	}
	array_free(&slots.items);
}
