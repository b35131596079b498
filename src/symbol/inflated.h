// Debug information that is compressed in its file, inflated for libdw.
#pragma once

#include <gelf.h>

struct inflated {
	Elf *elf; // NULL: libdw reads the file itself
	void *image;
	size_t size;
};

// An image in memory of what names, lines and inlined functions need. `elf` may be closed before it.
struct inflated inflated_open(Elf *elf);
void inflated_close(struct inflated *inflated);
