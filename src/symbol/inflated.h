// Inflates a file's compressed debug information for libdw.
#pragma once

#include <gelf.h>

struct inflated {
	Elf *elf; // NULL if libdw should read the file itself
	void *image;
	size_t size;
};

// Builds an image in memory of the sections that names, lines and inlined functions need. `elf` may
// be closed before it.
struct inflated inflated_open(Elf *elf);
void inflated_close(struct inflated *inflated);
