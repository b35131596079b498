// Programs and libraries of Windows (PE files): which build a file is, and the names that it exports or has
// kept from linking.
#pragma once

#include "symbol/windows/pdb.h"

struct pe {
	uint16_t machine;
	uint32_t time, image_size; // which build it is; the time may be a hash
	char id[WINDOWS_ID_TEXT];  // of its PDB file, or ""
};

struct pe_symbol {
	uint64_t address, size; // in the module
	const char *name;
};

// To be freed, both lists.
struct pe_names {
	struct pe_symbol *items; // in order of address
	size_t count;
	char *text;
};

// `names` may be NULL. False if this is no PE file.
bool pe_read(struct pe *pe, const uint8_t *bytes, size_t size, struct pe_names *names);
