#include "symbol/windows/pdb_parts.h"

#include <stdio.h>
#include <stdlib.h>

enum { INFO_STREAM = 1, DEBUG_STREAM = 3, PUBLIC_SYMBOL = 0x110e };

void windows_id_text(char text[WINDOWS_ID_TEXT], const uint8_t guid[16], uint32_t age) {
	static const uint8_t order[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	for (size_t i = 0; i < sizeof(order); i++)
		snprintf(text + 2 * i, 3, "%02x", guid[order[i]]);
	snprintf(text + 32, 9, "%x", age);
}

bool pdb_address(const struct pdb *pdb, uint16_t section, uint32_t offset, uint32_t *address) {
	if (!section || section > pdb->sections.count)
		return false;
	*address = pdb->sections.items[section - 1].begin + offset;
	return offset < pdb->sections.items[section - 1].size;
}

// ---- the streams that everything needs ----

// A hash table from names to streams: the names, two sets of bits, and pairs of numbers.
static uint32_t named_stream(struct cursor in, const char *wanted) {
	uint32_t names_size = cursor_u32(&in);
	struct cursor names = cursor_slice(&in, names_size);
	uint32_t count = cursor_u32(&in);
	cursor_u32(&in); // how many fit
	for (int i = 0; i < 2; i++)
		cursor_take(&in, (size_t)cursor_u32(&in) * sizeof(uint32_t));
	for (uint32_t i = 0; i < count && !in.failed; i++) {
		uint32_t offset = cursor_u32(&in), stream = cursor_u32(&in);
		struct cursor name = names;
		cursor_take(&name, offset);
		const char *text = cursor_string(&name);
		if (!in.failed && text && strcmp(text, wanted) == 0)
			return stream;
	}
	return MSF_NONE;
}

static void read_texts(struct pdb *pdb, uint32_t stream) {
	size_t size;
	uint8_t *content = msf_read(&pdb->msf, stream, &size);
	struct cursor in = cursor_of(content, size);
	cursor_take(&in, 8); // signature, version
	uint32_t texts_size = cursor_u32(&in);
	if (!in.failed) {
		pdb->texts_size = MIN(texts_size, cursor_left(&in));
		memmove(content, in.at, pdb->texts_size);
	}
	pdb->texts = content;
}

static bool read_info(struct pdb *pdb, uint8_t guid[16]) {
	size_t size;
	CLEANUP_FREE uint8_t *content = msf_read(&pdb->msf, INFO_STREAM, &size);
	struct cursor in = cursor_of(content, size);
	cursor_take(&in, 12); // version, time, age
	cursor_copy(&in, guid, 16);
	if (in.failed)
		return false;
	read_texts(pdb, named_stream(in, "/names"));
	return true;
}

// ---- units ----

static void read_units(struct pdb *pdb, struct cursor in) {
	enum { PIECE_SIZE = 28 };
	const uint8_t *begin = in.at;
	while (cursor_left(&in) >= 64) {
		struct pdb_unit unit = {.files = {.failed = true}};
		cursor_take(&in, 4 + PIECE_SIZE + 2); // nothing, its first piece of code, flags
		unit.stream = cursor_u16(&in);
		unit.symbols_size = cursor_u32(&in);
		unit.old_lines_size = cursor_u32(&in);
		unit.lines_size = cursor_u32(&in);
		cursor_take(&in, 16); // about its source files
		cursor_string(&in);   // its name
		cursor_string(&in);   // that of its library
		if (in.failed)
			return;
		cursor_take(&in, MIN(-(size_t)(in.at - begin) & 3, cursor_left(&in)));
		array_push(&pdb->units, unit);
	}
}

static int by_begin(const void *left, const void *right) {
	const struct pdb_piece *a = left, *b = right;
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static void read_pieces(struct pdb *pdb, struct cursor in) {
	enum { WITH_COFF_SECTION = 0xeffe0000 + 20140516 };
	bool longer = cursor_u32(&in) == (uint32_t)WITH_COFF_SECTION;
	while (cursor_left(&in) >= 28) {
		struct pdb_piece piece;
		uint16_t section = cursor_u16(&in);
		cursor_u16(&in);
		uint32_t offset = cursor_u32(&in);
		piece.size = cursor_u32(&in);
		cursor_u32(&in); // what kind of section
		piece.unit = cursor_u16(&in);
		cursor_take(&in, 2 + 8 + (longer ? 4 : 0));
		if (!in.failed && piece.size && piece.unit < pdb->units.count &&
		    pdb_address(pdb, section, offset, &piece.begin))
			array_push(&pdb->pieces, piece);
	}
	if (pdb->pieces.count)
		qsort(pdb->pieces.items, pdb->pieces.count, sizeof(*pdb->pieces.items), by_begin);
}

// ---- sections and moved code ----

static void read_sections(struct pdb *pdb, uint32_t stream) {
	size_t size;
	CLEANUP_FREE uint8_t *content = msf_read(&pdb->msf, stream, &size);
	struct cursor in = cursor_of(content, size);
	while (cursor_left(&in) >= 40) {
		struct pdb_section section;
		cursor_take(&in, 8); // name
		section.size = cursor_u32(&in);
		section.begin = cursor_u32(&in);
		cursor_take(&in, 24);
		array_push(&pdb->sections, section);
	}
}

// Pairs of addresses, the first of which are in order.
static void read_moved(struct pdb *pdb, uint32_t stream) {
	size_t size;
	pdb->moved = (uint32_t *)(void *)msf_read(&pdb->msf, stream, &size);
	pdb->moved_count = size / 8;
}

// The address in the symbols for one in the module. False if the linker made that code.
static bool moved_address(const struct pdb *pdb, uint64_t *address) {
	size_t low = 0, high = pdb->moved_count;
	if (!high)
		return true;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (pdb->moved[2 * middle] <= *address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || !pdb->moved[2 * low - 1])
		return false;
	*address = *address - pdb->moved[2 * low - 2] + pdb->moved[2 * low - 1];
	return true;
}

// Numbers of more streams.
static void read_more_streams(struct pdb *pdb, struct cursor in) {
	enum { MOVED = 3, SECTIONS = 5, SECTIONS_BEFORE = 10, STREAMS };
	uint32_t streams[STREAMS];
	for (size_t i = 0; i < STREAMS; i++)
		streams[i] = cursor_left(&in) >= 2 ? cursor_u16(&in) : MSF_NONE;
	read_moved(pdb, streams[MOVED]);
	read_sections(pdb, streams[pdb->moved_count ? SECTIONS_BEFORE : SECTIONS]);
}

// ---- public symbols ----

static int by_address(const void *left, const void *right) {
	const struct pdb_symbol *a = left, *b = right;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->name < b->name ? -1 : 1; // the first one in the file
}

// Of several names for the same code, the first one stays. Public symbols have no size: one reaches to the
// next, or to the end of its section.
static void sort_publics(pdb_symbols *list) {
	size_t kept = 0;
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), by_address);
	for (size_t i = 0; i < list->count; i++)
		if (!kept || list->items[i].address != list->items[kept - 1].address)
			list->items[kept++] = list->items[i];
	list->count = kept;
	for (size_t i = 0; i + 1 < kept; i++)
		list->items[i].size = MIN(list->items[i].size,
					  list->items[i + 1].address - list->items[i].address);
}

