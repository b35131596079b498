// One compilation unit: a list of symbol records, in which inlined calls are nested in their function, and
// "subsections" with lines, files and the places of inlined functions.
#include "symbol/windows/pdb_parts.h"

#include <stdlib.h>

enum {
	SYMBOL_END = 0x0006,
	SYMBOL_THUNK = 0x1102,
	SYMBOL_LOCAL_FUNCTION = 0x110f,
	SYMBOL_FUNCTION = 0x1110,
	SYMBOL_LOCAL_FUNCTION_ID = 0x1146,
	SYMBOL_FUNCTION_ID = 0x1147,
	SYMBOL_SITE = 0x114d,
	SYMBOL_SITE_END = 0x114e,
	SYMBOL_LOCAL_FUNCTION_DPC = 0x1155,
	SYMBOL_LOCAL_FUNCTION_DPC_ID = 0x1156,
	SYMBOL_SITE_COUNTED = 0x115d,
};

enum { LINES = 0xf2, FILES = 0xf4, INLINEES = 0xf6 };

// ---- symbols ----

struct nesting {
	ARRAY(uint32_t) open; // sites, index + 1
	bool in_function;
};

static void take_function(const struct pdb *pdb, struct pdb_unit *unit, struct nesting *nesting,
			  struct cursor in, bool thunk) {
	cursor_take(&in, 12); // parent, end, next
	uint32_t size = thunk ? 0 : cursor_u32(&in), address;
	cursor_take(&in, thunk ? 0 : 12); // where its own code begins and ends; its type
	uint32_t offset = cursor_u32(&in);
	uint16_t section = cursor_u16(&in);
	if (thunk)
		size = cursor_u16(&in);
	cursor_u8(&in); // flags, or what the thunk is for
	const char *name = cursor_string(&in);
	nesting->open.count = 0;
	nesting->in_function = name && pdb_address(pdb, section, offset, &address);
	if (!nesting->in_function)
		return;
	struct pdb_symbol function = {.address = address, .size = size, .name = name};
	function.place = (uint32_t)unit->functions.count;
	array_push(&unit->functions, function);
}

static void take_site(struct pdb_unit *unit, struct nesting *nesting, struct cursor in, bool counted) {
	uint32_t parent = nesting->open.count ? nesting->open.items[nesting->open.count - 1] : 0;
	cursor_take(&in, 8); // parent, end
	struct pdb_site site = {.parent = parent, .inlinee = cursor_u32(&in)};
	if (counted)
		cursor_u32(&in);
	site.ranges = in;
	site.function = (uint32_t)unit->functions.count - 1;
	array_push(&nesting->open, 0);
	if (in.failed || !nesting->in_function)
		return;
	array_push(&unit->sites, site);
	nesting->open.items[nesting->open.count - 1] = (uint32_t)unit->sites.count;
}

static void take_symbol(const struct pdb *pdb, struct pdb_unit *unit, struct nesting *nesting, uint16_t kind,
			struct cursor in) {
	switch (kind) {
	case SYMBOL_LOCAL_FUNCTION:
	case SYMBOL_FUNCTION:
	case SYMBOL_LOCAL_FUNCTION_ID:
	case SYMBOL_FUNCTION_ID:
	case SYMBOL_LOCAL_FUNCTION_DPC:
	case SYMBOL_LOCAL_FUNCTION_DPC_ID:
	case SYMBOL_THUNK:
		take_function(pdb, unit, nesting, in, kind == SYMBOL_THUNK);
		break;
	case SYMBOL_SITE:
	case SYMBOL_SITE_COUNTED:
		take_site(unit, nesting, in, kind == SYMBOL_SITE_COUNTED);
		break;
	case SYMBOL_SITE_END:
		nesting->open.count -= nesting->open.count > 0;
		break;
	default:
		break;
	}
}

static void read_symbols(const struct pdb *pdb, struct pdb_unit *unit, struct cursor in) {
	struct nesting nesting = {0};
	cursor_u32(&in); // signature
	while (cursor_left(&in) >= 4) {
		uint16_t length = cursor_u16(&in);
		struct cursor record = cursor_slice(&in, length);
		uint16_t kind = cursor_u16(&record);
		if (record.failed)
			break;
		take_symbol(pdb, unit, &nesting, kind, record);
	}
	array_free(&nesting.open);
}

