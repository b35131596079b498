// libdw's dwarf_getscopes() walks over a compilation unit for every address, which is why perf
// script with inlined functions manages two samples a second. Here each unit is walked once, when
// its first address is looked up: its functions in order of address, and for each its inlined calls
// with their depth. A lookup is then a search, and a scan of the calls of one function. Names and
// declarations are read only for results; the caller caches them.
#include "symbol/inlined.h"

#include "base/array.h"
#include "base/map.h"
#include "base/memory.h"
#include "symbol/debug_file.h"
#include "symbol/inflated.h"
#include "symbol/section.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <stdio.h>
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
	Dwarf *shared; // what it has in common with others; NULL if there is none
	Elf *shared_elf;
	int shared_file;
	Dwarf_Aranges *ranges;    // maps addresses to units; NULL if missing
	ARRAY(struct unit) units; // one entry for each range of a unit, sorted by address
	bool units_listed;        // built when `ranges` does not contain an address
	ARRAY(struct loaded_unit) loaded;
	struct map loaded_index; // offset of the unit's DIE to index + 1
	size_t lines;            // number of lines that libdw keeps, for units whose files were needed
	struct map counted;      // those units, by offset
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

// All ranges of a function (its cold part is a separate one) share its calls.
static void add_functions(struct loaded_unit *unit, Dwarf_Die *die, size_t first_call) {
	Dwarf_Addr base, begin, end;
	for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0;)
		if (begin < end)
			array_push(&unit->functions,
				   (struct function){begin, end, dwarf_dieoffset(die), first_call,
						     unit->calls.count - first_call});
}

// Collects what is inlined below a DIE: blocks nest, calls nest deeper.
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

// libdw would look for it by name, which the process may not be allowed to do.
static void open_shared(struct inlined_table *table) {
	enum { LARGEST = (BUILD_ID_TEXT - 1) / 2 };
	char text[BUILD_ID_TEXT] = "";
	const char *name;
	const void *id;
	ssize_t size = dwelf_dwarf_gnu_debugaltlink(table->dwarf, &name, &id);
	table->shared_file = -1;
	if (size <= 0 || size > LARGEST)
		return;
	for (ssize_t i = 0; i < size; i++)
		snprintf(text + 2 * i, 3, "%02x", ((const uint8_t *)id)[i]);
	table->shared_elf = debug_file_shared(name, text, &table->shared_file);
	table->shared = table->shared_elf ? dwarf_begin_elf(table->shared_elf, DWARF_C_READ, NULL) : NULL;
	if (table->shared)
		dwarf_setalt(table->dwarf, table->shared);
}

static void close_shared(struct inlined_table *table) {
	if (table->shared)
		dwarf_end(table->shared);
	section_close_elf(table->shared_elf, table->shared_file);
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
	open_shared(table);
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
	close_shared(table);
	inflated_close(&table->inflated);
	free(table);
}

// Some compilers write a list of units by address; as not all do, the list may be incomplete.
static bool unit_at(struct inlined_table *table, uint64_t address, Dwarf_Off *die,
		    struct code_range *around) {
	Dwarf_Arange *range = table->ranges ? dwarf_getarange_addr(table->ranges, address) : NULL;
	Dwarf_Addr begin;
	Dwarf_Word size;
	if (range && dwarf_getarangeinfo(range, &begin, &size, die) == 0) {
		range_narrow(around, address, begin, size);
		return true;
	}
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
	range_from(around, table->units.items[low - 1].begin);
	range_to(around, table->units.items[low - 1].end);
	if (low < table->units.count)
		range_to(around, table->units.items[low].begin);
	*die = table->units.items[low - 1].die;
	return true;
}

