// Internal to the PDB reader: what its files share.
#pragma once

#include "base/cursor.h"
#include "base/map.h"
#include "symbol/windows/msf.h"
#include "symbol/windows/pdb.h"

struct pdb_section {
	uint32_t begin, size; // in the module
};

// A row of the line table: from here on, until the next row. Line 0 if there is none.
struct pdb_line {
	uint32_t address, line;
	uint32_t file; // offset in the unit's list of files
};

// An inlined call.
struct pdb_site {
	uint32_t function;    // index
	uint32_t parent;      // index + 1; 0 if it is inlined into the function itself
	uint32_t inlinee;     // type
	struct cursor ranges; // "binary annotations": code and lines
};

// Where an inlined function is in the source.
struct pdb_inlinee {
	uint32_t type, file, line;
};

struct pdb_symbol {
	uint64_t address, size;
	const char *name;
	uint32_t place; // in the file, while a unit is read
};

typedef ARRAY(struct pdb_symbol) pdb_symbols;

// One compilation unit.
struct pdb_unit {
	uint16_t stream;
	uint32_t symbols_size, old_lines_size, lines_size;
	bool read;
	uint8_t *content;
	pdb_symbols functions;    // in order of address
	ARRAY(size_t) first_site; // of each function, in `sites`; one more at the end
	ARRAY(struct pdb_site) sites;
	ARRAY(struct pdb_line) lines; // in order of address
	ARRAY(struct pdb_inlinee) inlinees;
	struct cursor files; // "file checksums"
};

// Code of a unit.
struct pdb_piece {
	uint32_t begin, size, unit;
};

// Types or ids: records by number.
struct pdb_types {
	bool read;
	uint8_t *content;
	uint32_t first; // the number of the first
	ARRAY(uint32_t) offsets;
	size_t size;
};

struct pdb {
	struct msf msf;
	char id[WINDOWS_ID_TEXT];
	uint8_t *texts; // names of files
	size_t texts_size;
	ARRAY(struct pdb_section) sections;
	ARRAY(struct pdb_unit) units;
	ARRAY(struct pdb_piece) pieces; // in order of address
	pdb_symbols publics;            // the same
	uint8_t *publics_content;
	struct pdb_types types, ids;
	struct map inlinee_names; // type to the name, allocated
	struct map spellings;     // address of a public name to the text, allocated
	// Some linkers move code afterwards: from the address in the module to that in the symbols.
	uint32_t *moved;
	size_t moved_count;
};

// The address of a place in a section, which count from 1. False if there is no such section.
bool pdb_address(const struct pdb *pdb, uint16_t section, uint32_t offset, uint32_t *address);

void pdb_unit_read(struct pdb *pdb, struct pdb_unit *unit);
void pdb_unit_free(struct pdb_unit *unit);
// The name of a file from the unit's list of files, or NULL.
const char *pdb_unit_file(const struct pdb *pdb, const struct pdb_unit *unit, uint32_t file);
// The inlined calls at an address in a function, innermost first. Narrows `range`.
size_t pdb_unit_sites(const struct pdb_unit *unit, size_t function, uint32_t address,
		      const struct pdb_site **found, size_t room, struct code_range *range);
// The line of an inlined function at an address.
struct pdb_source pdb_site_line(const struct pdb *pdb, const struct pdb_unit *unit,
				const struct pdb_site *site, uint32_t address);
const struct pdb_inlinee *pdb_unit_inlinee(const struct pdb_unit *unit, uint32_t type);

// The whole name of an inlined function; NULL if it has none.
const char *pdb_inlinee_name(struct pdb *pdb, uint32_t type);
void pdb_types_free(struct pdb_types *types);

// The last item of a list sorted by address that begins at or before an address; -1 if there is none.
#define PDB_BEFORE(list, member, wanted)                                                                     \
	({                                                                                                   \
		size_t low_ = 0, high_ = (list)->count;                                                      \
		while (low_ < high_) {                                                                       \
			size_t middle_ = (low_ + high_) / 2;                                                 \
			if ((list)->items[middle_].member <= (wanted))                                       \
				low_ = middle_ + 1;                                                          \
			else                                                                                 \
				high_ = middle_;                                                             \
		}                                                                                            \
		(ptrdiff_t) low_ - 1;                                                                        \
	})
