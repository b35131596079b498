#include "symbol/image.h"

#include "base/array.h"
#include "base/map.h"
#include "symbol/names.h"
#include "symbol/windows/pe.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert((int)PDB_MOST_FUNCTIONS <= (int)MOST_NAMED, "all functions of a place fit");

// Functions that have been asked for: by address, allocated.
static struct elf_symbol *symbol_at(struct elf_object *object, const struct pdb_function *function) {
	uint64_t *known = map_put(&object->asked, function->begin);
	if (!*known) {
		struct elf_symbol *symbol = memory_alloc(sizeof(*symbol));
		*symbol = (struct elf_symbol){.address = function->begin, .name = function->name};
		*known = (uintptr_t)symbol;
	}
	return (struct elf_symbol *)(uintptr_t)*known;
}

size_t image_functions(struct elf_object *object, uint64_t address, bool inlined, struct named *found,
		       struct code_range *range) {
	struct pdb_function functions[PDB_MOST_FUNCTIONS];
	size_t count = pdb_functions(object->pdb, address, inlined, functions, range);
	for (size_t i = 0; i < count; i++) {
		bool inner = functions[i].inlined;
		found[i] = (struct named){.name = functions[i].name,
					  .begin = functions[i].begin,
					  .symbol = inner ? NULL : symbol_at(object, &functions[i]),
					  .kind = inner ? FRAME_INLINED : FRAME_USER};
	}
	if (!count)
		found[count++] = (struct named){.begin = address};
	return count;
}

size_t image_sources(struct elf_object *object, uint64_t address, bool declarations, struct source *found,
		     struct code_range *range) {
	struct pdb_source sources[PDB_MOST_FUNCTIONS];
	size_t count = declarations
			       ? pdb_declarations(object->pdb, address, sources, PDB_MOST_FUNCTIONS, range)
			       : pdb_lines(object->pdb, address, sources, PDB_MOST_FUNCTIONS);
	if (!declarations)
		*range = (struct code_range){address, address + 1};
	for (size_t i = 0; i < count; i++)
		found[i] = (struct source){.file = sources[i].file, .line = sources[i].line};
	return count;
}

static void release(struct elf_object *object) {
	pdb_close(object->pdb);
	for (size_t i = 0; i < object->asked.capacity; i++)
		if (object->asked.slots[i].used)
			free((void *)(uintptr_t)object->asked.slots[i].value);
	map_free(&object->asked);
	munmap((void *)(uintptr_t)object->image, object->image_size);
}

// From the names of the program or library itself.
static bool is_library(struct elf_object *object, const char *id, uint64_t build) {
	struct pe pe;
	struct pe_names names;
	if (!pe_read(&pe, object->image, object->image_size, &names))
		return false;
	object->text = names.text;
	object->symbol_count = names.count;
	object->symbols = memory_alloc((names.count + 1) * sizeof(*object->symbols));
	for (size_t i = 0; i < names.count; i++)
		object->symbols[i] = (struct elf_symbol){.address = names.items[i].address,
							 .size = names.items[i].size,
							 .name = names.items[i].name};
	free(names.items);
	strcpy(object->build_id, pe.id);
	bool same = *id && strcmp(pe.id, id) == 0;
	return same || (build && build == ((uint64_t)pe.time << 32 | pe.image_size));
}

struct elf_object *image_open_file(int file, const char *id, uint64_t build) {
	struct stat status;
	if (file < 0)
		return NULL;
	void *bytes = fstat(file, &status) == 0 && status.st_size > 0
			      ? mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0)
			      : MAP_FAILED;
	close(file);
	if (bytes == MAP_FAILED)
		return NULL;
	struct elf_object *object = memory_alloc(sizeof(*object));
	object->files[0] = object->files[1] = -1;
	object->image = bytes;
	object->image_size = (size_t)status.st_size;
	object->release = release;
	object->pdb = pdb_open(bytes, object->image_size);
	if (object->pdb) {
		strcpy(object->build_id, pdb_id(object->pdb));
		object->functions = image_functions;
	}
	if (object->pdb ? strcmp(pdb_id(object->pdb), id) == 0 : is_library(object, id, build))
		return object;
	elf_close(object);
	return NULL;
}
