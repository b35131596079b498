#include "symbol/elf.h"

#include "base/array.h"
#include "base/memory.h"
#include "symbol/debug_file.h"
#include "symbol/section.h"
#include "symbol/stubs.h"

#include <stdio.h>
#include <string.h>

enum { MOST_SYMBOLS = 1 << 24, RANK_OF_SIZE = 16 };

// ---- sections ----

static void read_segments(Elf *elf, struct elf_object *object) {
	size_t count = 0;
	if (elf_getphdrnum(elf, &count))
		return;
	object->segments = memory_alloc((count + 1) * sizeof(*object->segments));
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD)
			object->segments[object->segment_count++] = (struct elf_segment){
				header.p_offset, header.p_filesz, header.p_vaddr,
				(header.p_flags & PF_X) != 0};
	}
}

static void find_eh_frame(Elf *elf, struct elf_object *object) {
	static const uint8_t nothing[1];
	GElf_Shdr header;
	Elf_Scn *section = section_by_name(elf, ".eh_frame", &header);
	Elf_Data *data = section && header.sh_type != SHT_NOBITS ? elf_rawdata(section, NULL) : NULL;
	if (!data || !data->d_buf) {
		// Some files have a second section for it, which is treated as a continuation.
		if (section_by_name(elf, ".debug_frame", &header) ||
		    section_by_name(elf, ".gopclntab", &header) ||
		    section_by_name(elf, ".data.rel.ro.gopclntab", &header))
			object->eh_frame = nothing;
		return;
	}
	object->eh_frame = data->d_buf;
	object->eh_frame_size = data->d_size;
	object->eh_frame_address = header.sh_addr;
}

// ---- symbols ----

// Among several names for one address, prefers one with a size, then global to weak to local, then fewer
// leading underscores.
static uint8_t rank_of(const GElf_Sym *symbol, const char *name) {
	unsigned binding = GELF_ST_BIND(symbol->st_info);
	unsigned underscores = 0;
	while (name[underscores] == '_' && underscores < 3)
		underscores++;
	unsigned rank = symbol->st_size ? RANK_OF_SIZE : 0;
	rank += binding == STB_GLOBAL ? 8 : binding == STB_WEAK ? 4 : 0;
	return (uint8_t)(rank + 3 - underscores);
}

static bool is_code(const GElf_Sym *symbol) {
	unsigned type = GELF_ST_TYPE(symbol->st_info);
	return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS && symbol->st_value &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC ||
		(type == STT_NOTYPE && GELF_ST_BIND(symbol->st_info) == STB_GLOBAL));
}

// A symbol without a size may reach to the end of its section, but no further.
static uint64_t size_in_section(Elf *elf, const GElf_Sym *symbol) {
	GElf_Shdr header;
	Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
	if (!section || !gelf_getshdr(section, &header) || symbol->st_value < header.sh_addr ||
	    symbol->st_value - header.sh_addr >= header.sh_size)
		return 0;
	return header.sh_size - (symbol->st_value - header.sh_addr);
}

