// ELF files in which an allocator's functions are looked for.
#include "fuzz.h"

#include "symbol/allocator_symbols.h"

#include <stdlib.h>
#include <string.h>

// Whatever is found is a function, and inside the file.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	static struct allocator_symbols symbols;
	elf_version(EV_CURRENT);
	char *copy = malloc(size + 1); // libelf may write to it
	memcpy(copy, bytes, size);
	Elf *elf = elf_memory(copy, size);
	if (elf && elf_kind(elf) == ELF_K_ELF) {
		allocator_symbols_read(&symbols, elf, true);
		for (size_t i = 0; i < symbols.count; i++)
			if (symbols.places[i].offset >= size ||
			    symbols.places[i].function == HEAP_CALL_NONE ||
			    symbols.places[i].function > HEAP_CALL_LAST)
				abort();
	}
	elf_end(elf);
	free(copy);
	return 0;
}

// One segment, three functions, and a section that only Go programs have.
void fuzz_seeds(void) {
	static const char names[] = "\0malloc\0mi_free\0__asan_init\0.go.buildinfo";
	static const uint8_t code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0xc3};
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segment;
		Elf64_Shdr sections[4];
		Elf64_Sym symbols[4];
		char names[sizeof(names)];
		uint8_t code[sizeof(code)];
	} file = {
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				       EV_CURRENT},
			   .e_type = ET_EXEC,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_phoff = sizeof(Elf64_Ehdr),
			   .e_shoff = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
			   .e_ehsize = sizeof(Elf64_Ehdr),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 1,
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = 4,
			   .e_shstrndx = 1},
		.segment = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = 0x400000},
		.symbols = {{0}, {.st_name = 1}, {.st_name = 8}, {.st_name = 16}},
	};
	memcpy(file.names, names, sizeof(names));
	memcpy(file.code, code, sizeof(code));
	file.segment.p_filesz = file.segment.p_memsz = sizeof(file);
	file.sections[1] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
					.sh_offset = (size_t)(file.names - (char *)&file),
					.sh_size = sizeof(file.names)};
	file.sections[2] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
					.sh_offset = (size_t)((char *)file.symbols - (char *)&file),
					.sh_size = sizeof(file.symbols),
					.sh_link = 1,
					.sh_entsize = sizeof(Elf64_Sym)};
	file.sections[3] = (Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_name = 28};
	for (size_t i = 1; i < 4; i++) {
		file.symbols[i].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
		file.symbols[i].st_shndx = 3;
		file.symbols[i].st_value = 0x400000 + (size_t)((char *)file.code - (char *)&file);
	}
	struct buffer seed = {0};
	buffer_append(&seed, &file, sizeof(file));
	fuzz_seed("file", &seed);
}