static void read_publics(struct pdb *pdb, uint32_t stream) {
	enum { CODE = 1, FUNCTION = 2 };
	size_t size;
	pdb->publics_content = msf_read(&pdb->msf, stream, &size);
	struct cursor in = cursor_of(pdb->publics_content, size);
	while (cursor_left(&in) >= 4) {
		uint16_t length = cursor_u16(&in);
		struct cursor record = cursor_slice(&in, length);
		uint32_t address = 0;
		if (cursor_u16(&record) != PUBLIC_SYMBOL)
			continue;
		uint32_t flags = cursor_u32(&record), offset = cursor_u32(&record);
		uint16_t section = cursor_u16(&record);
		const char *name = cursor_string(&record);
		if (!record.failed && flags & (CODE | FUNCTION) &&
		    pdb_address(pdb, section, offset, &address)) {
			uint64_t rest = pdb->sections.items[section - 1].size - offset;
			array_push(&pdb->publics,
				   (struct pdb_symbol){.address = address, .size = rest, .name = name});
		}
	}
	sort_publics(&pdb->publics);
}

// ---- the file ----

static bool read_all(struct pdb *pdb) {
	uint8_t guid[16];
	size_t size;
	if (!read_info(pdb, guid))
		return false;
	CLEANUP_FREE uint8_t *content = msf_read(&pdb->msf, DEBUG_STREAM, &size);
	struct cursor in = cursor_of(content, size);
	cursor_take(&in, 8); // signature, version
	uint32_t age = cursor_u32(&in), sizes[5], units_size, pieces_size, other_size;
	cursor_take(&in, 8); // streams of globals and publics, which are indexes
	uint16_t publics = cursor_u16(&in);
	cursor_u16(&in);
	units_size = cursor_u32(&in);
	pieces_size = cursor_u32(&in);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		sizes[i] = cursor_u32(&in); // section map, files, type servers, a number, more streams
	other_size = cursor_u32(&in);
	cursor_take(&in, 8);
	struct cursor units = cursor_slice(&in, units_size), pieces = cursor_slice(&in, pieces_size);
	cursor_take(&in, (size_t)sizes[0] + sizes[1] + sizes[2]);
	cursor_take(&in, other_size);
	struct cursor streams = cursor_slice(&in, sizes[4]);
	if (in.failed)
		return false;
	windows_id_text(pdb->id, guid, age);
	read_more_streams(pdb, streams);
	read_units(pdb, units);
	read_pieces(pdb, pieces);
	read_publics(pdb, publics);
	return true;
}

