// libdw's dwarf_getscopes() walks over a compilation unit for every address, which is
// why perf script with inlined functions manages two samples a second. Here each
// unit is walked once, when the first address in it is asked for: its functions in
// order of address, and for each its inlined calls with their depth. An answer is
// then a search, and a look at the calls of one function. Names and declarations are
// looked up for answers only: who asks remembers them.
#include "symbol/inlined.h"

#include "base/array.h"
#include "base/map.h"
#include "base/memory.h"
#include "symbol/inflated.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>

enum { DEEPEST = 200, MOST_CALLS = 1 << 22, MOST_LINES = 1 << 22 };

struct call {
	uint64_t begin, end;
	Dwarf_Off die;
	uint32_t depth;
};

struct function {
	uint64_t begin, end;
	Dwarf_Off die;
	size_t first_call, call_count;
};

struct unit {
	uint64_t begin, end;
	Dwarf_Off die;
};

struct loaded_unit {
	ARRAY(struct function) functions;
	ARRAY(struct call) calls;
};

struct inlined_table {
	Dwarf *dwarf;
	struct inflated inflated;
	Dwarf_Aranges *ranges;    // a list of which unit is where; NULL: there is none
	ARRAY(struct unit) units; // a unit once for each of its ranges, in order of address
	bool units_listed;        // made when the list does not know an address
	ARRAY(struct loaded_unit) loaded;
	struct map loaded_index; // by the offset of the unit's DIE, to one more than the index
	size_t lines;            // that libdw keeps, of the units whose files have been asked for
	struct map counted;      // those units, by their offset
};

// ---- one unit ----

static const char *name_of(Dwarf_Die *die) {
	static const int attributes[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
		Dwarf_Attribute attribute;
		const char *name = dwarf_formstring(
			dwarf_attr_integrate(die, (unsigned)attributes[i], &attribute));
		if (name && *name)
			return name;
	}
	return "(inlined)";
}

static void add_calls(struct loaded_unit *unit, Dwarf_Die *die, uint32_t depth) {
	Dwarf_Off offset = dwarf_dieoffset(die);
	Dwarf_Addr base, begin, end;
	for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0;)
		if (begin < end && unit->calls.count < MOST_CALLS)
			array_push(&unit->calls, (struct call){begin, end, offset, depth});
}

// A function's ranges (a cold part is one of its own) share its calls.
static void add_functions(struct loaded_unit *unit, Dwarf_Die *die, size_t first_call) {
	Dwarf_Addr base, begin, end;
	for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0;)
		if (begin < end)
			array_push(&unit->functions,
				   (struct function){begin, end, dwarf_dieoffset(die), first_call,
						     unit->calls.count - first_call});
}

// What is inlined below a DIE: blocks nest, calls nest deeper.
static void walk_calls(struct loaded_unit *unit, Dwarf_Die *die, uint32_t depth, unsigned level) {
	Dwarf_Die child;
	if (level == DEEPEST || dwarf_child(die, &child) != 0)
		return;
	do {
		int tag = dwarf_tag(&child);
		if (tag == DW_TAG_inlined_subroutine) {
			add_calls(unit, &child, depth);
			walk_calls(unit, &child, depth + 1, level + 1);
		} else if (tag == DW_TAG_lexical_block) {
			walk_calls(unit, &child, depth, level + 1);
		}
	} while (dwarf_siblingof(&child, &child) == 0);
}

static void walk_unit(struct loaded_unit *unit, Dwarf_Die *die, unsigned level) {
	Dwarf_Die child;
	if (level == DEEPEST || dwarf_child(die, &child) != 0)
		return;
	do {
		int tag = dwarf_tag(&child);
		if (tag == DW_TAG_subprogram) {
			size_t first_call = unit->calls.count;
			walk_calls(unit, &child, 0, level + 1);
			add_functions(unit, &child, first_call);
		}
		// Functions are also inside namespaces and types, in Rust inside functions.
		if (tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
		    tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type || tag == DW_TAG_module ||
		    tag == DW_TAG_subprogram)
			walk_unit(unit, &child, level + 1);
	} while (dwarf_siblingof(&child, &child) == 0);
}