// ---- lines ----

// A block has the lines of one file.
static void take_line_block(struct pdb_unit *unit, struct cursor *in, uint32_t begin) {
	uint32_t file = cursor_u32(in), count = cursor_u32(in), size = cursor_u32(in);
	struct cursor rows = cursor_slice(in, size >= 12 ? size - 12 : 0);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t offset = cursor_u32(&rows), line = cursor_u32(&rows) & 0xffffff;
		if (rows.failed)
			return;
		array_push(&unit->lines, (struct pdb_line){begin + offset, line, file});
	}
}

static void take_lines(const struct pdb *pdb, struct pdb_unit *unit, struct cursor in) {
	uint32_t offset = cursor_u32(&in), begin;
	uint16_t section = cursor_u16(&in);
	cursor_u16(&in); // whether there are columns, which follow the lines
	uint32_t size = cursor_u32(&in);
	if (in.failed || !pdb_address(pdb, section, offset, &begin))
		return;
	while (cursor_left(&in) >= 12)
		take_line_block(unit, &in, begin);
	array_push(&unit->lines, (struct pdb_line){.address = begin + size});
}

static void take_inlinees(struct pdb_unit *unit, struct cursor in) {
	bool more_files = cursor_u32(&in) == 1;
	while (cursor_left(&in) >= 12) {
		struct pdb_inlinee inlinee = {.type = cursor_u32(&in)};
		inlinee.file = cursor_u32(&in);
		inlinee.line = cursor_u32(&in);
		if (more_files)
			cursor_take(&in, (size_t)cursor_u32(&in) * sizeof(uint32_t));
		array_push(&unit->inlinees, inlinee);
	}
}

static void read_lines(const struct pdb *pdb, struct pdb_unit *unit, struct cursor in) {
	while (cursor_left(&in) >= 8) {
		uint32_t kind = cursor_u32(&in), size = cursor_u32(&in);
		struct cursor part = cursor_slice(&in, size);
		if (part.failed)
			return;
		if (kind == LINES)
			take_lines(pdb, unit, part);
		else if (kind == FILES)
			unit->files = part;
		else if (kind == INLINEES)
			take_inlinees(unit, part);
		cursor_take(&in, MIN(-(size_t)size & 3, cursor_left(&in)));
	}
}

// ---- in order ----

static int by_function_address(const void *left, const void *right) {
	const struct pdb_symbol *a = left, *b = right;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->place < b->place ? -1 : 1;
}

static int by_function(const void *left, const void *right) {
	const struct pdb_site *a = left, *b = right;
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return a->ranges.at < b->ranges.at ? -1 : 1;
}

// A row that ends a function comes before the one that begins the next.
static int by_line_address(const void *left, const void *right) {
	const struct pdb_line *a = left, *b = right;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->line != 0) - (b->line != 0);
}

static int by_type(const void *left, const void *right) {
	const struct pdb_inlinee *a = left, *b = right;
	return a->type < b->type ? -1 : a->type > b->type;
}

#define SORT(list, compare)                                                                                  \
	do {                                                                                                 \
		if ((list)->count)                                                                           \
			qsort((list)->items, (list)->count, sizeof(*(list)->items), compare);                \
	} while (0)

