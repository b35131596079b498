#include "symbol/elf.h"

#include "base/array.h"
#include "base/memory.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_SYMBOLS = 1 << 24 };

// ---- sections ----

static Elf_Scn *section_by_type(Elf *elf, uint32_t type, GElf_Shdr *header) {
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));)
		if (gelf_getshdr(section, header) && header->sh_type == type)
			return section;
	return NULL;
}

static Elf_Scn *section_by_name(Elf *elf, const char *name, GElf_Shdr *header) {
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

static void read_build_id(Elf *elf, char *text) {
	GElf_Shdr header;
	text[0] = 0;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE)
			continue;
		Elf_Data *data = elf_getdata(section, NULL);
		GElf_Nhdr note;
		size_t name, content;
		for (size_t at = 0; data && (at = gelf_getnote(data, at, &note, &name, &content));) {
			if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || note.n_descsz > 20 ||
			    memcmp((char *)data->d_buf + name, "GNU", 4) != 0)
				continue;
			for (size_t i = 0; i < note.n_descsz; i++)
				snprintf(text + 2 * i, 3, "%02x", ((uint8_t *)data->d_buf)[content + i]);
			return;
		}
	}
}

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
	GElf_Shdr header;
	Elf_Scn *section = section_by_name(elf, ".eh_frame", &header);
	Elf_Data *data = section && header.sh_type != SHT_NOBITS ? elf_rawdata(section, NULL) : NULL;
	if (!data || !data->d_buf)
		return;
	object->eh_frame = data->d_buf;
	object->eh_frame_size = data->d_size;
	object->eh_frame_address = header.sh_addr;
}

// ---- symbols ----

// Of several names of one place: one with a size, global before weak before local,
// and the one with fewer underscores in front.
static uint8_t rank_of(const GElf_Sym *symbol, const char *name) {
	unsigned binding = GELF_ST_BIND(symbol->st_info);
	unsigned underscores = 0;
	while (name[underscores] == '_' && underscores < 3)
		underscores++;
	unsigned rank = symbol->st_size ? 16 : 0;
	rank += binding == STB_GLOBAL ? 8 : binding == STB_WEAK ? 4 : 0;
	return (uint8_t)(rank + 3 - underscores);
}

static bool is_code(const GElf_Sym *symbol) {
	unsigned type = GELF_ST_TYPE(symbol->st_info);
	return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS && symbol->st_value &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC ||
		(type == STT_NOTYPE && GELF_ST_BIND(symbol->st_info) == STB_GLOBAL));
}

struct symbol_list {
	ARRAY(struct elf_symbol) items;
};

// A symbol without a size may reach to the end of its section, but no further.
static uint64_t size_in_section(Elf *elf, const GElf_Sym *symbol) {
	GElf_Shdr header;
	Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
	if (!section || !gelf_getshdr(section, &header) || symbol->st_value < header.sh_addr ||
	    symbol->st_value - header.sh_addr >= header.sh_size)
		return 0;
	return header.sh_size - (symbol->st_value - header.sh_addr);
}