static int compare_functions(const void *left, const void *right) {
	const struct function *a = left, *b = right;
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static const struct loaded_unit *load_unit(struct inlined_table *table, Dwarf_Off offset) {
	uint64_t *index = map_put(&table->loaded_index, offset);
	if (*index)
		return &table->loaded.items[*index - 1];
	struct loaded_unit unit = {0};
	Dwarf_Die die;
	if (dwarf_offdie(table->dwarf, offset, &die))
		walk_unit(&unit, &die, 0);
	if (unit.functions.count)
		qsort(unit.functions.items, unit.functions.count, sizeof(struct function), compare_functions);
	array_push(&table->loaded, unit);
	*index = table->loaded.count;
	return &table->loaded.items[*index - 1];
}

// ---- the table ----

static int compare_units(const void *left, const void *right) {
	const struct unit *a = left, *b = right;
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static void list_units(struct inlined_table *table) {
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	table->units_listed = true;
	while (dwarf_get_units(table->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
		Dwarf_Addr base, begin, end;
		for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0;)
			if (begin < end)
				array_push(&table->units, (struct unit){begin, end, dwarf_dieoffset(&die)});
	}
	if (table->units.count)
		qsort(table->units.items, table->units.count, sizeof(struct unit), compare_units);
}

static void open_dwarf(struct inlined_table *table, Elf *elf) {
	table->inflated = inflated_open(elf);
	table->dwarf = dwarf_begin_elf(table->inflated.elf ? table->inflated.elf : elf, DWARF_C_READ, NULL);
	if (!table->dwarf)
		inflated_close(&table->inflated);
}

struct inlined_table *inlined_table_new(struct elf_object *object) {
	struct inlined_table *table = memory_alloc(sizeof(*table));
	// A separate debug file has what the stripped one lacks.
	for (int i = 1; i >= 0 && !table->dwarf; i--)
		if (object->handles[i])
			open_dwarf(table, object->handles[i]);
	if (!table->dwarf) {
		free(table);
		return NULL;
	}
	size_t count;
	if (dwarf_getaranges(table->dwarf, &table->ranges, &count))
		table->ranges = NULL;
	return table;
}

void inlined_table_free(struct inlined_table *table) {
	if (!table)
		return;
	for (size_t i = 0; i < table->loaded.count; i++) {
		array_free(&table->loaded.items[i].functions);
		array_free(&table->loaded.items[i].calls);
	}
	array_free(&table->loaded);
	map_free(&table->loaded_index);
	map_free(&table->counted);
	array_free(&table->units);
	dwarf_end(table->dwarf);
	inflated_close(&table->inflated);
	free(table);
}

// Compilers write a list of which unit is where, but not all of them do, so it may know a part only.
static bool unit_at(struct inlined_table *table, uint64_t address, Dwarf_Off *die) {
	Dwarf_Arange *range = table->ranges ? dwarf_getarange_addr(table->ranges, address) : NULL;
	if (range && dwarf_getarangeinfo(range, NULL, NULL, die) == 0)
		return true;
	if (!table->units_listed)
		list_units(table);
	size_t low = 0, high = table->units.count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (table->units.items[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= table->units.items[low - 1].end)
		return false;
	*die = table->units.items[low - 1].die;
	return true;
}

static const struct function *function_at(const struct loaded_unit *unit, uint64_t address) {
	size_t low = 0, high = unit->functions.count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (unit->functions.items[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < unit->functions.items[low - 1].end ? &unit->functions.items[low - 1] : NULL;
}

// The function at an address and the calls inlined there, outermost first. NULL: it is not known.
static const struct function *calls_at(struct inlined_table *table, uint64_t address, Dwarf_Off *calls,
				       size_t room, size_t *count) {
	Dwarf_Off unit;
	*count = 0;
	if (!unit_at(table, address, &unit))
		return NULL;
	const struct loaded_unit *loaded = load_unit(table, unit);
	const struct function *function = function_at(loaded, address);
	// Calls stand in the order of the walk: an outer one before those inside it.
	for (size_t i = 0; function && i < function->call_count; i++) {
		const struct call *call = &loaded->calls.items[function->first_call + i];
		if (address >= call->begin && address < call->end && call->depth == *count && *count < room)
			calls[(*count)++] = call->die;
	}
	return function;
}

size_t inlined_at(struct inlined_table *table, uint64_t address, const char **names, size_t room) {
	Dwarf_Off calls[DEEPEST_INLINED];
	size_t count;
	calls_at(table, address, calls, MIN(room, DEEPEST_INLINED), &count);
	for (size_t i = 0; i < count; i++) {
		Dwarf_Die die;
		names[i] = dwarf_offdie(table->dwarf, calls[count - 1 - i], &die) ? name_of(&die)
										  : "(inlined)";
	}
	return count;
}

// A file by its number in the table of the unit where the attribute stands.
static const char *file_name(struct inlined_table *table, Dwarf_Attribute *attribute, Dwarf_Word number) {
	Dwarf_Die unit;
	Dwarf_Half version;
	Dwarf_Files *files;
	Dwarf_Lines *lines;
	size_t file_count, line_count;
	if (dwarf_cu_info(attribute->cu, &version, NULL, &unit, NULL, NULL, NULL, NULL))
		return NULL;
	// With the files libdw reads all lines, and keeps them.
	if (table->lines >= MOST_LINES || dwarf_getsrcfiles(&unit, &files, &file_count) ||
	    number >= file_count || (!number && version < 5))
		return NULL;
	uint64_t *counted = map_put(&table->counted, dwarf_dieoffset(&unit));
	if (!*counted && !dwarf_getsrclines(&unit, &lines, &line_count))
		table->lines += line_count;
	*counted = 1;
	return dwarf_filesrc(files, number, NULL, NULL);
}

static struct declaration declaration_of(struct inlined_table *table, Dwarf_Off offset) {
	struct declaration found = {0};
	Dwarf_Attribute attribute;
	Dwarf_Word line, file;
	Dwarf_Die die;
	if (!dwarf_offdie(table->dwarf, offset, &die) ||
	    dwarf_formudata(dwarf_attr_integrate(&die, DW_AT_decl_line, &attribute), &line) ||
	    dwarf_formudata(dwarf_attr_integrate(&die, DW_AT_decl_file, &attribute), &file))
		return found;
	found.file = file_name(table, &attribute, file);
	found.line = found.file && line <= UINT32_MAX ? (uint32_t)line : 0;
	return found;
}

size_t declarations_at(struct inlined_table *table, uint64_t address, struct declaration *found,
		       size_t room) {
	Dwarf_Off calls[DEEPEST_INLINED];
	size_t count;
	const struct function *function = calls_at(table, address, calls, MIN(room - 1, DEEPEST_INLINED),
						   &count);
	if (!function)
		return 0;
	for (size_t i = 0; i < count; i++)
		found[i] = declaration_of(table, calls[count - 1 - i]);
	found[count] = declaration_of(table, function->die);
	return count + 1;
}

bool line_at(struct inlined_table *table, uint64_t address, const char **file, int *line) {
	Dwarf_Off unit;
	Dwarf_Die die;
	if (!unit_at(table, address, &unit) || !dwarf_offdie(table->dwarf, unit, &die))
		return false;
	Dwarf_Line *found = dwarf_getsrc_die(&die, address);
	const char *path = found ? dwarf_linesrc(found, NULL, NULL) : NULL;
	if (!path || dwarf_lineno(found, line))
		return false;
	const char *slash = strrchr(path, '/');
	*file = slash ? slash + 1 : path;
	return true;
}