struct pdb *pdb_open(const uint8_t *bytes, size_t size) {
	struct pdb *pdb = memory_alloc(sizeof(*pdb));
	if (msf_open(&pdb->msf, bytes, size) && read_all(pdb))
		return pdb;
	pdb_close(pdb);
	return NULL;
}

static void free_texts(struct map *map) {
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].used)
			free((void *)(uintptr_t)map->slots[i].value);
	map_free(map);
}

void pdb_close(struct pdb *pdb) {
	if (!pdb)
		return;
	for (size_t i = 0; i < pdb->units.count; i++)
		pdb_unit_free(&pdb->units.items[i]);
	array_free(&pdb->sections);
	array_free(&pdb->units);
	array_free(&pdb->pieces);
	array_free(&pdb->publics);
	pdb_types_free(&pdb->types);
	pdb_types_free(&pdb->ids);
	free_texts(&pdb->inlinee_names);
	free_texts(&pdb->spellings);
	free(pdb->publics_content);
	free(pdb->texts);
	free(pdb->moved);
	msf_close(&pdb->msf);
	free(pdb);
}

const char *pdb_id(const struct pdb *pdb) {
	return pdb->id;
}

// ---- answers ----

struct place {
	struct pdb_unit *unit; // NULL if the address is in none
	ptrdiff_t function;    // -1 if none is known
	uint32_t address;      // in the symbols
};

static struct place place_of(struct pdb *pdb, uint64_t address, struct code_range *range) {
	struct place place = {.function = -1, .address = (uint32_t)address};
	ptrdiff_t at = PDB_BEFORE(&pdb->pieces, begin, address);
	if (at >= 0)
		range_narrow(range, address, pdb->pieces.items[at].begin, pdb->pieces.items[at].size);
	if (at + 1 < (ptrdiff_t)pdb->pieces.count)
		range_to(range, pdb->pieces.items[at + 1].begin);
	if (at < 0 || address - pdb->pieces.items[at].begin >= pdb->pieces.items[at].size)
		return place;
	place.unit = &pdb->units.items[pdb->pieces.items[at].unit];
	pdb_unit_read(pdb, place.unit);
	const pdb_symbols *functions = &place.unit->functions;
	at = PDB_BEFORE(functions, address, address);
	if (at + 1 < (ptrdiff_t)functions->count)
		range_to(range, functions->items[at + 1].address);
	if (at < 0)
		return place;
	range_narrow(range, address, functions->items[at].address, functions->items[at].size);
	if (address - functions->items[at].address < functions->items[at].size)
		place.function = at;
	return place;
}

static const char *public_name(struct pdb *pdb, const struct pdb_symbol *symbol) {
	uint64_t *known = map_put(&pdb->spellings, (uintptr_t)symbol->name);
	if (!*known) {
		char *spelled = undecorate(symbol->name);
		*known = (uintptr_t)(spelled ? spelled : memory_string(symbol->name));
	}
	return (const char *)(uintptr_t)*known;
}

// For code of units that have no other symbols. If the function of this name is known with its size, the
// address is not in it.
static size_t public_at(struct pdb *pdb, uint64_t address, struct pdb_function *found,
			struct code_range *range) {
	struct code_range around = CODE_RANGE_ALL;
	ptrdiff_t at = PDB_BEFORE(&pdb->publics, address, address);
	struct pdb_symbol *symbol = at >= 0 ? &pdb->publics.items[at] : NULL;
	if (at + 1 < (ptrdiff_t)pdb->publics.count)
		range_to(range, pdb->publics.items[at + 1].address);
	if (symbol)
		range_narrow(range, address, symbol->address, symbol->size);
	if (!symbol || address - symbol->address >= symbol->size ||
	    place_of(pdb, symbol->address, &around).function >= 0)
		return 0;
	*found = (struct pdb_function){.name = public_name(pdb, symbol), .begin = symbol->address};
	return 1;
}