static void read_table(Elf *elf, uint32_t type, elf_symbol_array *list) {
	GElf_Shdr header;
	Elf_Scn *section = section_by_type(elf, type, &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	if (!data || !header.sh_entsize)
		return;
	size_t count = MIN(data->d_size / header.sh_entsize, MOST_SYMBOLS);
	for (size_t i = 1; i < count; i++) {
		GElf_Sym symbol;
		if (!gelf_getsym(data, (int)i, &symbol) || !is_code(&symbol))
			continue;
		const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
		// The mapping symbols of Arm and RISC-V ("$x") are not names.
		if (!name || !*name || *name == '$')
			continue;
		array_push(list, (struct elf_symbol){.address = symbol.st_value,
						     .size = symbol.st_size ? symbol.st_size
									    : size_in_section(elf, &symbol),
						     .name = name,
						     .rank = rank_of(&symbol, name)});
	}
}

static int compare_symbols(const void *left, const void *right) {
	const struct elf_symbol *a = left, *b = right;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void take_symbols(struct elf_object *object, elf_symbol_array *list) {
	struct elf_symbol *items = list->items;
	size_t kept = 0;
	if (list->count)
		qsort(items, list->count, sizeof(*items), compare_symbols);
	for (size_t i = 0; i < list->count; i++)
		if (!kept || items[i].address != items[kept - 1].address)
			items[kept++] = items[i];
	// A symbol without a size ends where the next one begins.
	for (size_t i = 0; i + 1 < kept; i++)
		if (items[i].rank < RANK_OF_SIZE)
			items[i].size = MIN(items[i].size, items[i + 1].address - items[i].address);
	object->symbols = items;
	object->symbol_count = kept;
}

struct elf_symbol *elf_symbol_at(const struct elf_object *object, uint64_t address) {
	return elf_symbol_around(object, address, &CODE_RANGE_ALL);
}

struct elf_symbol *elf_symbol_around(const struct elf_object *object, uint64_t address,
				     struct code_range *range) {
	size_t low = 0, high = object->symbol_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (object->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low)
		range_from(range, object->symbols[low - 1].address);
	if (low < object->symbol_count)
		range_to(range, object->symbols[low].address);
	// A small symbol may lie inside a large one.
	for (size_t back = 0; back < 8 && low > back; back++) {
		struct elf_symbol *symbol = &object->symbols[low - 1 - back];
		range_narrow(range, address, symbol->address, symbol->size);
		if (address - symbol->address < symbol->size)
			return symbol;
	}
	return NULL;
}

bool elf_address_of(const struct elf_object *object, uint64_t position, uint64_t *address) {
	for (size_t i = 0; i < object->segment_count; i++) {
		const struct elf_segment *segment = &object->segments[i];
		if (position >= segment->offset && position - segment->offset < segment->size) {
			*address = position - segment->offset + segment->address;
			return true;
		}
	}
	return false;
}

bool elf_mapping_address(const struct elf_object *object, uint64_t offset, uint64_t *address) {
	enum { LARGEST_PAGE = 65536 };
	for (size_t i = 0; i < object->segment_count; i++) {
		const struct elf_segment *segment = &object->segments[i];
		if (segment->executable && offset < segment->offset + segment->size &&
		    (offset >= segment->offset || segment->offset - offset < LARGEST_PAGE)) {
			*address = segment->address - segment->offset + offset;
			return true;
		}
	}
	return false;
}

// ---- files ----

static void fill_code(struct elf_object *object, Elf *elf) {
	GElf_Ehdr header;
	if (gelf_getehdr(elf, &header)) {
		object->machine = header.e_machine;
		object->entry = header.e_entry;
	}
	read_segments(elf, object);
	find_eh_frame(elf, object);
}

void elf_find_debug_file(struct elf_object *object) {
	if (object->debug_tried)
		return;
	object->debug_tried = true;
	if (object->build_id[0])
		object->handles[1] = debug_file_by_build_id(object->build_id, false, &object->files[1]);
	if (!object->handles[1] && object->path)
		object->handles[1] = debug_file_by_link(object->handles[0], object->path, &object->files[1]);
}

static void fill_symbols(struct elf_object *object, Elf *elf) {
	elf_symbol_array list = {0};
	read_table(elf, SHT_SYMTAB, &list);
	// Also for the debug information that a stripped file lacks.
	GElf_Shdr section;
	if (!list.count || !section_by_name(elf, ".debug_info", &section))
		elf_find_debug_file(object);
	if (!list.count && object->handles[1])
		read_table(object->handles[1], SHT_SYMTAB, &list);
	if (!list.count) {
		read_table(elf, SHT_DYNSYM, &list);
		object->inside = debug_file_inside(elf, &object->inside_memory);
		if (object->inside)
			read_table(object->inside, SHT_SYMTAB, &list);
	}
	stubs_read(elf, &list);
	take_symbols(object, &list);
}

static struct elf_object *object_of(Elf *elf, int file, const char *path) {
	struct elf_object *object = memory_alloc(sizeof(*object));
	object->files[0] = file;
	object->files[1] = -1;
	object->handles[0] = elf;
	object->path = path ? memory_string(path) : NULL;
	section_build_id(elf, object->build_id);
	return object;
}

struct elf_object *elf_open_file(int file, const char *path, const char *build_id) {
	elf_version(EV_CURRENT);
	Elf *elf = section_elf_of(&file);
	struct elf_object *object = elf ? object_of(elf, file, path) : NULL;
	if (object && *build_id &&
	    strcmp(object->build_id, build_id) != 0) { // a different version of the file
		elf_close(object);
		object = NULL;
	}
	if (!object && *build_id) {
		elf = debug_file_by_build_id(build_id, true, &file);
		object = elf ? object_of(elf, file, NULL) : NULL;
	}
	if (object) {
		fill_code(object, object->handles[0]);
		fill_symbols(object, object->handles[0]);
	}
	return object;
}

int elf_find_file(const char *path, int held) {
	char itself[64];
	snprintf(itself, sizeof(itself), "/proc/self/fd/%d", held);
	return held < 0 ? section_open_recorded(path) : section_open_file(itself);
}

struct elf_object *elf_open_held(const char *path, const char *build_id, int held) {
	return elf_open_file(elf_find_file(path, held), path, build_id);
}

struct elf_object *elf_open(const char *path, const char *build_id) {
	return elf_open_held(path, build_id, -1);
}

struct elf_object *elf_open_memory(const void *bytes, size_t size) {
	struct elf_object *object = elf_open_code_memory(bytes, size);
	if (object)
		fill_symbols(object, object->handles[0]);
	return object;
}

struct elf_object *elf_open_code_file(int file, const char *path) {
	elf_version(EV_CURRENT);
	Elf *elf = section_elf_of(&file);
	struct elf_object *object = elf ? object_of(elf, file, path) : NULL;
	if (object)
		fill_code(object, elf);
	return object;
}

struct elf_object *elf_open_code(const char *path) {
	return elf_open_code_file(section_open_file(path), path);
}

struct elf_object *elf_open_code_memory(const void *bytes, size_t size) {
	elf_version(EV_CURRENT);
	Elf *elf = elf_memory((char *)(uintptr_t)bytes, size);
	struct elf_object *object = elf ? object_of(elf, -1, NULL) : NULL;
	if (object)
		fill_code(object, elf);
	return object;
}

void elf_let_go(struct elf_object *object) {
	for (int i = 0; i < 2; i++) {
		section_close_elf(object->handles[i], object->files[i]);
		object->handles[i] = NULL;
		object->files[i] = -1;
	}
	object->eh_frame = NULL;
}

void elf_close(struct elf_object *object) {
	if (!object)
		return;
	elf_let_go(object);
	if (object->release)
		object->release(object);
	if (object->inside)
		elf_end(object->inside);
	free(object->inside_memory);
	free(object->made_frames);
	free(object->path);
	free(object->symbols);
	free(object->segments);
	free(object->text);
	free(object);
}