// Sites stay in the order of the file within their function, so that parents come first.
static void sort_functions(struct pdb_unit *unit) {
	size_t count = unit->functions.count, site_count = unit->sites.count, next = 0;
	CLEANUP_FREE uint32_t *now = memory_alloc((count + 1) * sizeof(*now));
	CLEANUP_FREE uint32_t *place = memory_alloc((site_count + 1) * sizeof(*place));
	CLEANUP_FREE const uint8_t **before = memory_alloc((site_count + 1) * sizeof(*before));
	SORT(&unit->functions, by_function_address);
	for (size_t i = 0; i < count; i++) {
		now[unit->functions.items[i].place] = (uint32_t)i;
	}
	for (size_t i = 0; i < site_count; i++) {
		unit->sites.items[i].function = now[unit->sites.items[i].function];
		before[i] = unit->sites.items[i].ranges.at;
	}
	// Where each parent is after sorting: found by the place of its ranges in the file.
	struct map moved = {0};
	SORT(&unit->sites, by_function);
	for (size_t i = 0; i < site_count; i++)
		*map_put(&moved, (uintptr_t)unit->sites.items[i].ranges.at) = i + 1;
	for (size_t i = 0; i < site_count; i++) {
		struct pdb_site *site = &unit->sites.items[i];
		uint64_t *parent = site->parent ? map_get(&moved, (uintptr_t)before[site->parent - 1]) : NULL;
		place[i] = parent && *parent <= i ? (uint32_t)*parent : 0;
	}
	for (size_t i = 0; i < site_count; i++)
		unit->sites.items[i].parent = place[i];
	map_free(&moved);
	for (size_t i = 0; i <= count; i++) {
		while (next < site_count && unit->sites.items[next].function < i)
			next++;
		array_push(&unit->first_site, next);
	}
}

void pdb_unit_read(struct pdb *pdb, struct pdb_unit *unit) {
	size_t size;
	if (unit->read)
		return;
	unit->read = true;
	unit->content = msf_read(&pdb->msf, unit->stream, &size);
	struct cursor in = cursor_of(unit->content, size);
	struct cursor symbols = cursor_slice(&in, MIN(unit->symbols_size, size));
	cursor_take(&in, MIN(unit->old_lines_size, cursor_left(&in)));
	read_symbols(pdb, unit, symbols);
	read_lines(pdb, unit, cursor_slice(&in, MIN(unit->lines_size, cursor_left(&in))));
	sort_functions(unit);
	SORT(&unit->lines, by_line_address);
	SORT(&unit->inlinees, by_type);
}

void pdb_unit_free(struct pdb_unit *unit) {
	free(unit->content);
	array_free(&unit->functions);
	array_free(&unit->first_site);
	array_free(&unit->sites);
	array_free(&unit->lines);
	array_free(&unit->inlinees);
}

// ---- inlined calls ----

enum {
	CODE_OFFSET = 1,
	CHANGE_CODE_BASE,
	CHANGE_CODE_OFFSET,
	CHANGE_CODE_LENGTH,
	CHANGE_FILE,
	CHANGE_LINE,
	CHANGE_LINE_END,
	CHANGE_RANGE_KIND,
	CHANGE_COLUMN,
	CHANGE_COLUMN_END_DELTA,
	CHANGE_CODE_AND_LINE,
	CHANGE_LENGTH_AND_CODE,
	CHANGE_COLUMN_END,
	ANNOTATION_COUNT,
};

// One, two or four bytes; the first bits say how many.
static uint32_t take_number(struct cursor *in) {
	uint32_t first = cursor_u8(in);
	if (first < 0x80)
		return first;
	if (first < 0xc0)
		return (first & 0x3f) << 8 | cursor_u8(in);
	uint32_t value = (first & 0x1f) << 8 | cursor_u8(in);
	value = value << 8 | cursor_u8(in);
	return value << 8 | cursor_u8(in);
}

static uint32_t signed_number(uint32_t value) {
	return value & 1 ? 0 - (value >> 1) : value >> 1;
}

// Walks along the annotations: each row is code with a line, and ends with the next row or with its range.
struct site_walk {
	struct cursor in;
	uint32_t code, line,
		file; // line: relative to that of the function; file: UINT32_MAX is the function's
	bool open;    // a row has begun
};

struct site_row {
	uint32_t begin, end, line, file; // end is 0 if the range of the row is still open
	bool whole;                      // the range ends here
};

