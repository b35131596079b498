// Symbols come from elf.c, inlined functions and lines from inlined.c, demangled names from demangle.c; this
// combines them. Each name is demangled once and cached by its address in the mapped file.
#include "symbol/names.h"

#include "symbol/demangle.h"
#include "symbol/elf_unwind.h"
#include "symbol/jit.h"
#include "symbol/windows/pdb.h"

#include <string.h>
#include <sys/auxv.h>

enum { VDSO_SIZE = 2 * 4096 };

struct names {
	ARRAY(struct elf_object *) objects;
	ARRAY(char *) spellings;
	struct map spelling_of; // address of a symbol's name to index + 1
};

// ---- modules ----

struct elf_object *names_open_vdso(const char *build_id) {
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR); // NOLINT: an address
	struct elf_object *vdso = image ? elf_open_memory(image, VDSO_SIZE) : NULL;
	if (vdso && *build_id && strcmp(vdso->build_id, build_id) == 0)
		return vdso;
	elf_close(vdso);
	return NULL;
}

static struct elf_object *open_module(const char *path, const char *build_id, int held) {
	if (strcmp(path, "[vdso]") == 0)
		return names_open_vdso(build_id);
	if (jit_is_file(path))
		return jit_open_file(jit_find_file(path));
	if (*path != '/' && !*build_id && held < 0)
		return NULL;
	return elf_open_held(path, build_id, held);
}

struct elf_object *names_take(struct names *names, struct elf_object *object) {
	if (object)
		array_push(&names->objects, object);
	return object;
}

struct elf_object *names_open(struct names *names, const char *path, const char *build_id, int held) {
	return names_take(names, open_module(path, build_id, held));
}

struct inlined_table *names_debug_information(struct elf_object *object) {
	if (object && !object->absolute && !object->image && !object->inlined_tried) {
		object->inlined_tried = true;
		object->inlined = inlined_table_new(object);
	}
	return object ? object->inlined : NULL;
}

// ---- spelling ----

char *name_spelled(const char *symbol) {
	if (*symbol == '?')
		return undecorate(symbol);
	char *readable = demangle(symbol);
	if (readable || !strchr(symbol, '@'))
		return readable;
	return memory_format("%.*s", (int)strcspn(symbol, "@"), symbol);
}

static const char *spelled(struct names *names, const char *symbol) {
	if (!demangle_looks_mangled(symbol) && !strchr(symbol, '@'))
		return symbol;
	uint64_t *index = map_put(&names->spelling_of, (uintptr_t)symbol);
	if (!*index) {
		array_push(&names->spellings, name_spelled(symbol));
		*index = names->spellings.count;
	}
	const char *spelling = names->spellings.items[*index - 1];
	return spelling ? spelling : symbol;
}

// A stub's name is that of its function, so it has another key.
static const char *symbol_spelled(struct names *names, const struct elf_symbol *symbol) {
	if (!symbol->stub)
		return spelled(names, symbol->name);
	uint64_t *index = map_put(&names->spelling_of, (uintptr_t)symbol);
	if (!*index) {
		CLEANUP_FREE char *function = name_spelled(symbol->name);
		array_push(&names->spellings, memory_format("%s@plt", function ? function : symbol->name));
		*index = names->spellings.count;
	}
	return names->spellings.items[*index - 1];
}

// ---- functions ----

size_t names_functions(struct names *names, struct elf_object *object, uint64_t address, bool inlined,
		       struct named *found) {
	return names_functions_around(names, object, address, inlined, found, &CODE_RANGE_ALL);
}

size_t names_functions_around(struct names *names, struct elf_object *object, uint64_t address, bool inlined,
			      struct named *found, struct code_range *range) {
	const char *callees[DEEPEST_INLINED];
	if (object && object->functions)
		return object->functions(object, address, inlined, found, range);
	struct inlined_table *table = inlined ? names_debug_information(object) : NULL;
	size_t count = table ? inlined_around(table, address, callees, DEEPEST_INLINED, range) : 0;
	for (size_t i = 0; i < count; i++)
		found[i] = (struct named){.name = spelled(names, callees[i]), .kind = FRAME_INLINED};
	struct elf_symbol *symbol = object ? elf_symbol_around(object, address, range) : NULL;
	found[count] = (struct named){.name = symbol ? symbol_spelled(names, symbol) : NULL,
				      .begin = address,
				      .symbol = symbol,
				      .kind = object && object->absolute ? FRAME_JIT : FRAME_USER};
	return count + 1;
}

void names_declarations(struct elf_object *object, uint64_t address, struct named *found, size_t count) {
	struct source sources[MOST_NAMED];
	struct inlined_table *table = names_debug_information(object);
	// Without the inlined functions, the last one is the function itself.
	size_t known = table ? declarations_at(table, address, sources, MOST_NAMED) : 0;
	for (size_t i = 0; i < MIN(known, count); i++)
		found[count - 1 - i].declared = sources[known - 1 - i];
}

void names_lines(struct elf_object *object, uint64_t address, struct named *found, size_t count) {
	struct source sources[MOST_NAMED];
	struct inlined_table *table = names_debug_information(object);
	size_t known = table ? lines_at(table, address, sources, MOST_NAMED) : 0;
	for (size_t i = 0; i < MIN(known, count); i++)
		found[i].at = sources[i];
}

bool names_begin(struct elf_object *object, uint64_t address, uint64_t *begin) {
	return !object->absolute && elf_unwind_of(object) &&
	       unwind_function_at(object->unwind, address, begin);
}

// ---- for people ----

size_t names_describe(struct names *names, struct elf_object *object, uint64_t address, struct named *found) {
	size_t count = names_functions(names, object, address, true, found);
	names_lines(object, address, found, count);
	if (object && !found[count - 1].name)
		names_begin(object, address, &found[count - 1].begin);
	return count;
}

char *named_text(const struct named *named, const char *module) {
	return named->name ? memory_string(named->name) : frame_place(module, named->begin);
}

// ---- the whole ----

struct names *names_new(void) {
	return memory_alloc(sizeof(struct names));
}

void names_free(struct names *names) {
	if (!names)
		return;
	for (size_t i = 0; i < names->objects.count; i++) {
		unwind_table_free(names->objects.items[i]->unwind);
		inlined_table_free(names->objects.items[i]->inlined);
		elf_close(names->objects.items[i]);
	}
	for (size_t i = 0; i < names->spellings.count; i++)
		free(names->spellings.items[i]);
	array_free(&names->objects);
	array_free(&names->spellings);
	map_free(&names->spelling_of);
	free(names);
}
