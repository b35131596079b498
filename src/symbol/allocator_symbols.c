// Symbols are taken in any order, so that a file is read once; `heap/allocator.c` knows the order of files.
#include "symbol/allocator_symbols.h"

#include "base/memory.h"
#include "symbol/probe_point.h"

#include <limits.h>
#include <string.h>

static const struct {
	const char *name;
	enum heap_function function;
} functions[] = {
	{"malloc", HEAP_CALL_SIZE},
	{"calloc", HEAP_CALL_COUNT},
	{"realloc", HEAP_CALL_RESIZE},
	{"reallocarray", HEAP_CALL_RESIZE_COUNT},
	{"memalign", HEAP_CALL_ALIGNED},
	{"aligned_alloc", HEAP_CALL_ALIGNED},
	{"posix_memalign", HEAP_CALL_INTO},
	{"valloc", HEAP_CALL_SIZE},
	{"pvalloc", HEAP_CALL_SIZE},
	{"free", HEAP_CALL_FREE},
	{"cfree", HEAP_CALL_FREE},
	// jemalloc's own
	{"mallocx", HEAP_CALL_SIZE},
	{"rallocx", HEAP_CALL_RESIZE},
	{"dallocx", HEAP_CALL_FREE},
	{"sdallocx", HEAP_CALL_FREE},
	// C++: allocators define these, too
	{"_Znwm", HEAP_CALL_SIZE},
	{"_Znam", HEAP_CALL_SIZE},
	{"_ZnwmRKSt9nothrow_t", HEAP_CALL_SIZE},
	{"_ZnamRKSt9nothrow_t", HEAP_CALL_SIZE},
	{"_ZnwmSt11align_val_t", HEAP_CALL_SIZE},
	{"_ZnamSt11align_val_t", HEAP_CALL_SIZE},
	{"_ZnwmSt11align_val_tRKSt9nothrow_t", HEAP_CALL_SIZE},
	{"_ZnamSt11align_val_tRKSt9nothrow_t", HEAP_CALL_SIZE},
	{"_ZdlPv", HEAP_CALL_FREE},
	{"_ZdaPv", HEAP_CALL_FREE},
	{"_ZdlPvm", HEAP_CALL_FREE},
	{"_ZdaPvm", HEAP_CALL_FREE},
	{"_ZdlPvRKSt9nothrow_t", HEAP_CALL_FREE},
	{"_ZdaPvRKSt9nothrow_t", HEAP_CALL_FREE},
	{"_ZdlPvSt11align_val_t", HEAP_CALL_FREE},
	{"_ZdaPvSt11align_val_t", HEAP_CALL_FREE},
	{"_ZdlPvmSt11align_val_t", HEAP_CALL_FREE},
	{"_ZdaPvmSt11align_val_t", HEAP_CALL_FREE},
};

// mimalloc's functions always have a prefix.
static const struct {
	const char *name;
	enum heap_function function;
} mimalloc_functions[] = {
	{"malloc_aligned", HEAP_CALL_SIZE},    {"zalloc", HEAP_CALL_SIZE},
	{"zalloc_aligned", HEAP_CALL_SIZE},    {"realloc_aligned", HEAP_CALL_RESIZE},
	{"free_size", HEAP_CALL_FREE},         {"free_aligned", HEAP_CALL_FREE},
	{"free_size_aligned", HEAP_CALL_FREE},
};

static const char *const sanitizers[] = {"__asan_init", "__msan_init", "__tsan_init", "__hwasan_init"};

static const char *const prefixes[] = {"_rjem_", "je_", "mi_"};

// ---- names ----

static enum heap_function function_named(const char *name) {
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (strcmp(functions[i].name, name) == 0)
			return functions[i].function;
	return HEAP_CALL_NONE;
}

static enum heap_function function_prefixed(const char *name) {
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t size = strlen(prefixes[i]);
		if (strncmp(name, prefixes[i], size) != 0)
			continue;
		for (size_t k = 0; strcmp(prefixes[i], "mi_") == 0 && k < ARRAY_SIZE(mimalloc_functions); k++)
			if (strcmp(mimalloc_functions[k].name, name + size) == 0)
				return mimalloc_functions[k].function;
		return function_named(name + size);
	}
	return HEAP_CALL_NONE;
}