// Takes one annotation. True if a row or range has ended.
static bool site_step(struct site_walk *walk, struct site_row *row) {
	uint32_t what = take_number(&walk->in), value, length;
	*row = (struct site_row){walk->code, 0, walk->line, walk->file, false};
	bool was_open = walk->open;
	switch (what) {
	case CODE_OFFSET:
	case CHANGE_CODE_OFFSET:
	case CHANGE_CODE_AND_LINE:
		value = take_number(&walk->in);
		walk->code += what == CHANGE_CODE_AND_LINE ? value & 0xf : value;
		if (what == CHANGE_CODE_AND_LINE)
			walk->line += signed_number(value >> 4);
		row->end = walk->code;
		walk->open = true;
		return was_open;
	case CHANGE_CODE_LENGTH:
		walk->code += take_number(&walk->in);
		row->end = walk->code;
		row->whole = true;
		walk->open = false;
		return was_open;
	case CHANGE_LENGTH_AND_CODE:
		length = take_number(&walk->in);
		walk->code += take_number(&walk->in);
		row->begin = walk->code;
		row->end = walk->code + length;
		row->whole = true;
		walk->open = false;
		return true;
	case CHANGE_LINE:
		walk->line += signed_number(take_number(&walk->in));
		return false;
	case CHANGE_FILE:
		walk->file = take_number(&walk->in);
		return false;
	case 0:
	default: // the rest is padding, or not understood
		if (what == 0 || what >= ANNOTATION_COUNT)
			walk->in.at = walk->in.end;
		else
			take_number(&walk->in);
		return false;
	}
}

static struct site_walk walk_of(const struct pdb_site *site) {
	return (struct site_walk){.in = site->ranges, .file = UINT32_MAX};
}

static bool site_has(const struct pdb_site *site, uint32_t function, uint32_t address,
		     struct code_range *range) {
	struct site_row row;
	bool has = false;
	for (struct site_walk walk = walk_of(site); cursor_left(&walk.in) && !walk.in.failed;) {
		if (!site_step(&walk, &row) || row.end <= row.begin)
			continue;
		uint64_t begin = (uint64_t)function + row.begin, size = row.end - row.begin;
		has |= address >= begin && address - begin < size;
		range_narrow(range, address, begin, size);
	}
	return has;
}

size_t pdb_unit_sites(const struct pdb_unit *unit, size_t function, uint32_t address,
		      const struct pdb_site **found, size_t room, struct code_range *range) {
	enum { MOST_DEPTH = 4096 };
	size_t first = unit->first_site.items[function], end = unit->first_site.items[function + 1], best = 0,
	       deepest = 0;
	uint32_t begin = (uint32_t)unit->functions.items[function].address;
	for (size_t i = first; i < end; i++) {
		if (!site_has(&unit->sites.items[i], begin, address, range))
			continue;
		size_t depth = 1;
		for (uint32_t up = unit->sites.items[i].parent; up && depth < MOST_DEPTH; depth++)
			up = unit->sites.items[up - 1].parent;
		if (depth > deepest) {
			deepest = depth;
			best = i + 1;
		}
	}
	size_t count = 0;
	for (; best && count < room; best = unit->sites.items[best - 1].parent)
		found[count++] = &unit->sites.items[best - 1];
	return count;
}

const struct pdb_inlinee *pdb_unit_inlinee(const struct pdb_unit *unit, uint32_t type) {
	ptrdiff_t at = PDB_BEFORE(&unit->inlinees, type, type);
	return at >= 0 && unit->inlinees.items[at].type == type ? &unit->inlinees.items[at] : NULL;
}

struct pdb_source pdb_site_line(const struct pdb *pdb, const struct pdb_unit *unit,
				const struct pdb_site *site, uint32_t address) {
	const struct pdb_inlinee *inlinee = pdb_unit_inlinee(unit, site->inlinee);
	uint32_t at = address - (uint32_t)unit->functions.items[site->function].address;
	struct pdb_source source = {0};
	struct site_row row;
	if (!inlinee)
		return source;
	for (struct site_walk walk = walk_of(site); cursor_left(&walk.in) && !walk.in.failed;) {
		if (!site_step(&walk, &row) || at < row.begin || at >= row.end)
			continue;
		source.line = inlinee->line + row.line;
		source.file = pdb_unit_file(pdb, unit, row.file == UINT32_MAX ? inlinee->file : row.file);
	}
	return source;
}

const char *pdb_unit_file(const struct pdb *pdb, const struct pdb_unit *unit, uint32_t file) {
	struct cursor in = unit->files;
	cursor_take(&in, file);
	uint32_t offset = cursor_u32(&in);
	if (in.failed || offset >= pdb->texts_size)
		return NULL;
	struct cursor text = cursor_of(pdb->texts + offset, pdb->texts_size - offset);
	return cursor_string(&text);
}