static const struct function *function_at(const struct loaded_unit *unit, uint64_t address,
					  struct code_range *around) {
	size_t low = 0, high = unit->functions.count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (unit->functions.items[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	const struct function *function = low ? &unit->functions.items[low - 1] : NULL;
	if (low < unit->functions.count)
		range_to(around, unit->functions.items[low].begin);
	if (function)
		range_narrow(around, address, function->begin, function->end - function->begin);
	return function && address < function->end ? function : NULL;
}

// The function at an address and the calls inlined there, outermost first. NULL if unknown.
static const struct function *calls_at(struct inlined_table *table, uint64_t address, Dwarf_Off *calls,
				       size_t room, size_t *count, struct code_range *around) {
	Dwarf_Off unit;
	*count = 0;
	if (!unit_at(table, address, &unit, around)) {
		*around = (struct code_range){address, address + 1}; // units may begin anywhere
		return NULL;
	}
	const struct loaded_unit *loaded = load_unit(table, unit);
	const struct function *function = function_at(loaded, address, around);
	// Calls are in the order of the walk: outer calls before those inside them.
	for (size_t i = 0; function && i < function->call_count; i++) {
		const struct call *call = &loaded->calls.items[function->first_call + i];
		range_narrow(around, address, call->begin, call->end - call->begin);
		if (address >= call->begin && address < call->end && call->depth == *count && *count < room)
			calls[(*count)++] = call->die;
	}
	return function;
}

size_t inlined_at(struct inlined_table *table, uint64_t address, const char **names, size_t room) {
	return inlined_around(table, address, names, room, &CODE_RANGE_ALL);
}

size_t inlined_around(struct inlined_table *table, uint64_t address, const char **names, size_t room,
		      struct code_range *around) {
	Dwarf_Off calls[DEEPEST_INLINED];
	size_t count;
	calls_at(table, address, calls, MIN(room, DEEPEST_INLINED), &count, around);
	for (size_t i = 0; i < count; i++) {
		Dwarf_Die die;
		names[i] = dwarf_offdie(table->dwarf, calls[count - 1 - i], &die) ? name_of(&die)
										  : "(inlined)";
	}
	return count;
}

// A file by its number in the table of the unit that contains the attribute.
static const char *file_name(struct inlined_table *table, Dwarf_Attribute *attribute, Dwarf_Word number) {
	Dwarf_Die unit;
	Dwarf_Half version;
	Dwarf_Files *files;
	Dwarf_Lines *lines;
	size_t file_count, line_count;
	if (dwarf_cu_info(attribute->cu, &version, NULL, &unit, NULL, NULL, NULL, NULL))
		return NULL;
	// libdw reads all lines with the files, and keeps them.
	if (table->lines >= MOST_LINES || dwarf_getsrcfiles(&unit, &files, &file_count) ||
	    number >= file_count || (!number && version < 5))
		return NULL;
	uint64_t *counted = map_put(&table->counted, dwarf_dieoffset(&unit));
	if (!*counted && !dwarf_getsrclines(&unit, &lines, &line_count))
		table->lines += line_count;
	*counted = 1;
	return dwarf_filesrc(files, number, NULL, NULL);
}

static struct source source_of(struct inlined_table *table, Dwarf_Off offset, unsigned file_attribute,
			       unsigned line_attribute) {
	struct source found = {0};
	Dwarf_Attribute attribute;
	Dwarf_Word line, file;
	Dwarf_Die die;
	if (!dwarf_offdie(table->dwarf, offset, &die) ||
	    dwarf_formudata(dwarf_attr_integrate(&die, line_attribute, &attribute), &line) ||
	    dwarf_formudata(dwarf_attr_integrate(&die, file_attribute, &attribute), &file))
		return found;
	found.file = file_name(table, &attribute, file);
	found.line = found.file && line <= UINT32_MAX ? (uint32_t)line : 0;
	return found;
}

size_t declarations_at(struct inlined_table *table, uint64_t address, struct source *found, size_t room) {
	return declarations_around(table, address, found, room, &CODE_RANGE_ALL);
}

size_t declarations_around(struct inlined_table *table, uint64_t address, struct source *found, size_t room,
			   struct code_range *around) {
	Dwarf_Off calls[DEEPEST_INLINED];
	size_t count;
	const struct function *function = calls_at(table, address, calls, MIN(room - 1, DEEPEST_INLINED),
						   &count, around);
	if (!function)
		return 0;
	for (size_t i = 0; i < count; i++)
		found[i] = source_of(table, calls[count - 1 - i], DW_AT_decl_file, DW_AT_decl_line);
	found[count] = source_of(table, function->die, DW_AT_decl_file, DW_AT_decl_line);
	return count + 1;
}

static struct source code_at(struct inlined_table *table, uint64_t address) {
	Dwarf_Off unit;
	Dwarf_Die die;
	int line;
	if (!unit_at(table, address, &unit, &CODE_RANGE_ALL) || !dwarf_offdie(table->dwarf, unit, &die))
		return (struct source){0};
	Dwarf_Line *found = dwarf_getsrc_die(&die, address);
	const char *path = found ? dwarf_linesrc(found, NULL, NULL) : NULL;
	if (!path || dwarf_lineno(found, &line) || line <= 0) // 0 for no source line
		return (struct source){0};
	return (struct source){path, (uint32_t)line};
}

size_t lines_at(struct inlined_table *table, uint64_t address, struct source *found, size_t room) {
	Dwarf_Off calls[DEEPEST_INLINED];
	size_t count;
	calls_at(table, address, calls, MIN(room - 1, DEEPEST_INLINED), &count, &CODE_RANGE_ALL);
	found[0] = code_at(table, address);
	for (size_t i = 1; i <= count; i++)
		found[i] = source_of(table, calls[count - i], DW_AT_call_file, DW_AT_call_line);
	return count + 1;
}