// ---- places ----

static bool file_offset(Elf *elf, uint64_t address, uint64_t *offset) {
	size_t count = 0;
	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD &&
		    address >= header.p_vaddr && address - header.p_vaddr < header.p_filesz) {
			*offset = address - header.p_vaddr + header.p_offset;
			return true;
		}
	}
	return false;
}

// Moves to where a probe sees the function's start. False if the file ends before.
static bool find_probe(Elf *elf, uint64_t *offset, uint64_t size) {
	enum { LOOKED_AT = 64 };
	size_t file_size = 0;
	const char *bytes = elf_rawfile(elf, &file_size);
	if (!bytes || *offset >= file_size)
		return false;
	size_t least = MIN(file_size - *offset, LOOKED_AT);
	*offset += probe_point((const uint8_t *)bytes + *offset, size ? MIN(least, size) : least);
	return true;
}

// What does not fit is left out: no allocator has so many functions.
static void add_place(struct allocator_symbols *symbols, const struct allocator_place *place) {
	for (size_t i = 0; i < symbols->count; i++)
		if (symbols->places[i].offset == place->offset &&
		    symbols->places[i].prefixed == place->prefixed)
			return;
	if (symbols->count < MOST_ALLOCATOR_PLACES)
		symbols->places[symbols->count++] = *place;
}

static void take_symbol(struct allocator_symbols *symbols, Elf *elf, const GElf_Sym *symbol, const char *name,
			bool exported) {
	struct allocator_place place = {0};
	bool is_code = GELF_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF;
	if (!name || !is_code)
		return;
	symbols->is_go |= strcmp(name, "runtime.mallocgc") == 0;
	for (size_t i = 0; i < ARRAY_SIZE(sanitizers); i++)
		symbols->is_sanitized |= strcmp(name, sanitizers[i]) == 0;
	place.function = exported ? function_named(name) : HEAP_CALL_NONE;
	place.prefixed = place.function == HEAP_CALL_NONE;
	if (place.prefixed)
		place.function = function_prefixed(name);
	if (place.function == HEAP_CALL_NONE || !file_offset(elf, symbol->st_value, &place.offset) ||
	    !find_probe(elf, &place.offset, symbol->st_size))
		return;
	add_place(symbols, &place);
	symbols->has_malloc |= !place.prefixed && strcmp(name, "malloc") == 0;
}

static void take_section(struct allocator_symbols *symbols, Elf *elf, Elf_Scn *section, bool is_static) {
	GElf_Shdr header;
	if (!gelf_getshdr(section, &header) || (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB))
		return;
	GElf_Sym symbol;
	Elf_Data *data = elf_getdata(section, NULL);
	bool exported = header.sh_type == SHT_DYNSYM || is_static;
	for (int i = 0; data && gelf_getsym(data, i, &symbol) && i < INT_MAX; i++)
		take_symbol(symbols, elf, &symbol, elf_strptr(elf, header.sh_link, symbol.st_name), exported);
}

// ---- the whole ----

static bool has_interpreter(Elf *elf) {
	size_t count = 0;
	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_INTERP)
			return true;
	}
	return false;
}

void allocator_symbols_read(struct allocator_symbols *symbols, Elf *elf, bool is_program) {
	GElf_Ehdr header;
	size_t names = 0;
	*symbols = (struct allocator_symbols){0};
	if (!gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64) {
		symbols->is_other_machine = true;
		return;
	}
	bool is_static = is_program && !has_interpreter(elf);
	elf_getshdrstrndx(elf, &names);
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr section_header;
		const char *name = gelf_getshdr(section, &section_header)
					   ? elf_strptr(elf, names, section_header.sh_name)
					   : NULL;
		symbols->is_go |= name && strcmp(name, ".go.buildinfo") == 0;
		take_section(symbols, elf, section, is_static);
	}
}