static void read_table(Elf *elf, uint32_t type, struct symbol_list *list) {
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
		// Arm's and RISC-V's marks of code and data ("$x") are no names.
		if (!name || !*name || *name == '$')
			continue;
		array_push(&list->items,
			   (struct elf_symbol){.address = symbol.st_value,
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

static void take_symbols(struct elf_object *object, struct symbol_list *list) {
	struct elf_symbol *items = list->items.items;
	size_t kept = 0;
	if (list->items.count)
		qsort(items, list->items.count, sizeof(*items), compare_symbols);
	for (size_t i = 0; i < list->items.count; i++)
		if (!kept || items[i].address != items[kept - 1].address)
			items[kept++] = items[i];
	object->symbols = items;
	object->symbol_count = kept;
}

struct elf_symbol *elf_symbol_at(const struct elf_object *object, uint64_t address) {
	size_t low = 0, high = object->symbol_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (object->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	// A small symbol may lie inside a large one.
	for (size_t back = 0; back < 8 && low > back; back++) {
		struct elf_symbol *symbol = &object->symbols[low - 1 - back];
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

static Elf *open_elf(const char *path, int *file) {
	struct stat status;
	*file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*file < 0)
		return NULL;
	Elf *elf = NULL;
	if (fstat(*file, &status) == 0 && S_ISREG(status.st_mode))
		elf = elf_begin(*file, ELF_C_READ_MMAP, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		return elf;
	elf_end(elf);
	close(*file);
	*file = -1;
	return NULL;
}

// Where files with this build id may be; "" at the end.
static Elf *open_by_build_id(const char *build_id, int *file) {
	const char *home = getenv("HOME");
	const char *const forms[] = {"%s/.debug/.build-id/%.2s/%s/debug", "%s/.debug/.build-id/%.2s/%s/elf",
				     "%s/usr/lib/debug/.build-id/%.2s/%s.debug"};
	for (size_t i = 0; i < ARRAY_SIZE(forms) && strlen(build_id) > 2; i++) {
		char path[4096];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(path, sizeof(path), forms[i], i < 2 && home ? home : "", build_id, build_id + 2);
#pragma GCC diagnostic pop
		Elf *elf = open_elf(path, file);
		if (elf)
			return elf;
	}
	return NULL;
}

static void fill_code(struct elf_object *object, Elf *elf) {
	GElf_Ehdr header;
	if (gelf_getehdr(elf, &header)) {
		object->machine = header.e_machine;
		object->entry = header.e_entry;
	}
	read_segments(elf, object);
	find_eh_frame(elf, object);
}

static void fill(struct elf_object *object, Elf *elf) {
	fill_code(object, elf);
	struct symbol_list list = {0};
	read_table(elf, SHT_SYMTAB, &list);
	// Also for the debug information that a stripped file lacks.
	GElf_Shdr section;
	bool stripped = !list.items.count || !section_by_name(elf, ".debug_info", &section);
	if (stripped && !object->handles[1] && object->build_id[0])
		object->handles[1] = open_by_build_id(object->build_id, &object->files[1]);
	if (!list.items.count && object->handles[1])
		read_table(object->handles[1], SHT_SYMTAB, &list);
	if (!list.items.count)
		read_table(elf, SHT_DYNSYM, &list);
	take_symbols(object, &list);
}

struct elf_object *elf_open(const char *path, const char *build_id) {
	elf_version(EV_CURRENT);
	struct elf_object *object = memory_alloc(sizeof(*object));
	object->files[0] = object->files[1] = -1;
	Elf *elf = open_elf(path, &object->files[0]);
	if (elf) {
		read_build_id(elf, object->build_id);
		if (*build_id && strcmp(object->build_id, build_id) != 0) { // another version of it
			elf_end(elf);
			close(object->files[0]);
			object->files[0] = -1;
			elf = NULL;
		}
	}
	if (!elf && *build_id) {
		elf = open_by_build_id(build_id, &object->files[0]);
		snprintf(object->build_id, sizeof(object->build_id), "%s", build_id);
	}
	if (!elf) {
		free(object);
		return NULL;
	}
	object->handles[0] = elf;
	fill(object, elf);
	return object;
}

struct elf_object *elf_open_memory(const void *bytes, size_t size) {
	elf_version(EV_CURRENT);
	Elf *elf = elf_memory((char *)(uintptr_t)bytes, size);
	if (!elf)
		return NULL;
	struct elf_object *object = memory_alloc(sizeof(*object));
	object->files[0] = object->files[1] = -1;
	object->handles[0] = elf;
	read_build_id(elf, object->build_id);
	fill(object, elf);
	return object;
}

static struct elf_object *with_code(Elf *elf, int file) {
	struct elf_object *object = memory_alloc(sizeof(*object));
	object->files[0] = file;
	object->files[1] = -1;
	object->handles[0] = elf;
	read_build_id(elf, object->build_id);
	fill_code(object, elf);
	return object;
}

struct elf_object *elf_open_code(const char *path) {
	int file;
	elf_version(EV_CURRENT);
	Elf *elf = open_elf(path, &file);
	return elf ? with_code(elf, file) : NULL;
}

struct elf_object *elf_open_code_memory(const void *bytes, size_t size) {
	elf_version(EV_CURRENT);
	Elf *elf = elf_memory((char *)(uintptr_t)bytes, size);
	return elf ? with_code(elf, -1) : NULL;
}

void elf_let_go(struct elf_object *object) {
	for (int i = 0; i < 2; i++) {
		if (object->handles[i])
			elf_end(object->handles[i]);
		if (object->files[i] >= 0)
			close(object->files[i]);
		object->handles[i] = NULL;
		object->files[i] = -1;
	}
	object->eh_frame = NULL;
}

void elf_close(struct elf_object *object) {
	if (!object)
		return;
	elf_let_go(object);
	free(object->symbols);
	free(object->segments);
	free(object->text);
	free(object);
}