size_t pdb_functions(struct pdb *pdb, uint64_t address, bool inlined, struct pdb_function *found,
		     struct code_range *range) {
	const struct pdb_site *sites[PDB_DEEPEST_INLINED];
	uint64_t asked = address;
	struct code_range inner = pdb->moved_count ? CODE_RANGE_ALL : *range;
	size_t count = 0;
	if (!moved_address(pdb, &address) || address > UINT32_MAX)
		return 0;
	struct place place = place_of(pdb, address, &inner);
	if (place.function < 0) {
		count = public_at(pdb, address, found, &inner);
	} else {
		struct pdb_symbol *symbol = &place.unit->functions.items[place.function];
		if (inlined)
			count = pdb_unit_sites(place.unit, (size_t)place.function, place.address, sites,
					       PDB_DEEPEST_INLINED, &inner);
		for (size_t i = 0; i < count; i++)
			found[i] = (struct pdb_function){.name = pdb_inlinee_name(pdb, sites[i]->inlinee),
							 .inlined = true};
		found[count++] = (struct pdb_function){.name = symbol->name, .begin = symbol->address};
	}
	*range = pdb->moved_count ? (struct code_range){asked, asked + 1} : inner;
	return count;
}

static struct pdb_source line_at(const struct pdb *pdb, const struct pdb_unit *unit, uint32_t address) {
	enum { NO_LINE = 0xf00f00, ALWAYS = 0xfeefee };
	ptrdiff_t at = PDB_BEFORE(&unit->lines, address, address);
	const struct pdb_line *line = at >= 0 ? &unit->lines.items[at] : NULL;
	if (!line || !line->line || line->line == NO_LINE || line->line == ALWAYS)
		return (struct pdb_source){0};
	return (struct pdb_source){.file = pdb_unit_file(pdb, unit, line->file), .line = line->line};
}

size_t pdb_lines(struct pdb *pdb, uint64_t address, struct pdb_source *found, size_t room) {
	const struct pdb_site *sites[PDB_DEEPEST_INLINED];
	struct code_range range = CODE_RANGE_ALL;
	size_t count = 0;
	if (!moved_address(pdb, &address) || address > UINT32_MAX)
		return 0;
	struct place place = place_of(pdb, address, &range);
	if (!place.unit)
		return 0;
	if (place.function >= 0)
		count = pdb_unit_sites(place.unit, (size_t)place.function, place.address, sites,
				       MIN(room - 1, (size_t)PDB_DEEPEST_INLINED), &range);
	for (size_t i = 0; i < count; i++)
		found[i] = pdb_site_line(pdb, place.unit, sites[i], place.address);
	found[count] = line_at(pdb, place.unit, place.address);
	return count + 1;
}

size_t pdb_declarations(struct pdb *pdb, uint64_t address, struct pdb_source *found, size_t room,
			struct code_range *range) {
	const struct pdb_site *sites[PDB_DEEPEST_INLINED];
	struct code_range inner = CODE_RANGE_ALL;
	uint64_t asked = address;
	if (!moved_address(pdb, &address) || address > UINT32_MAX)
		return 0;
	struct place place = place_of(pdb, address, &inner);
	if (place.function < 0)
		return 0;
	size_t count = pdb_unit_sites(place.unit, (size_t)place.function, place.address, sites,
				      MIN(room - 1, (size_t)PDB_DEEPEST_INLINED), &inner);
	for (size_t i = 0; i < count; i++) {
		const struct pdb_inlinee *inlinee = pdb_unit_inlinee(place.unit, sites[i]->inlinee);
		found[i] = (struct pdb_source){0};
		if (inlinee)
			found[i] = (struct pdb_source){.file = pdb_unit_file(pdb, place.unit, inlinee->file),
						       .line = inlinee->line};
	}
	uint64_t begin = place.unit->functions.items[place.function].address;
	found[count] = line_at(pdb, place.unit, (uint32_t)begin);
	*range = pdb->moved_count ? (struct code_range){asked, asked + 1} : inner;
	return count + 1;
}
